// Checks of our own code. A failed check is a bug in exawarp: it prints the condition and its
// operands and ends every rank with exit code 1. Bad input never reaches a check (core/error.h).
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>

namespace exawarp::core {

// Ends the process after printing `text`. A transport that has peers to stop registers a hook
// first; the hook must not return. Thread safety: any thread may fail.
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               std::string_view operands);
void set_check_hook(void (*end_all_ranks)(int exit_code));
// What a failed check says of where its thread is, e.g. "rank=1 worker=3 LP=17 LVT=81250 ps"; asked
// for on the thread that failed; empty: nowhere in particular.
void set_check_context(std::string (*where)());

namespace detail {
inline std::string show_operands(std::string_view) { return {}; }

// `names` is the macro's argument text; values follow in the same order.
template <class... Values>
std::string show_operands(std::string_view names, const Values&... values) {
  std::string out{"  ["};
  out += names;
  out += " =";
  ((out += fmt::format(" {}", values)), ...);
  return out + "]";
}
}  // namespace detail

}  // namespace exawarp::core

// EXAWARP_CHECK(condition, operands...): always on.
#define EXAWARP_CHECK(condition, ...)                                                      \
  do {                                                                                     \
    if (!(condition)) [[unlikely]]                                                         \
      ::exawarp::core::check_failed(                                                       \
          __FILE__, __LINE__, #condition,                                                  \
          ::exawarp::core::detail::show_operands(#__VA_ARGS__ __VA_OPT__(, ) __VA_ARGS__)); \
  } while (false)

// EXAWARP_DCHECK: in the dev, asan and tsan presets only.
#ifdef EXAWARP_CHECKED
#define EXAWARP_DCHECK(condition, ...) EXAWARP_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#else
#define EXAWARP_DCHECK(condition, ...) static_cast<void>(0)
#endif
