// A rank's memory bus under `model-shared-bus`: what a packet passes through instead of a fixed
// endpoint delay. The facts are those of ASTRA-sim's LogGP.cc, MemBus.cc and MemMovRequest.cc.
//
// Two ends, the accelerator and its network adapter, exchange requests one at a time under LogGP:
// the sender is taken for offset + (size - 1) * G, the receiver L + o longer, where the offset is
// o, or what is left of g since a transfer of the same sender ended. Behind the accelerator's end
// is a second bus of the same kind (G = 0.0038 ns/B) to its memory: what the accelerator sends is
// read over it first, what it receives is written over it, and what it reduces is written, read
// and written. Both directions share a bus; after more than eight transfers in one direction the
// other end comes first.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "model/guests/astra/config.h"
#include "model/guests/astra/timers.h"

namespace exawarp::model::astra {

// Where a packet goes, and what happens to it on the way.
struct BusTrip {
  bool to_accelerator = false;  // from the adapter; otherwise to it
  bool send_back = false;       // ends where it began
};

class MemoryBus {
 public:
  using Deliver = std::function<void(Rank, const Timer&)>;
  // `deliver` gets each packet when it is through.
  MemoryBus(const BusConfig& config, std::uint32_t ranks, EventQueue& events, Timers& timers,
            Deliver deliver);
  // `packet` is a Timer of kind packet; one that reduces is processed at the accelerator's end.
  void carry(Rank rank, BusTrip trip, const Timer& packet);
  // A timer of kind bus.
  void run(Rank rank, const Timer& timer);

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  // The ends of a rank; the partner of end e is e ^ 1. The last two are those of the inner bus.
  enum End : std::uint32_t { accelerator, adapter, inner_accelerator, memory, end_count };
  enum class State : std::uint8_t { free, sending, receiving };
  enum class Event : std::uint8_t { sent, received, processed };
  // What happens to a request of the outer bus when the inner bus has carried its data.
  enum class Next : std::uint8_t { send, process, retire };
  struct Request {
    std::uint64_t bytes = 0;
    bool processed = false;  // is to be
    bool send_back = false;
    std::uint32_t carried = kNone;  // inner bus: the request whose data it is
    Next next = Next::send;
    Timer packet{};  // outer bus
  };
  struct EndState {
    State state = State::free, previous = State::free;
    Ns last_transfer = 0;
    std::uint32_t in_a_row = 0;  // sent since it last received
    bool processing = false;
    std::deque<std::uint32_t> sends, receives, to_process;  // requests
  };

  EndState& at(Rank rank, End end) { return ends_[std::size_t{rank} * end_count + end]; }
  static End partner(End end) { return static_cast<End>(end ^ 1u); }
  std::uint32_t new_request(const Request& request);
  void start(Rank rank, End end, Event event, double delay_ns);
  void request(Rank rank, End end, std::uint32_t request);
  void over_inner_bus(Rank rank, End from, bool send_back, std::uint32_t carried, Next next);
  void serve(Rank rank, End end);
  void transfer(Rank rank, End end);
  void on_received(Rank rank, End end);
  void on_processed(Rank rank, End end);
  void forward(Rank rank, End end, std::uint32_t request);
  void process_next(Rank rank, End end);
  void finish(Rank rank, std::uint32_t request);
  void carried(Rank rank, std::uint32_t request, Next next);

  BusConfig config_;
  EventQueue& events_;
  Timers& timers_;
  Deliver deliver_;
  std::vector<EndState> ends_;  // end_count a rank
  std::vector<Request> requests_;
  std::vector<std::uint32_t> free_requests_;
};

}  // namespace exawarp::model::astra
