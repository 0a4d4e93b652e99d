// A replica as a logical process: its queues, its pool of blocks, its batches under way.
//
// An instant of the scheduler lasts a picosecond: arrivals and ends of batches at t are taken in
// first, and the batches that follow are formed at t + 1 ps from all of them, whatever their order;
// they count as begun at t, so that no picosecond adds up.
//
// Invariant: `held` is the number of blocks that requests in `running`, `flight`, `leaving` and
// `arriving` hold; nobody else holds any, and one that several hold counts once (kv_pool.h).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "model/serving/serving.h"
#include "pdes/logical_process.h"
#include "pdes/undo_ring.h"
#include "pdes/undo_table.h"
#include "pdes/undo_vector.h"

namespace exawarp::model::serving {

struct TokenGaps;

// A request that was scheduled.
struct Live {
  std::uint32_t request = 0;  // index into Spec::requests
  std::uint32_t prefill = 0;  // tokens computed as a prompt: of a restarted request more than P
  std::uint32_t decode = 0;
  std::uint32_t processed = 0;  // tokens; more than `prefill` once the prompt is done
  std::uint32_t blocks = 0;  // that it holds; of one in `restarted`: on the host
  std::uint32_t restarts = 0;
  std::int64_t first_token_ps = 0;  // 0: none yet
  std::uint32_t batch = 0;          // in flight: number of the batch
  std::uint32_t tokens = 0;         // in flight: of the batch
  std::uint32_t cached = 0;         // of its blocks, the first ones: those that others may find
  std::uint32_t admitted = 0;       // how many entered before it (counts_admissions())
  std::int64_t token_ps = 0;        // when its last token came; 0: none yet
  std::uint32_t behind = 0;         // of its blocks, the first ones: those behind every window
  std::uint32_t unused = 0;

  [[nodiscard]] bool prompt_done() const { return processed > prefill; }
  [[nodiscard]] std::uint32_t total() const { return prefill + decode; }
};

// A request whose prompt is computed, on its way to a replica that decodes (handover.h).
struct Offer {
  std::uint32_t request = 0;
  std::uint32_t from = 0;  // replica
  std::int64_t first_token_ps = 0;
  std::uint32_t restarts = 0;
  std::uint32_t unused = 0;
};

// A request whose keys and values go layer by layer: from its first iteration until all have come.
constexpr std::uint32_t kNowhere = 0xffffffff;
struct KeysAhead {
  std::uint32_t request = 0;
  std::uint32_t to = kNowhere;  // group of the other pool (PullEvent), once that has room
  std::uint32_t sent = 0;       // tokens that devices were told of
  std::uint32_t unused = 0;
};

// A block of a kind of groups, whose content has a name (kv_pool.h).
constexpr std::uint64_t kNoBlock = std::uint64_t{1} << 63;
struct CachedBlock {
  std::uint64_t key = kNoBlock;     // of Prefixes::block_key() and the kind
  std::uint64_t before = kNoBlock;  // idle: the one that was idle before it, and the next one
  std::uint64_t behind = kNoBlock;
  std::uint64_t holders = 0;        // requests; 0: idle
};

enum ReplicaEvent : pdes::EventKind { kArrive, kSchedule, kBatchEnd, kOffer, kPull, kKeysCame,
                                      kTaken, kPrompted };
enum RouterEvent : pdes::EventKind { kNext = 16, kLeft, kOffered, kFollow };

struct ArriveEvent {
  std::uint64_t request;
};
struct BatchEndEvent {
  std::uint64_t batch;
};
struct NextEvent {
  std::uint64_t request;
};
struct LeftEvent {  // so many requests no longer count (RouterProcess); fewer than 0: do again
  std::uint32_t replica;
  std::int32_t requests;
};

struct PullEvent {  // the keys and values of a request, to a group of a replica of the other pool
  std::uint32_t request;
  std::uint32_t to;  // replica * groups + group
};
struct KeysCameEvent {  // a message of them
  std::uint32_t request;
  std::uint32_t tokens;  // of some layers; 0: of all that the message is to have
};
struct PromptedEvent {  // its prompt is done, and what is missing of its keys is on its way
  std::uint32_t request;
  std::uint32_t restarts;
  std::int64_t first_token_ps;
};
struct TakenEvent {  // all of them
  std::uint64_t request;
};

// Of a request that is done: a = request, b = first token, c = end, in engine time.
constexpr std::uint32_t kDoneChannel = 1;
// Of one whose keys and values have come: a = request, b = when they were asked for, c = now.
constexpr std::uint32_t kTakenChannel = 6;
// Of one that came when the one before it had been answered: a = request, b = now.
constexpr std::uint32_t kCameChannel = 7;

// Engine time at which simulated time 0 lies: an event takes a picosecond to begin with.
constexpr core::Time kStart{1};

// Picoseconds of all requests together, for which 64 bits are 213 days.
struct PsSum {
  std::uint64_t low = 0, high = 0;

  // Requires ps >= 0.
  void add(core::WidePs ps, pdes::Context& ctx);
  [[nodiscard]] core::WidePs ps() const { return static_cast<core::WidePs>(high) << 64 | low; }
};

struct Replica {
  struct State {
    pdes::UndoRing<std::uint32_t> waiting;  // requests that were never scheduled
    pdes::UndoVector<std::uint32_t> ranked;  // the same, where priority decides: a heap
    pdes::UndoVector<Live> restarted;       // before all that wait; the last one first
    pdes::UndoVector<Live> running;         // between two batches, in the order of their ends
    pdes::UndoVector<Live> flight;          // in batches under way
    pdes::UndoVector<std::int64_t> stage_free_ps;
    pdes::UndoTable<CachedBlock> cached;    // at most Spec::blocks
    std::uint64_t idle_first = kNoBlock;    // of the cached blocks that nobody holds
    std::uint64_t idle_last = kNoBlock;
    std::uint32_t idle = 0;
    std::uint32_t admissions = 0;
    std::uint32_t host_blocks = 0;    // of requests in `restarted`
    std::uint32_t swapped_blocks = 0;  // to or from the host since the last batch
    std::uint32_t held = 0;     // blocks, of a group each
    std::uint32_t holders = 0;  // requests that hold some
    std::uint32_t batches_under_way = 0;
    std::uint32_t schedule_sent = 0;  // 1: kSchedule is under way
    std::uint32_t decodes_since_prefill = 0;
    std::uint32_t batches = 0;  // formed so far
    std::uint32_t restarts = 0;
    std::uint32_t beyond_profile = 0;  // batches that no size of the profile covers
    std::uint32_t held_most = 0;
    std::uint32_t arrived = 0;
    std::uint32_t finished = 0;
    std::uint64_t tokens = 0;      // in all batches
    std::uint64_t prompt_tokens = 0;  // of requests that entered for the first time
    std::uint64_t found_tokens = 0;   // of these, in cached blocks
    std::uint64_t forgotten = 0;      // cached blocks
    std::uint64_t swaps = 0;          // of requests to the host
    std::uint64_t drafted = 0;        // tokens
    std::uint64_t accepted = 0;       // of these
    std::uint64_t busy_ps = 0;     // of the first stage
    // Between two tokens of a request (token_gaps.h), in the pool that gives the second. Those of
    // the bin that came last are counted here, as many batches in a row have them, and reach `gaps`
    // when another bin comes.
    PsSum gap_sum;
    std::uint64_t gap_most_ps = 0;
    std::uint32_t gap_bin = 0;
    std::uint32_t gaps_of_bin = 0;
    PsSum present;                 // requests here times time
    std::int64_t changed_ps = 0;   // when their number changed last
    // Of a pool that hands over, and of the one that takes over (handover.h):
    pdes::UndoVector<Live> leaving;    // prompts that are computed, with their blocks
    pdes::UndoVector<KeysAhead> ahead;
    pdes::UndoRing<Offer> offers;      // for which there has been no room
    pdes::UndoVector<Live> arriving;   // Live::tokens counts what has come
    pdes::UndoVector<std::int64_t> asked_ps;  // by place there: when they were asked for
    pdes::UndoVector<std::uint64_t> gaps;     // by bin; read by count_gaps() alone
  };

  static void handle(State& s, const pdes::Event& event, pdes::Context& ctx);
  static void describe(State& s, pdes::StateArchive& archive);
};

// Adds a replica's gaps, all of them, to `gaps`.
void count_gaps(const Replica::State& s, TokenGaps& gaps);

struct RouterProcess {
  struct State {
    // By replica, as far as known, where the router asks; of those that take over, all that is not
    // answered.
    pdes::UndoVector<std::uint32_t> queued;
    pdes::UndoVector<std::uint32_t> homes;  // by request: its replica, where prefixes decide
    std::uint64_t routed = 0;
  };

  static void handle(State& s, const pdes::Event& event, pdes::Context& ctx);
  static void describe(State& s, pdes::StateArchive& archive);
};

// Where the processes of a Serving lie among those of a larger model.
struct ServingPlace {
  pdes::LpId first{0};
  std::uint32_t atom = 1;  // the router's number is a multiple of it
};

// Replica r is logical process first + r, those that take over behind those that hand over; then
// comes the router.
class Serving : public pdes::Model {
 public:
  // Throws core::InputError, as check().
  explicit Serving(Spec spec) : Serving(std::move(spec), std::nullopt, {}) {}
  // `decoding`: the pool that takes over, of the same requests.
  Serving(Spec spec, std::optional<Spec> decoding, const ServingPlace& place);

  [[nodiscard]] std::span<const pdes::LpType> types() const override { return types_; }
  [[nodiscard]] std::span<const pdes::LpRange> ranges() const override { return ranges_; }
  [[nodiscard]] core::Time lookahead() const override { return spec_.latency; }
  void initialise(pdes::LpId lp, void* state, pdes::Context& ctx) const override;

  [[nodiscard]] const Spec& spec() const { return spec_; }
  [[nodiscard]] const Spec* decoding() const { return decoding_ ? &*decoding_ : nullptr; }
  // Of a replica's pool.
  [[nodiscard]] const Spec& spec_of(std::uint32_t replica) const {
    return replica < spec_.replicas ? spec_ : *decoding_;
  }
  [[nodiscard]] std::uint32_t replicas() const {
    return spec_.replicas + (decoding_ ? decoding_->replicas : 0);
  }
  [[nodiscard]] std::uint32_t processes() const { return replicas() + 1; }
  [[nodiscard]] pdes::LpId first() const { return ranges_[0].first; }
  [[nodiscard]] pdes::LpId router() const { return ranges_[1].first; }
  [[nodiscard]] pdes::LpId replica(std::uint32_t index) const { return {first().value + index}; }
  [[nodiscard]] std::uint32_t index_of(pdes::LpId replica) const {
    return replica.value - first().value;
  }

 private:
  Spec spec_;
  std::optional<Spec> decoding_;
  pdes::LpType types_[2];
  pdes::LpRange ranges_[2];
};

}  // namespace exawarp::model::serving
