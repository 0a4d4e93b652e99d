// A line on standard error that says how far something has come, from time to time. Host time
// decides when, and nothing else.
#pragma once

#include <string>

#include "io/cli/console.h"

namespace exawarp::io {

// On a terminal one line that is updated in place, otherwise a plain line every ten seconds.
// Owner: one thread.
class StatusLine {
 public:
  explicit StatusLine(const Console& console);
  ~StatusLine() { erase(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  // Whether it is time for another one.
  [[nodiscard]] bool is_due(double elapsed_s) const { return elapsed_s >= next_s_; }
  void show(double elapsed_s, const std::string& text);
  // Removes it from a terminal.
  void erase();

 private:
  const Console& console_;
  double next_s_;
  bool shown_ = false;
};

}  // namespace exawarp::io
