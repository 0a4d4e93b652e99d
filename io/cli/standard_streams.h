// Standard input, output and error as the program finds and leaves them.
#pragma once

#include <array>
#include <ostream>
#include <streambuf>

namespace exawarp::io {

// Takes descriptors 0 to 2 where they are closed, lest a file that the program opens become its
// standard output. Reading or writing one of these fails as if it were closed. Call first.
void open_standard_descriptors();

// Standard output, with a memory for what it could not take.
class StandardOutput {
 public:
  StandardOutput() : stream_(&buffer_) {}
  [[nodiscard]] std::ostream& stream() { return stream_; }

  // Writes what is left, and says on `err` where anything could not be written. Returns the
  // program's exit code: `exit_code`, or kOutOfResources where that was kDone and output is lost.
  int finish(int exit_code, std::ostream& err);

 private:
  class Buffer : public std::streambuf {
   public:
    Buffer() { setp(bytes_.data(), bytes_.data() + bytes_.size()); }
    [[nodiscard]] int error() const { return error_; }

   protected:
    int overflow(int next) override;
    int sync() override;

   private:
    std::array<char, 1 << 14> bytes_;
    int error_ = 0;  // the first
  };
  Buffer buffer_;
  std::ostream stream_;
};

}  // namespace exawarp::io
