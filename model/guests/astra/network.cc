// Messages that were sent, awaited, or under way are places in one pool, found by key; time passes
// only in the event queue, to which every step goes back.
#include "model/guests/astra/network.h"

#include <algorithm>

#include "core/check.h"

namespace exawarp::model::astra {
namespace {

constexpr std::uint64_t kRendezvousBytes = 8'192;
constexpr std::uint64_t kRendezvousTag = 1'000'000'000;

// "GB/s" of a network file, which ASTRA-sim takes as GiB/s, in bytes per ns.
double bytes_per_ns(double bandwidth) {
  return bandwidth * static_cast<double>(1 << 30) / 1'000'000'000;
}

// A new or recycled place in `pool`.
template <class T>
std::uint32_t allocate(std::vector<T>& pool, std::vector<std::uint32_t>& free) {
  if (free.empty()) {
    pool.emplace_back();
    return static_cast<std::uint32_t>(pool.size() - 1);
  }
  const std::uint32_t index = free.back();
  free.pop_back();
  pool[index] = T{};
  return index;
}

// Of `n` positions in a ring, from `a` to `b`.
struct RingPath {
  std::uint32_t hops;
  bool clockwise;
};
RingPath ring_path(std::uint32_t a, std::uint32_t b, std::uint32_t n) {
  const std::uint32_t clockwise = (b + n - a) % n;
  const bool shorter = n - clockwise < clockwise;
  return {shorter ? n - clockwise : clockwise, !shorter};
}

}  // namespace

Network::Network(const NetworkConfig& config, bool rendezvous, EventQueue& events,
                 Completions& completions)
    : congestion_aware_(config.congestion_aware),
      rendezvous_(rendezvous),
      events_(events),
      completions_(completions) {
  std::uint32_t stride = 1;
  for (const Dimension& dimension : config.dimensions) {
    spans_.push_back({dimension, bytes_per_ns(dimension.bandwidth), stride});
    stride *= dimension.npus;
  }
}

std::uint8_t Network::differing_dimension(Rank a, Rank b) const {
  std::uint8_t d = 0;
  while (spans_[d].coordinate(a) == spans_[d].coordinate(b)) ++d;
  return d;
}

Ns Network::delay_ns(Rank source, Rank destination, std::uint64_t bytes) const {
  const Span& span = spans_[differing_dimension(source, destination)];
  std::uint32_t hops = 1;
  if (span.dimension.topology == Topology::switched) hops = 2;
  if (span.dimension.topology == Topology::ring) {
    hops = ring_path(span.coordinate(source), span.coordinate(destination), span.dimension.npus)
               .hops;
  }
  const double latency_ns = hops * span.dimension.latency_ns;
  return whole_ns(latency_ns + static_cast<double>(bytes) / span.bytes_per_ns);
}

void Network::send(const MessageKey& key, const Callback& done) {
  if (!rendezvous_) return send_now(key, done);
  const std::uint32_t index = postpone(key, done);
  receive_now({key.destination, key.source, key.tag + kRendezvousTag, kRendezvousBytes},
              {.kind = Callback::Kind::late_send, .rank = key.source, .index = index});
}

void Network::receive(const MessageKey& key, const Callback& done) {
  if (!rendezvous_) return receive_now(key, done);
  const std::uint32_t index = postpone(key, done);
  send_now({key.destination, key.source, key.tag + kRendezvousTag, kRendezvousBytes},
           {.kind = Callback::Kind::late_receive, .rank = key.destination, .index = index});
}

std::uint32_t Network::postpone(const MessageKey& key, const Callback& done) {
  const std::uint32_t index = allocate(postponed_, free_postponed_);
  postponed_[index] = {key, done};
  return index;
}

void Network::notify(const Callback& callback) {
  if (callback.kind == Callback::Kind::none) return;
  if (callback.kind != Callback::Kind::late_send && callback.kind != Callback::Kind::late_receive) {
    return completions_.complete(callback);
  }
  const Postponed postponed = postponed_[callback.index];
  free_postponed_.push_back(callback.index);
  if (callback.kind == Callback::Kind::late_send) return send_now(postponed.key, postponed.done);
  receive_now(postponed.key, postponed.done);
}

std::uint32_t Network::new_message(const MessageKey& key) {
  const std::uint32_t index = allocate(pool_, free_messages_);
  pool_[index].key = key;
  pool_[index].at = key.source;
  return index;
}

std::uint32_t Network::take(const MessageKey& key, bool has_send) {
  Waiting* const waiting = waiting_.find(key);
  if (waiting == nullptr || pool_[waiting->first].has_send != has_send) return kNone;
  const std::uint32_t index = waiting->first;
  waiting->first = pool_[index].next;
  if (waiting->first == kNone) waiting_.erase(key);
  pool_[index].next = kNone;
  return index;
}

void Network::put(std::uint32_t message) {
  const MessageKey& key = pool_[message].key;
  if (Waiting* const waiting = waiting_.find(key)) {
    pool_[waiting->last].next = message;
    waiting->last = message;
  } else {
    waiting_.insert(key, {message, message});
  }
}

void Network::send_now(const MessageKey& key, const Callback& done) {
  ++messages_sent_;
  std::uint32_t index = take(key, false);
  if (index == kNone) {
    index = new_message(key);
    pool_[index].has_send = true;
    put(index);
  }
  pool_[index].has_send = true;
  pool_[index].sent = done;
  if (congestion_aware_) return forward(index);
  events_.push(sum_to_end(events_.now(), delay_ns(key.source, key.destination, key.bytes)),
               {Event::Kind::hop, index});
}

void Network::receive_now(const MessageKey& key, const Callback& done) {
  std::uint32_t index = take(key, true);
  if (index == kNone) {
    index = new_message(key);
    pool_[index].has_receive = true;
    pool_[index].received = done;
    return put(index);
  }
  pool_[index].has_receive = true;
  pool_[index].received = done;
  if (pool_[index].arrived) events_.push(events_.now(), {Event::Kind::late_receive, index});
}

void Network::late_receive(std::uint32_t message) {
  EXAWARP_CHECK(pool_[message].has_receive && pool_[message].arrived, message);
  const Callback received = pool_[message].received;
  free_messages_.push_back(message);
  notify(received);
}

void Network::arrive(std::uint32_t message) {
  EXAWARP_CHECK(pool_[message].has_send && !pool_[message].arrived, message);
  pool_[message].arrived = true;
  const Callback sent = pool_[message].sent;
  if (!pool_[message].has_receive) return notify(sent);
  const Callback received = pool_[message].received;
  free_messages_.push_back(message);
  notify(sent);
  notify(received);
}

void Network::hop(std::uint32_t message) {
  const Message& m = pool_[message];
  if (!congestion_aware_ || (m.at == m.key.destination && !m.at_switch)) return arrive(message);
  forward(message);
}

// The directed link that `message` crosses next, as a number: dimension, sort, from, to.
std::uint64_t Network::next_link(const Message& message, std::uint8_t& dimension) const {
  const auto link = [&](std::uint64_t sort, std::uint64_t from, std::uint64_t to) {
    return std::uint64_t{dimension} << 60 | sort << 58 | from << 29 | to;
  };
  if (message.at_switch) {
    dimension = message.dimension;
    return link(3, message.at, 0);
  }
  dimension = differing_dimension(message.at, message.key.destination);
  const Span& span = spans_[dimension];
  const std::uint32_t to = span.coordinate(message.key.destination);
  switch (span.dimension.topology) {
    case Topology::fully_connected: return link(0, message.at, to);
    case Topology::switched: return link(2, message.at, 0);
    case Topology::ring: break;
  }
  return link(1, message.at,
              ring_path(span.coordinate(message.at), to, span.dimension.npus).clockwise ? 1 : 0);
}

void Network::forward(std::uint32_t message) {
  Message& m = pool_[message];
  std::uint8_t d = 0;
  const std::uint64_t key = next_link(m, d);
  // Where it is after the link. At a switch, `at` already names the NPU the switch sends it to.
  const Span& span = spans_[d];
  const std::uint32_t n = span.dimension.npus;
  const std::uint32_t from = span.coordinate(m.at);
  const std::uint32_t to = span.coordinate(m.key.destination);
  if (m.at_switch) {
    m.at_switch = false;
  } else {
    std::uint32_t step = to;
    if (span.dimension.topology == Topology::ring) {
      step = (ring_path(from, to, n).clockwise ? from + 1 : from + n - 1) % n;
    }
    m.at = m.at - from * span.stride + step * span.stride;
    m.at_switch = span.dimension.topology == Topology::switched;
    m.dimension = d;
  }
  if (const std::uint32_t* busy = busy_.find(key)) {
    Link& link = links_[*busy];
    (link.first == kNone ? link.first : pool_[link.last].next_at_link) = message;
    link.last = message;
    return;
  }
  const std::uint32_t index = allocate(links_, free_links_);
  links_[index].key = key;
  links_[index].dimension = d;
  busy_.insert(key, index);
  cross(index, message);
}

void Network::cross(std::uint32_t link, std::uint32_t message) {
  const Span& span = spans_[links_[link].dimension];
  const double serialisation_ns =
      static_cast<double>(pool_[message].key.bytes) / span.bytes_per_ns;
  const Ns now = events_.now();
  events_.push(sum_to_end(now, whole_ns(span.dimension.latency_ns + serialisation_ns)),
               {Event::Kind::hop, message});
  events_.push(sum_to_end(now, whole_ns(serialisation_ns)), {Event::Kind::link_free, link});
}

void Network::link_free(std::uint32_t link) {
  Link& l = links_[link];
  if (l.first == kNone) {
    busy_.erase(l.key);
    free_links_.push_back(link);
    return;
  }
  const std::uint32_t message = l.first;
  l.first = pool_[message].next_at_link;
  pool_[message].next_at_link = kNone;
  cross(link, message);
}

}  // namespace exawarp::model::astra
