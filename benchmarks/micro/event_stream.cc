// Records a sequential run from outside the engine: each handler is wrapped by one that notes the
// event it was called with and how many events it sent, which the LP's header counts. An event
// says who sent it, as which of its sends; so once all are noted, each send finds its time.
#include "benchmarks/micro/event_stream.h"

#include <algorithm>
#include <array>
#include <variant>

#include "core/check.h"
#include "io/study/study.h"
#include "partition/block.h"
#include "pdes/directory.h"
#include "pdes/engine.h"
#include "pdes/transport.h"

namespace exawarp::bench {
namespace {

struct Handled {
  EventStream::Send sent;  // the event handled, as its source sent it
  core::LpId lp;           // where it was handled
  std::uint32_t first_sequence;
  std::uint32_t sends;
};

// The handlers of LpType are plain functions, so what they record to is static. One thread.
struct Recorder {
  static constexpr std::size_t kTypesMax = 2;
  std::array<pdes::LpType, kTypesMax> inner{};
  std::vector<Handled> handled;
};
Recorder& recorder() {
  static Recorder instance;
  return instance;
}

template <std::size_t type>
void recording_handle(void* state, const pdes::Event& event, pdes::Context& context) {
  const pdes::LpHeader& header = static_cast<pdes::LpHeader*>(state)[-1];
  const std::uint32_t before = header.sequence;
  recorder().inner[type].handle(state, event, context);
  recorder().handled.push_back({{event.receive_time, event.source, event.sequence},
                                event.destination,
                                before,
                                header.sequence - before});
}

// The cluster's table of types, with recording handlers in it. The model passed to handlers must
// stay the cluster itself, so its own table is changed, for as long as this object lives.
class Wrapped {
 public:
  explicit Wrapped(const model::Cluster& cluster) : types_(cluster.types()) {
    EXAWARP_CHECK(types_.size() <= Recorder::kTypesMax, types_.size());
    std::copy(types_.begin(), types_.end(), recorder().inner.begin());
    recorder().handled.clear();
    const std::array wraps{&recording_handle<0>, &recording_handle<1>};
    for (std::size_t t = 0; t < types_.size(); ++t) writable(t).handle = wraps[t];
  }
  ~Wrapped() {
    for (std::size_t t = 0; t < types_.size(); ++t) writable(t) = recorder().inner[t];
  }
  Wrapped(const Wrapped&) = delete;
  Wrapped& operator=(const Wrapped&) = delete;

 private:
  // The cluster is not a const object, so neither is its table.
  pdes::LpType& writable(std::size_t t) { return const_cast<pdes::LpType&>(types_[t]); }
  std::span<const pdes::LpType> types_;
};

using SendKey = std::pair<std::uint32_t, std::uint32_t>;
SendKey key_of(const EventStream::Send& send) { return {send.source.value, send.sequence}; }

EventStream stream_of(const std::vector<Handled>& handled) {
  std::vector<EventStream::Send> received;
  received.reserve(handled.size());
  for (const Handled& h : handled) received.push_back(h.sent);
  std::sort(received.begin(), received.end(),
            [](const auto& a, const auto& b) { return key_of(a) < key_of(b); });
  EventStream stream;
  stream.sends.reserve(handled.size());
  const auto append = [&](core::LpId source, std::uint32_t sequence) {
    const EventStream::Send wanted{{}, source, sequence};
    const auto found =
        std::lower_bound(received.begin(), received.end(), wanted,
                         [](const auto& a, const auto& b) { return key_of(a) < key_of(b); });
    EXAWARP_CHECK(found != received.end() && key_of(*found) == key_of(wanted), source.value,
                  sequence);
    stream.sends.push_back(*found);
  };
  // What no handler sent was sent before the first: sequences below the first that a handler saw.
  std::vector<EventStream::Send> firsts;
  for (const Handled& h : handled)
    if (h.sends != 0) firsts.push_back({{}, h.lp, h.first_sequence});
  std::stable_sort(firsts.begin(), firsts.end(),
                   [](const auto& a, const auto& b) { return key_of(a) < key_of(b); });
  for (const EventStream::Send& r : received) {
    const auto first = std::lower_bound(
        firsts.begin(), firsts.end(), r,
        [](const auto& a, const auto& b) { return a.source.value < b.source.value; });
    const bool from_handler = first != firsts.end() && first->source == r.source &&
                              r.sequence >= first->sequence;
    if (!from_handler) stream.sends.push_back(r);
  }
  stream.first_sends = static_cast<std::uint32_t>(stream.sends.size());

  std::size_t pending = stream.sends.size();
  std::size_t sum = 0;
  for (const Handled& h : handled) {
    stream.pending_peak = std::max(stream.pending_peak, pending);
    sum += pending;
    for (std::uint32_t i = 0; i < h.sends; ++i) append(h.lp, h.first_sequence + i);
    stream.sends_after_pop.push_back(h.sends);
    pending += h.sends;
    --pending;
  }
  EXAWARP_CHECK(pending == 0, pending);
  stream.pending_mean = handled.empty() ? 0 : sum / handled.size();
  return stream;
}

}  // namespace

EventStream record_stream(const std::string& study_file) {
  const io::Study study = io::read_study(study_file, {});
  const model::WorkloadGraph graph =
      io::generate(std::get<io::WorkloadSpec>(study.jobs[0].workload));
  model::Cluster cluster(graph, study.system.accelerator, study.system.fabric,
                         {.compute = study.compute,
                          .compute_jitter = study.compute_jitter,
                          .seed = study.engine.seed});
  const Wrapped wrapped(cluster);
  pdes::EngineOptions options = study.engine;
  options.sync = pdes::Sync::sequential;
  const auto transport = pdes::make_single_transport();
  pdes::Engine engine(cluster,
                      partition::place_in_blocks({.atoms = cluster.atom_count(),
                                                  .atom_shift = cluster.atom_shift(),
                                                  .ranks = 1,
                                                  .partitions_per_rank = 1}),
                      options, *transport);
  engine.run();
  return stream_of(recorder().handled);
}

}  // namespace exawarp::bench
