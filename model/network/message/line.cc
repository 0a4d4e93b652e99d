// Equal parts of a line, as of fair queueing by its virtual time (Demers, Keshav, Shenker: Analysis
// and simulation of a fair queueing algorithm, SIGCOMM 1989).
#include "model/network/message/line.h"

namespace exawarp::model {

using core::Time;

// While this sender has what lies before it, each other has as much, or all that it has left.
template <class Context, class Shares>
Time LineSharing<Context, Shares>::leaves_beside_others(LineSender sender, Time wire) {
  Time own = wire, others;
  if (line_.shares.empty()) {
    others = std::min(own, clock_ - ctx_.now());
    return core::sum_to_end(ctx_.now(), own + others);
  }
  serve();
  for (const LineShare& share : line_.shares) {
    if (share.sender == sender) own = core::sum_to_end(own, left_of(share));
  }
  for (const LineShare& share : line_.shares) {
    if (share.sender != sender) others = core::sum_to_end(others, std::min(own, left_of(share)));
  }
  return core::sum_to_end(line_.at, core::sum_to_end(own, others));
}

template <class Context, class Shares>
void LineSharing<Context, Shares>::add(LineSender sender, Time wire) {
  if (line_.shares.empty()) {
    ctx_.set(line_.at, ctx_.now());
    ctx_.set(line_.served, Time{0});
    line_.shares.push_back(ctx_, {line_.sender, 0, clock_ - ctx_.now()});
  }
  LineShare* place = nullptr;
  for (std::uint32_t i = 0; i < line_.shares.size(); ++i) {
    LineShare& share = line_.shares.at(i);
    if (share.sender == sender) {
      ctx_.set(share.until, core::sum_to_end(std::max(share.until, line_.served), wire));
      return;
    }
    if (share.until <= line_.served) place = &share;
  }
  const LineShare share{sender, 0, core::sum_to_end(line_.served, wire)};
  if (place != nullptr) {
    ctx_.set(*place, share);
  } else {
    line_.shares.push_back(ctx_, share);
  }
}

// Up to now, but for what is less than a picosecond for each.
template <class Context, class Shares>
void LineSharing<Context, Shares>::serve() {
  Time served = line_.served, left = ctx_.now() - line_.at;
  while (left.ps > 0) {
    std::int64_t senders = 0;
    Time least = Time::max();
    for (const LineShare& share : line_.shares) {
      if (share.until <= served) continue;
      ++senders;
      least = std::min(least, share.until - served);
    }
    if (left.ps < senders || senders == 0) break;
    const Time each = std::min(least, Time{left.ps / senders});
    served = served + each;
    left = left - senders * each;
  }
  if (served == line_.served) return;
  ctx_.set(line_.served, served);
  ctx_.set(line_.at, ctx_.now() - left);
}

template class LineSharing<pdes::Context, pdes::UndoVector<LineShare>>;
template class LineSharing<NoUndo, SharesAlone>;

}  // namespace exawarp::model
