// Which pending set? Four of them on the same work, in turn, in one process: one table of CPU
// nanoseconds a hold operation (pop the first event, schedule one).
//
//   pending_set_study [--quick] [--least EVENTS] [--most EVENTS] [--rounds N] [--studies DIR]
//
// Work: the hold model (Jones: "An empirical comparison of priority-queue and event-set
// implementations", CACM 29(4), 1986) with a constant number of pending events and three laws of
// delay, and the streams of cluster studies: what a sequential run pushed and popped, replayed.
// Every set must pop the same events in the same order; that is checked.
// CPU time of the thread, so that other processes disturb little; a round covers at least the whole
// set once, so that work which a structure puts off is paid within it; medians over the rounds.
// docs/laboratory/pending_set.md discusses the result.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/micro/event_stream.h"
#include "benchmarks/micro/hold_delays.h"
#include "benchmarks/micro/pending_sets/calendar_queue.h"
#include "benchmarks/micro/pending_sets/engine_set.h"
#include "benchmarks/micro/pending_sets/quad_heap.h"
#include "benchmarks/micro/pending_sets/whole_event_heap.h"
#include "core/arena.h"
#include "core/check.h"

namespace exawarp::bench {
namespace {

using core::Time;
using pdes::Event;

// A set that cannot even be filled in this is left out.
constexpr double kPrepareBudget_s = 30;
constexpr double kPrepareBudgetPerEvent_s = 10e-6;
// Holds before the next set has its turn: each event several times, so that a set which fits in
// cache is measured there.
constexpr std::size_t kSliceLeast = 1 << 16;
constexpr std::size_t kSliceMost = 1 << 20;

double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// One set at one piece of work. The check sum depends on every event popped and on their order.
class Side {
 public:
  Side() = default;
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  virtual ~Side() = default;
  [[nodiscard]] virtual bool prepare() = 0;  // false: over its budget
  virtual void run(std::size_t holds) = 0;
  [[nodiscard]] std::uint64_t checksum() const { return checksum_; }

 protected:
  void note(const Event& event) {
    checksum_ = (checksum_ ^ static_cast<std::uint64_t>(event.receive_time.ps) ^
                 pdes::key_of(event).origin) *
                0x100000001b3ull;
  }

 private:
  std::uint64_t checksum_ = 0;
};

template <class Set>
class HoldSide final : public Side {
 public:
  HoldSide(std::size_t events, const HoldDelays& delays) : events_(events), delays_(&delays) {}

  bool prepare() override {
    const double start = cpu_ns();
    const double budget_s =
        kPrepareBudget_s + kPrepareBudgetPerEvent_s * static_cast<double>(events_);
    const auto over = [&] { return cpu_ns() - start > budget_s * 1e9; };
    Event* event = arena_.allocate_array<Event>(Set::kCopies ? 1 : events_);
    for (std::size_t i = 0; i < events_; ++i) {
      event->source.value = static_cast<std::uint32_t>(core::mix64(i));
      event->receive_time = delays_->residual(draws_++);
      set_.push(event);
      if (!Set::kCopies) ++event;
      if (i % 256 == 0 && over()) return false;
    }
    for (std::size_t held = 0; held < events_; held += 256) {
      run(256);
      if (over()) return false;
    }
    return true;
  }

  void run(std::size_t holds) override {
    for (; holds != 0; --holds) {
      Event* event = set_.pop();
      note(*event);
      event->receive_time = event->receive_time + delays_->next(draws_++);
      ++event->sequence;
      set_.push(event);
    }
  }

 private:
  std::size_t events_;
  const HoldDelays* delays_;
  core::Arena arena_;
  Set set_;
  std::uint64_t draws_ = 0;
};

template <class Set>
class StreamSide final : public Side {
 public:
  explicit StreamSide(const EventStream& stream) : stream_(&stream) {}

  bool prepare() override {
    Event* store = arena_.allocate_array<Event>(stream_->pending_peak + 1);
    for (std::size_t i = 0; i <= stream_->pending_peak; ++i) free_.push_back(store + i);
    return true;
  }

  void run(std::size_t holds) override {
    for (; holds != 0; --holds) {
      if (at_ == 0) start_over();
      Event* event = set_->pop();
      note(*event);
      const std::uint32_t sends = stream_->sends_after_pop[at_];
      if (!Set::kCopies) free_.push_back(event);
      for (std::uint32_t i = 0; i < sends; ++i) push_next();
      if (++at_ == stream_->sends_after_pop.size()) at_ = 0;
    }
  }

 private:
  void start_over() {
    set_ = std::make_unique<Set>();
    pushed_ = 0;
    for (std::uint32_t i = 0; i < stream_->first_sends; ++i) push_next();
  }
  void push_next() {
    const EventStream::Send& send = stream_->sends[pushed_++];
    Event* event = free_.back();
    if (!Set::kCopies) free_.pop_back();
    event->receive_time = send.time;
    event->source = send.source;
    event->sequence = send.sequence;
    event->destination = send.source;
    event->payload = {};
    set_->push(event);
  }

  const EventStream* stream_;
  core::Arena arena_;
  std::vector<Event*> free_;
  std::unique_ptr<Set> set_;
  std::size_t at_ = 0;
  std::size_t pushed_ = 0;
};

struct Plan {
  std::size_t holds;  // in a round
  std::size_t slice;  // of them, before the next set's turn
  std::size_t rounds;
};

// Median CPU ns a hold of each side; negative: left out.
std::vector<double> measure(std::vector<std::unique_ptr<Side>>& sides, const Plan& plan) {
  std::vector<std::vector<double>> rounds(sides.size());
  for (auto& side : sides)
    if (!side->prepare()) side.reset();
  for (std::size_t round = 0; round < plan.rounds; ++round) {
    std::vector<double> spent(sides.size());
    for (std::size_t done = 0; done < plan.holds;) {
      const std::size_t slice = std::min(plan.slice, plan.holds - done);
      for (std::size_t i = 0; i < sides.size(); ++i) {
        if (sides[i] == nullptr) continue;
        const double start = cpu_ns();
        sides[i]->run(slice);
        spent[i] += cpu_ns() - start;
      }
      done += slice;
    }
    for (std::size_t i = 0; i < sides.size(); ++i)
      rounds[i].push_back(spent[i] / static_cast<double>(plan.holds));
  }
  std::vector<double> medians;
  const Side* first = nullptr;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    auto middle = rounds[i].begin() + static_cast<std::ptrdiff_t>(rounds[i].size() / 2);
    std::nth_element(rounds[i].begin(), middle, rounds[i].end());
    medians.push_back(sides[i] == nullptr ? -1 : *middle);
    if (sides[i] == nullptr) continue;
    if (first == nullptr) first = sides[i].get();
    EXAWARP_CHECK(first->checksum() == sides[i]->checksum(), "two sets popped different events", i);
  }
  return medians;
}

std::string thousands(std::size_t value) {
  std::string digits = std::to_string(value);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

void print_row(const std::string& work, const std::string& pending,
               const std::vector<double>& medians) {
  double best = 1e18;
  for (const double ns : medians)
    if (ns >= 0) best = std::min(best, ns);
  std::string line = fmt::format("| {} | {} |", work, pending);
  for (const double ns : medians) {
    if (ns < 0)
      line += " did not finish |";
    else
      line += ns == best ? fmt::format(" **{:.1f}** |", ns) : fmt::format(" {:.1f} |", ns);
  }
  fmt::print("{} {:.2f} |\n", line, medians[0] / medians.back());
  std::fflush(stdout);
}

struct Options {
  bool quick = false;
  std::size_t least = 0;  // pending events; above 0: no streams
  std::size_t most = std::size_t{1} << 24;
  std::size_t rounds = 7;
  std::string studies = EXAWARP_SOURCE_DIR "/configs/studies";
};

void hold_rows(const Options& options, DelayLaw law, const std::vector<std::size_t>& sizes) {
  const HoldDelays delays(law);
  for (const std::size_t size : sizes) {
    if (size < options.least || size > options.most) continue;
    std::vector<std::unique_ptr<Side>> sides;
    sides.push_back(std::make_unique<HoldSide<WholeEventHeap>>(size, delays));
    sides.push_back(std::make_unique<HoldSide<QuadHeap>>(size, delays));
    sides.push_back(std::make_unique<HoldSide<CalendarQueue>>(size, delays));
    sides.push_back(std::make_unique<HoldSide<EngineSet>>(size, delays));
    const std::size_t rounds = size > (std::size_t{1} << 22)    ? 1
                               : size == (std::size_t{1} << 22) ? 3
                                                                : options.rounds;
    const std::size_t slice = std::clamp(8 * size, kSliceLeast, kSliceMost);
    const Plan plan{.holds = options.quick ? 4096 : std::max({size, slice, 4 * kSliceLeast}),
                    .slice = slice,
                    .rounds = options.quick ? 1 : rounds};
    print_row(delays.name(), thousands(size), measure(sides, plan));
  }
}

void stream_row(const Options& options, const std::string& name) {
  const std::string kept = EXAWARP_SOURCE_DIR "/benchmarks/studies/" + name + ".yaml";
  const EventStream stream = record_stream(
      std::filesystem::exists(kept) ? kept : options.studies + "/" + name + ".yaml");
  std::vector<std::unique_ptr<Side>> sides;
  sides.push_back(std::make_unique<StreamSide<WholeEventHeap>>(stream));
  sides.push_back(std::make_unique<StreamSide<QuadHeap>>(stream));
  sides.push_back(std::make_unique<StreamSide<CalendarQueue>>(stream));
  sides.push_back(std::make_unique<StreamSide<EngineSet>>(stream));
  const std::size_t pops = stream.sends_after_pop.size();
  const Plan plan{.holds = options.quick ? 4096 : std::max(pops, 4 * kSliceLeast),
                  .slice = kSliceMost,
                  .rounds = options.quick ? 1 : options.rounds};
  print_row(name, fmt::format("{} (at most {})", thousands(stream.pending_mean),
                              thousands(stream.pending_peak)),
            measure(sides, plan));
}

void print_table(const Options& options) {
  fmt::print("| work | pending events | {} | {} | {} | {} | first / last |\n",
             WholeEventHeap::kName, QuadHeap::kName, CalendarQueue::kName, EngineSet::kName);
  fmt::print("|---|---:|---:|---:|---:|---:|---:|\n");
  if (options.quick) {
    for (const DelayLaw law : {DelayLaw::exponential, DelayLaw::ties, DelayLaw::bimodal})
      hold_rows(options, law, {16, 2048});
    return stream_row(options, "llama2_7b_8");
  }
  const auto k = [](std::size_t n) { return n << 10; };
  hold_rows(options, DelayLaw::exponential,
            {16, 64, 256, k(1), k(16), k(64), k(256), k(1 << 10), k(4 << 10), k(16 << 10)});
  hold_rows(options, DelayLaw::ties, {64, k(1), k(64), k(1 << 10)});
  hold_rows(options, DelayLaw::bimodal, {64, k(1), k(64), k(1 << 10)});
  if (options.least > 0) return;
  for (const char* name : {"llama2_7b_64", "llama2_7b_64_jitter", "llama3_70b_512",
                           "llama3_405b_1k_1f1b"})
    stream_row(options, name);
}

int usage() {
  fmt::print(stderr, "usage: pending_set_study [--quick] [--least EVENTS] [--most EVENTS] "
                     "[--rounds N] [--studies DIR]\n");
  return 2;
}

}  // namespace
}  // namespace exawarp::bench

int main(int argc, char** argv) {
  exawarp::bench::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--quick")
      options.quick = true;
    else if (word == "--least" && has_value)
      options.least = std::strtoull(argv[++i], nullptr, 10);
    else if (word == "--most" && has_value)
      options.most = std::strtoull(argv[++i], nullptr, 10);
    else if (word == "--rounds" && has_value)
      options.rounds = std::max(1ull, std::strtoull(argv[++i], nullptr, 10));
    else if (word == "--studies" && has_value)
      options.studies = argv[++i];
    else
      return exawarp::bench::usage();
  }
  exawarp::bench::print_table(options);
  return 0;
}
