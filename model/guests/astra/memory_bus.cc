// A request waits at its end, is transferred, processed, and goes on: start, serve, transfer,
// on_received, process_next, forward, in this order, each scheduling the next as a timer of the
// rank.
#include "model/guests/astra/memory_bus.h"

#include <utility>

#include "core/check.h"

namespace exawarp::model::astra {
namespace {

constexpr double kInnerGapPerByteNs = 0.0038;  // fixed in ASTRA-sim
constexpr std::uint32_t kInARowMax = 8;
constexpr std::uint64_t kBytesPerReductionStep = 100;
constexpr Ns kReductionStartNs = 50;

}  // namespace

MemoryBus::MemoryBus(const BusConfig& config, std::uint32_t ranks, EventQueue& events,
                     Timers& timers, Deliver deliver)
    : config_(config),
      events_(events),
      timers_(timers),
      deliver_(std::move(deliver)),
      ends_(std::size_t{ranks} * end_count) {}

std::uint32_t MemoryBus::new_request(const Request& request) {
  if (free_requests_.empty()) {
    requests_.push_back(request);
    return static_cast<std::uint32_t>(requests_.size() - 1);
  }
  const std::uint32_t index = free_requests_.back();
  free_requests_.pop_back();
  requests_[index] = request;
  return index;
}

void MemoryBus::start(Rank rank, End end, Event event, double delay_ns) {
  timers_.start(rank, whole_ns(delay_ns),
                {.kind = Timer::Kind::bus, .index = end,
                 .argument = static_cast<std::uint64_t>(event)});
}

void MemoryBus::carry(Rank rank, BusTrip trip, const Timer& packet) {
  const std::uint32_t index = new_request({.bytes = packet.argument,
                                           .processed = packet.reduces,
                                           .send_back = trip.send_back,
                                           .packet = packet});
  request(rank, trip.to_accelerator ? adapter : accelerator, index);
}

void MemoryBus::request(Rank rank, End end, std::uint32_t request) {
  if (end == accelerator) {
    return over_inner_bus(rank, memory, false, request, Next::send);
  }
  at(rank, end).sends.push_back(request);
  serve(rank, end);
}

void MemoryBus::over_inner_bus(Rank rank, End from, bool send_back, std::uint32_t carried,
                               Next next) {
  request(rank, from,
          new_request({.bytes = requests_[carried].bytes, .send_back = send_back,
                       .carried = carried, .next = next}));
}

// Begins the next transfer of `end`, if it may. Where it has had its turns the partner begins.
void MemoryBus::serve(Rank rank, End end) {
  const EndState& own = at(rank, end);
  const EndState& other = at(rank, partner(end));
  if (own.state != State::free || own.sends.empty()) return;
  if (own.in_a_row > kInARowMax && !other.sends.empty() && other.in_a_row <= kInARowMax) {
    return serve(rank, partner(end));
  }
  transfer(rank, end);
}

void MemoryBus::transfer(Rank rank, End end) {
  EndState& own = at(rank, end);
  EndState& other = at(rank, partner(end));
  const Ns o = config_.overhead_ns, g = config_.gap_ns;
  Ns offset = o;
  if (own.previous == State::sending) {
    const Ns since = events_.now() - own.last_transfer;
    if (o + since <= g) offset = g - since;
  }
  EXAWARP_CHECK(!own.sends.empty(), rank);
  const std::uint32_t request = own.sends.front();
  own.sends.pop_front();
  const double gap_per_byte =
      end == accelerator || end == adapter ? config_.gap_per_byte_ns : kInnerGapPerByteNs;
  const double taken = static_cast<double>(offset) +
                       (static_cast<double>(requests_[request].bytes) - 1) * gap_per_byte;
  other.receives.push_back(request);
  other.previous = std::exchange(other.state, State::receiving);
  start(rank, partner(end), Event::received,
        taken + static_cast<double>(config_.latency_ns) + static_cast<double>(o));
  other.in_a_row = 0;
  own.state = State::sending;
  start(rank, end, Event::sent, taken);
}

void MemoryBus::run(Rank rank, const Timer& timer) {
  const End end = static_cast<End>(timer.index);
  EndState& own = at(rank, end);
  switch (static_cast<Event>(timer.argument)) {
    case Event::sent:
      own.last_transfer = events_.now();
      own.previous = std::exchange(own.state, State::free);
      ++own.in_a_row;
      break;
    case Event::received: on_received(rank, end); break;
    case Event::processed: on_processed(rank, end); break;
  }
  serve(rank, end);
}

void MemoryBus::on_received(Rank rank, End end) {
  EndState& own = at(rank, end);
  own.last_transfer = events_.now();
  own.previous = own.state;
  if (own.receives.size() < 2) own.state = State::free;
  EXAWARP_CHECK(!own.receives.empty(), rank);
  const std::uint32_t request = own.receives.front();
  own.receives.pop_front();
  if (!requests_[request].processed) return forward(rank, end, request);
  requests_[request].processed = false;
  if (end == accelerator) {
    over_inner_bus(rank, inner_accelerator, true, request, Next::process);
  } else {
    own.to_process.push_back(request);
  }
  process_next(rank, end);
}

void MemoryBus::process_next(Rank rank, End end) {
  EndState& own = at(rank, end);
  if (own.processing || own.to_process.empty()) return;
  own.processing = true;
  const std::uint64_t steps = requests_[own.to_process.front()].bytes / kBytesPerReductionStep;
  start(rank, end, Event::processed,
        static_cast<double>(product_to_end(steps, config_.reduction_delay_ns) + kReductionStartNs));
}

void MemoryBus::on_processed(Rank rank, End end) {
  EndState& own = at(rank, end);
  EXAWARP_CHECK(own.processing && !own.to_process.empty(), rank);
  own.processing = false;
  const std::uint32_t request = own.to_process.front();
  own.to_process.pop_front();
  forward(rank, end, request);
  process_next(rank, end);
}

// `request` has done what it came for at `end`: back, or out of the bus.
void MemoryBus::forward(Rank rank, End end, std::uint32_t request) {
  const bool back = std::exchange(requests_[request].send_back, false);
  if (end == accelerator) {
    over_inner_bus(rank, inner_accelerator, back, request, back ? Next::send : Next::retire);
  } else if (back) {
    at(rank, end).sends.push_back(request);
  } else {
    finish(rank, request);
  }
}

void MemoryBus::finish(Rank rank, std::uint32_t request) {
  const Request done = requests_[request];
  free_requests_.push_back(request);
  if (done.carried != kNone) return carried(rank, done.carried, done.next);
  deliver_(rank, done.packet);
}

void MemoryBus::carried(Rank rank, std::uint32_t request, Next next) {
  switch (next) {
    case Next::send: at(rank, accelerator).sends.push_back(request); break;
    case Next::process:
      at(rank, accelerator).to_process.push_back(request);
      process_next(rank, accelerator);
      break;
    case Next::retire: finish(rank, request); break;
  }
  serve(rank, accelerator);
}

}  // namespace exawarp::model::astra
