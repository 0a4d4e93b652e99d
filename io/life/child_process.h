// A function that is run in a process of its own: one that crashes, runs out of memory or is killed
// takes nothing with it but its result.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

namespace exawarp::io {

// How a process ended. One that wrote a result and then ended by 0 is well.
struct ChildEnd {
  int exit_code = 0;  // of one that was killed: 128 and the signal's number
  int signal = 0;     // that killed it; 0: none
  std::string result;
  std::string last_words;  // the last line that it printed, as a check that failed does
};

// Owner: one thread, of a process that has no other: what others hold at the moment of a fork stays
// held in the child for ever.
class ChildProcess {
 public:
  // Writes its result, and says what to end with.
  using Work = std::function<int(std::string& result)>;

  // Starts it. It ends when this process does, whatever ends that, and otherwise ignores what asks
  // processes to stop: this process asks it. Throws core::SystemError.
  explicit ChildProcess(const Work& work);
  // Kills it where it has not ended.
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;

  // To be polled for input; then read() takes what is there. False: that was all.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  bool read();
  // Waits for the end. Once, after read() has returned false.
  ChildEnd wait();

 private:
  pid_t process_ = -1;  // -1: none, or it has been waited for
  int descriptor_ = -1;
  std::string output_;
};

}  // namespace exawarp::io
