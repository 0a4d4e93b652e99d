#include "pdes/window.h"

#include <algorithm>
#include <limits>

namespace exawarp::pdes {
namespace {

constexpr std::uint64_t kEventsPerEpoch = 4096;  // of one partition, aimed at
constexpr std::uint64_t kEventLimit = 4 * kEventsPerEpoch;
constexpr core::Time kSpanMax{core::kPicosecondsPerSecond * 3600};

}  // namespace

Window::Window(const WindowSetup& setup) : setup_(setup), event_limit_(kEventLimit) {
  if (setup_.conservative) {
    span_ = setup_.partitions == 1 ? kSpanMax : setup_.lookahead;
    event_limit_ = setup_.partitions == 1 ? 16 * kEventLimit
                                          : std::numeric_limits<std::uint64_t>::max();
  } else {
    span_ = setup_.fixed > core::Time{0} ? setup_.fixed : setup_.lookahead * 4;
  }
}

void Window::update(std::uint64_t processed, std::uint64_t rolled_back) {
  const std::uint64_t executed = processed - processed_;
  const std::uint64_t undone = rolled_back - rolled_back_;
  processed_ = processed;
  rolled_back_ = rolled_back;
  if (setup_.conservative || setup_.fixed > core::Time{0}) return;
  const std::uint64_t aim = kEventsPerEpoch * setup_.partitions;
  if (undone * 8 > executed) {  // more than an eighth wasted
    span_ = core::Time{span_.ps / 2};
  } else if (executed > 2 * aim) {
    span_ = core::Time{span_.ps / 2};
  } else if (executed < aim && undone * 32 < executed + 32) {
    span_ = core::Time{span_.ps + span_.ps / 2 + 1};
  }
  span_ = std::clamp(span_, setup_.lookahead, kSpanMax);
}

}  // namespace exawarp::pdes
