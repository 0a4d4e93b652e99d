#include "core/check.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "core/temporary_files.h"

namespace exawarp::core {
namespace {
std::atomic<void (*)(int)> end_all_ranks_hook{nullptr};
}

void set_check_hook(void (*end_all_ranks)(int exit_code)) {
  // release: pairs with the acquire in check_failed, so the hook's own set-up is seen.
  end_all_ranks_hook.store(end_all_ranks, std::memory_order_release);
}

void check_failed(const char* file, int line, const char* condition, std::string_view operands) {
  const std::string text = fmt::format(
      "check failed: {}:{}: {}{}: this is a bug in exawarp, please report it\n", file, line,
      condition, operands);
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  remove_all_temporaries();
  if (auto* hook = end_all_ranks_hook.load(std::memory_order_acquire)) hook(1);
  std::_Exit(1);
}

}  // namespace exawarp::core
