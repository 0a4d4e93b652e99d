// What travels between devices: the kinds of events of a device and their payloads.
// One event a message, at the arrival of its tail; a second one only where it has to wait for the
// receiver's interface.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/time.h"
#include "pdes/event.h"

namespace exawarp::model {

enum class DeviceEvent : pdes::EventKind {
  node_done,        // to itself: a compute node, a send, or a collective's last send is over
  chunk_arrives,    // one step of a collective
  chunk_received,   // to itself: the same, after waiting for the receive side
  message_arrives,  // point to point
  message_received,
  step_arrives,     // a message of a stepped collective; a Chunk
  step_received,
  request_arrives,  // a long message asks whether it may come; a Message
  ready_arrives,    // it may; a Ready
  steps_begin,      // to itself: a collective's start overhead is over; a NodeDone
  job_starts,       // to itself: the job begins later than at time 0
  // Of device/background_traffic.h:
  background_due,      // to itself: a generator's next message
  background_arrives,
  census,              // whether all jobs are done
  // From the scheduler of a serving replica (device/served_program.h):
  iteration_begins,    // an IterationBegins
  transfer_due,        // a TransferDue
  keys_due,            // a KeysDue
};

struct NodeDone {
  std::uint32_t stream;
  std::uint32_t position;  // in its stream
};

struct Chunk {
  std::int64_t wire_ps;   // time on the receiver's interface
  std::int64_t entry_ps;  // when the last of the members that it has passed came to the collective
  std::uint32_t ordinal;  // which collective of the channel (device/program_table.h), from 0
  std::uint32_t step;     // a stepped collective: the receiver's phase
  std::uint16_t channel;
  std::uint16_t interface;
  std::uint32_t lane;     // a ring: 0
};

struct Message {
  std::int64_t wire_ps;
  std::int64_t start_ps;  // when its first byte left
  std::uint32_t source;
  std::uint32_t tag;
  std::uint32_t interface;
  std::uint32_t stream;  // a request: the sender's; keys of some layers: their tokens; else 0
};

struct Ready {
  std::uint32_t stream;  // of the sender that asked
  std::uint32_t unused;
};

// What a device of a serving replica has to do next, or after what it does.
constexpr std::uint16_t kNoOutputs = 0xffff;
struct IterationBegins {
  std::int64_t compute_ps = 0;  // of its stage
  std::uint32_t batch = 0;
  // Size classes (serving/size_classes.h): tokens of the batch, and sequences that give one.
  std::uint16_t tokens = 0;
  std::uint16_t outputs = kNoOutputs;
  // That the class of a group's tokens is below that of the batch's (serving/pool.h).
  std::uint32_t group_below = 0;
  std::uint32_t unused = 0;
};

// The keys and values of a prompt that it has, for a group of a replica of the pool that continues:
// replica * groups + group.
struct TransferDue {
  std::uint32_t request = 0;
  std::uint32_t tokens = 0;
  std::uint32_t group = 0;
  std::uint32_t unused = 0;
};
// The same of some of its tokens, each layer as soon as it is computed: by an iteration that the
// device was told of, or will be at this instant, or before.
constexpr std::uint32_t kComputedBefore = 0xffffffff;
struct KeysDue {
  std::uint32_t request = 0;
  std::uint32_t tokens = 0;
  std::uint32_t group = 0;  // as TransferDue has it
  std::uint32_t batch = kComputedBefore;
};
// In tags of their messages, beside the request's number.
constexpr std::uint32_t kTransferTag = 1u << 31;

// Traffic of no job.
struct BackgroundMessage {
  std::int64_t wire_ps;
  std::uint64_t bytes;
  std::uint64_t interface;
};

static_assert(sizeof(Chunk) <= pdes::kPayloadBytes && sizeof(Message) <= pdes::kPayloadBytes);

// The same at packet fidelity, as the body of a message between endpoints (MessageBody). Kind and
// channel say which connection it goes by: each channel has one to a device, and each stream. Steps
// that leave one by one have MessageBody::kOneByOneBit.
enum class Carried : std::uint16_t {
  chunk,
  step,
  message,
  request,
  ready,
  background,
  step_one_by_one = 1 << 15 | step,
};
constexpr bool is_step(Carried kind) {
  return kind == Carried::step || kind == Carried::step_one_by_one;
}

struct CarriedBody {
  std::int64_t time_ps = 0;   // chunk, step: entry; message, request: when it was handed over;
                              // background: bytes
  std::uint32_t first = 0;    // chunk, step: ordinal; message, request: tag
  std::uint32_t second = 0;   // chunk, step: step; message, request, ready: the sender's stream
  Carried kind = Carried::chunk;
  std::uint16_t channel = 0;  // message: the sender's stream
  std::uint32_t lane = 0;  // message: as Message::stream
};
static_assert(sizeof(CarriedBody) == 24);
// Of its last word.
constexpr Carried carried_kind_of(std::uint64_t last_word) {
  return static_cast<Carried>(last_word & 0xffff);
}

// When a message that is handed to an interface at `now` has left it; the new send clock. Clocks
// stop at the end of time.
constexpr core::Time sent_at(core::Time now, core::Time tx_free, core::Time wire) {
  return core::sum_to_end(std::max(now, tx_free), wire);
}

}  // namespace exawarp::model
