// PHOLD in the plainest sequential form: one std::priority_queue, events by value, no tuning.
// It is the yardstick that speed figures are quoted against, so that a figure survives a change
// of machine: "R yardsticks" = (our committed events/s) / (this program's events/s), both taken
// in turn on the same machine.
//
//   g++ -O3 -march=native -std=c++20 phold_baseline.cpp -o phold_baseline
//   ./phold_baseline LPS START_EVENTS_PER_LP REMOTE_FRACTION END_TIME [SEED]
//
// PHOLD as the field runs it: every event schedules exactly one event; its delay is
// LOOKAHEAD + Exp(mean 1.0); its destination is another LP, uniformly drawn, with probability
// REMOTE_FRACTION, and the same LP otherwise. Time is in integer picoseconds, 1.0 = 1 000 000 ps.
// "Remote" here means another LP; whether that LP lives on another core is the partition's affair.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <queue>
#include <vector>

namespace {
constexpr std::int64_t kUnit_ps = 1'000'000;
constexpr std::int64_t kLookahead_ps = kUnit_ps / 10;

struct Event {  // 64 bytes: a cache line, as a real model's event would be
  std::int64_t recv_ps;
  std::uint64_t source_and_sequence;  // ties break on (recv_ps, source, sequence)
  std::uint32_t destination;
  std::uint32_t kind;
  std::uint64_t payload[5];
};
static_assert(sizeof(Event) == 64);

struct Later {
  bool operator()(const Event& a, const Event& b) const {
    if (a.recv_ps != b.recv_ps) return a.recv_ps > b.recv_ps;
    return a.source_and_sequence > b.source_and_sequence;
  }
};

struct Lp {  // 64 bytes of state, touched by every event
  std::uint64_t rng;
  std::uint64_t sent;
  std::uint64_t handled;
  std::uint64_t checksum;
  std::uint64_t scratch[4];
};

std::uint64_t next_random(std::uint64_t& s) {  // splitmix64
  std::uint64_t z = (s += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}
double uniform(std::uint64_t& s) { return static_cast<double>(next_random(s) >> 11) * 0x1p-53; }
}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: %s LPS START_EVENTS REMOTE_FRACTION END_TIME [SEED]\n", argv[0]);
    return 2;
  }
  const std::uint32_t lps = static_cast<std::uint32_t>(std::strtoul(argv[1], nullptr, 10));
  const int start = std::atoi(argv[2]);
  const double remote = std::atof(argv[3]);
  const std::int64_t end_ps = static_cast<std::int64_t>(std::atof(argv[4]) * kUnit_ps);
  const std::uint64_t seed = argc > 5 ? std::strtoull(argv[5], nullptr, 10) : 1;

  std::vector<Lp> lp(lps);
  std::priority_queue<Event, std::vector<Event>, Later> pending;
  auto schedule = [&](std::uint32_t from, std::int64_t now_ps) {
    Lp& me = lp[from];
    const double wait = -std::log(1.0 - uniform(me.rng));
    std::uint32_t to = from;
    if (lps > 1 && uniform(me.rng) < remote) {
      to = static_cast<std::uint32_t>(next_random(me.rng) % (lps - 1));
      if (to >= from) ++to;
    }
    Event e{};
    e.recv_ps = now_ps + kLookahead_ps + static_cast<std::int64_t>(wait * kUnit_ps);
    e.source_and_sequence = (std::uint64_t{from} << 32) | (me.sent++ & 0xffffffffu);
    e.destination = to;
    pending.push(e);
  };
  for (std::uint32_t i = 0; i < lps; ++i) {
    lp[i] = Lp{};
    lp[i].rng = seed * 0x100000001b3ull + i;
    for (int k = 0; k < start; ++k) schedule(i, 0);
  }

  const auto t0 = std::chrono::steady_clock::now();
  std::uint64_t handled = 0;
  while (!pending.empty() && pending.top().recv_ps < end_ps) {
    const Event e = pending.top();
    pending.pop();
    Lp& me = lp[e.destination];
    ++me.handled;
    me.checksum = me.checksum * 31 + static_cast<std::uint64_t>(e.recv_ps);
    ++handled;
    schedule(e.destination, e.recv_ps);
  }
  const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count();
  std::uint64_t digest = 0;
  for (const Lp& l : lp) digest += l.checksum * 0x9e3779b97f4a7c15ull;
  std::printf(
      "lps %u start %d remote %.2f events %llu seconds %.3f events_per_s %.0f digest %016llx\n",
      lps, start, remote, static_cast<unsigned long long>(handled), s, handled / s,
      static_cast<unsigned long long>(digest));
}
