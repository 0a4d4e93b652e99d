// A partition: the unit of scheduling. Its LPs, its pending events, its history.
//
// Owner:     one worker at a time (the executor's barrier hands it over).
// Invariant: within the partition events execute in order, except that an LP that was rolled back
//            catches up; a record in the history is executed and not undone, or dead; what lies
//            before the frontier is never undone, whether it has a record or not.
// Files:     partition.cc (executing), rollback.cc (undoing), collect.cc (committing), cut.cc
//            (cuts, and going on from them), audit.cc (the check of undoing), rebuild.cc (that of
//            descriptions).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/digest.h"
#include "pdes/block_pool.h"
#include "pdes/context.h"
#include "pdes/cut.h"
#include "pdes/directory.h"
#include "pdes/event_pool.h"
#include "pdes/history.h"
#include "pdes/mailbox.h"
#include "pdes/pending_set.h"
#include "pdes/statistics.h"

namespace exawarp::pdes {

struct PartitionSetup {
  core::PartitionId id;
  std::uint32_t first_local = 0;  // first partition of this rank
  std::uint32_t locals = 1;       // partitions of this rank
  std::uint64_t seed = 1;
  bool records_history = true;    // false: nothing is ever undone
  Time lookahead{1};              // least delay to another partition; checked without history
  double audit_probability = 0;
  std::uint64_t rebuild_events = 0;  // on average between states made anew; 0: never
  std::uint64_t history_limit = 0;  // uncommitted events at most
  std::uint32_t rehearsed_locals = 0;  // partitions of a rank of the run that is rehearsed (see
                                       // rehearsal.h); 0: none is
};

struct EpochOrder {
  Time gvt;
  Time safe;                  // nothing that is sent from now on arrives before this
  Time horizon;               // execute events before this
  std::uint64_t event_limit;  // at most so many of those that may have to be undone
};

class Partition {
 public:
  Partition(const PartitionSetup& setup, const Model& model, const Directory& directory,
            Mailboxes& mailboxes, EmissionSink* sink);

  // Runs Model::initialise for each LP of this partition.
  void initialise(const Model& model);
  // Takes in messages, commits up to order.gvt, executes.
  void run_epoch(const EpochOrder& order);
  // Commits everything up to and including `gvt`. Requires that all events and anti-messages at
  // `gvt` or before have been taken in: later ones can then only lie beyond it, as every event
  // is scheduled at least 1 ps ahead. Frees events and history, delivers emissions.
  void collect(Time gvt);

  // Undoes everything after `gvt` and commits the rest. Requires what collect() requires.
  void give_up_beyond(Time gvt);

  // A cut, in two steps with an exchange between ranks in between. First: takes in messages,
  // commits what lies before `gvt` and undoes the rest. Requires that nothing before `gvt` is under
  // way.
  void settle_at(Time gvt);
  // Second: takes in the anti-messages of the first, and returns what there is; it stays.
  [[nodiscard]] std::vector<CutChunk> cut();

  // Instead of initialise(): sets the state and the count of sends of one of its LPs from its
  // description, and adds a pending event; once all are there, go_on().
  void restore(LpSlot slot, std::uint32_t sequence, std::span<const std::byte> state);
  void restore(const Event& event);
  void go_on();

  // The first event left, or null: for the end of a run, when nothing before it is left in any
  // partition. Takes in messages, and loses what is cancelled.
  [[nodiscard]] const Event* first_left();

  // The earliest event this partition knows of or sent in this epoch.
  [[nodiscard]] Time least() const { return least_; }
  [[nodiscard]] Time last_committed() const { return last_committed_; }
  [[nodiscard]] core::Digest digest() const { return digest_; }
  [[nodiscard]] const Statistics& statistics() const { return statistics_; }
  [[nodiscard]] std::uint64_t pending_events() const { return pending_.size(); }
  [[nodiscard]] std::uint64_t history_events() const { return history_.records.size(); }
  // For a failed check, on the thread that works on this: where it is, e.g. "rank=1 worker=3
  // partition=7 LP=17 LVT=81250 ps GVT=81300 ps seed=42". LP and LVT are those of the event that
  // is executed, or was last, in this epoch; they are left out where there was none yet.
  [[nodiscard]] std::string whereabouts(std::uint32_t worker) const;

  // For Context: the services a handler reaches.
  [[nodiscard]] std::uint32_t owner_of(LpId lp) const { return directory_.partition_of(lp); }
  [[nodiscard]] bool owns(std::uint32_t owner) const { return owner == setup_.id.value; }
  [[nodiscard]] Event& new_event() { return *events_.allocate(); }
  void schedule_here(Event& event);  // one of new_event()'s
  // Room in the mailbox of another partition.
  [[nodiscard]] Event& departure_to(std::uint32_t owner);
  void send_away(const Event& event);  // one of departure_to()'s
  void emit(const Emission& emission);
  [[nodiscard]] void* allocate_block(std::uint32_t size_class);
  void release_block(void* block, std::uint32_t size_class);

 private:
  // What a record did besides state and sends; kept apart because it is rare.
  struct Extra {
    enum class Kind : std::uint8_t { emission, allocated, released, settled };
    std::uint64_t record;
    Kind kind;
    std::uint32_t size_class;
    void* block;
    Emission emission;
  };

  void take_in(const Event& event);
  void take_in_anti(const Event& event);
  void make_room(Time gvt);
  // Apart from the rest of an epoch, the loop keeps what it uses at every event in registers.
  [[gnu::noinline]] void run_until(Time horizon, std::uint64_t event_limit);
  void run_safely(const EpochOrder& order);
  void run_ahead(const EpochOrder& order);
  bool annihilates(Event* event);
  [[nodiscard]] Event* next_left();
  void execute(Event* event);
  // Inlined into the loop over events, so defined and called in partition.cc only; the audit has a
  // copy of its own.
  [[gnu::always_inline]] inline void execute_recorded(Event* event, LpSlot slot);
  void execute_audited(Event* event, LpSlot slot);
  void call_handler(const Event& event, LpSlot slot);
  void prefetch_ahead();
  void push(Event* event);
  void foresee_late();
  void prefetch_state(const Event& event) const;
  void foresee(Event* event);
  void foresee_more(const Event* event);
  void settle_suspects();

  void audit(Event* event, LpSlot slot);  // audit.cc
  [[nodiscard]] std::uint64_t newest_output_hash();
  [[nodiscard]] bool is_audited(const Event& event) const;

  std::uint64_t rebuild_if_due(Time gvt);  // rebuild.cc
  void rebuild_states(Time gvt);
  void rebuild_state(LpId lp, LpSlot slot);

  void roll_back_if_straggler(const Event& event);
  // Undoes the LP's events that do not come before `bound`; `victim` (may be null) is dropped, the
  // others become pending again.
  void roll_back(LpSlot slot, const Event& bound, const Event* victim);
  void undo_record(std::uint64_t index, LpHeader& header);
  void undo_extras(std::uint64_t index);
  void trim_dead_head();
  void cancel(SentRef sent);
  void work_off_cancellations();

  void deliver_emissions(Time up_to);
  void settle_extras(std::uint64_t new_tail);
  void deliver(const Emission& emission);

  PartitionSetup setup_;
  const Directory& directory_;
  Mailboxes& mailboxes_;
  EmissionSink* sink_;
  Context context_;

  PendingSet pending_;
  EventPool events_;
  BlockPool blocks_;
  History history_;
  std::vector<Extra> extras_;        // ascending by record
  std::vector<Emission> certain_;    // emissions of events without a record, to be delivered
  std::vector<Event*> suspects_;     // sent by the running handler into the executed past
  std::vector<Event*> cancellations_;  // processed events to be cancelled

  bool types_foresee_;       // at least one has LpType::foresee
  bool types_foresee_more_;  // the same
  bool records_ = false;     // what is executed now may have to be undone
  Time gvt_{0};              // as this partition last heard
  Time frontier_{-1};        // of the latest event that was executed without a record
  Time furthest_{-1};        // latest event ever executed
  Time last_committed_{-1};
  Time least_;
  Time least_sent_ = Time::max();  // to other partitions, this epoch
  std::uint64_t antis_pending_ = 0;
  std::uint64_t rebuild_due_ = 0;  // when so many events were processed
  core::Digest digest_;
  Statistics statistics_;
};

// Restores what a chunk has for partitions that `owner` returns: null for LPs of other ranks.
// Returns how many LPs those are. Throws core::InputError, without a place, where that cannot be
// read.
std::uint64_t restore_chunk(std::span<const std::byte> chunk, const Directory& directory,
                            const std::function<Partition*(LpId)>& owner);

}  // namespace exawarp::pdes
