#include "core/check.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "core/temporary_files.h"

namespace exawarp::core {
namespace {
std::atomic<void (*)(int)> end_all_ranks_hook{nullptr};
std::atomic<std::string (*)()> context_hook{nullptr};

// As set_check_context() has it. A check that fails in there asks nobody again.
std::string context() {
  thread_local bool asked = false;
  auto* hook = context_hook.load(std::memory_order_relaxed);
  const std::string text = hook != nullptr && !std::exchange(asked, true) ? hook() : "";
  return text.empty() ? text : "  " + text;
}

}  // namespace

void set_check_hook(void (*end_all_ranks)(int exit_code)) {
  // release: pairs with the acquire in check_failed, so the hook's own set-up is seen.
  end_all_ranks_hook.store(end_all_ranks, std::memory_order_release);
}

void set_check_context(std::string (*where)()) {
  context_hook.store(where, std::memory_order_relaxed);  // relaxed: a function, nothing set up
}

void check_failed(const char* file, int line, const char* condition, std::string_view operands) {
  const std::string text = fmt::format(
      "check failed: {}:{}: {}{}{}: this is a bug in exawarp, please report it\n", file, line,
      condition, operands, context());
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  remove_all_temporaries();
  if (auto* hook = end_all_ranks_hook.load(std::memory_order_acquire)) hook(1);
  std::_Exit(1);
}

}  // namespace exawarp::core
