// What a thread does between two looks at a value that another thread or rank is about to change.
#pragma once

#include <cstdint>
#include <thread>

namespace exawarp::pdes {

// `look` counts the looks. At every 64th, after some 2 us, another process may have the core.
inline void pause_after_look(std::uint32_t look) {
  constexpr std::uint32_t kLooksPerYield = 64;
  if (look % kLooksPerYield == 0) return std::this_thread::yield();
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
}

}  // namespace exawarp::pdes
