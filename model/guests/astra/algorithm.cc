// One phase of a chunk as packets (astra_compat: "endpoint model").
//
// A packet waits the endpoint delay, and its reduction where it carries one; then its send and the
// receive that matches are issued together, and each receive inserts the next packet. A phase of s
// sends thus inserts `parallel` packets more than it sends; when those are ready too it is over,
// which is the endpoint delay after the last receive.
#include <bit>

#include "model/guests/astra/simulation.h"

namespace exawarp::model::astra {
namespace {

constexpr std::uint64_t kCollectiveTag = 500'000'000;
constexpr Ns kListedRingDelayNs = 10;  // a listed ring is a "local" one, with a fixed delay

std::uint32_t log2_of(std::uint32_t n) { return static_cast<std::uint32_t>(std::bit_width(n) - 1); }

}  // namespace

TreePlace tree_place(std::uint32_t size, std::uint32_t position, bool second_tree) {
  // A perfect in-order tree over size - 1 positions hangs as the only child below the root, which
  // is the last position, or in the second tree the first.
  const std::uint32_t root = second_tree ? 0 : size - 1;
  const std::uint32_t base = second_tree ? 1 : 0;
  const std::uint32_t top = base + size / 2 - 1;
  TreePlace place;
  if (position == root) {
    place.left = top;
    return place;
  }
  const std::uint32_t v = position - base + 1;  // 1 .. size - 1: its lowest bit is its height
  const std::uint32_t bit = v & (~v + 1);
  if (bit > 1) {
    place.left = position - bit / 2;
    place.right = position + bit / 2;
  }
  place.parent = position == top ? root : (v & (2 * bit)) != 0 ? position - bit : position + bit;
  return place;
}

Ns Simulation::reduction_ns(std::uint64_t bytes) const {
  const double bytes_per_s = job_.system.local_memory_gb_per_s * 1e9;
  // Two operands are read, one is written.
  return product_to_end(3, whole_ns(static_cast<double>(bytes) / bytes_per_s * 1e9));
}

void Simulation::start_phase(std::uint32_t stream) {
  Stream& s = streams_[stream];
  const Phase& phase = s.phases[s.phase];
  s.initialised = true;
  s.parallel = 1;
  s.free_packets = s.received = 0;
  s.inserted = s.sent = s.plain_left = s.reducing_left = 0;
  s.toggle = false;
  s.tree = TreeState::begin;
  s.tree_reductions = 0;
  if (phase.algorithm == Algorithm::custom) return start_custom(stream);
  if (phase.algorithm == Algorithm::double_binary_tree) return tree_step(stream, false);

  const std::uint32_t n = phase.ring.size;
  const bool all_reduce = phase.kind == CollectiveKind::all_reduce;
  const bool whole = phase.kind == CollectiveKind::all_gather;
  if (phase.algorithm == Algorithm::halving_doubling) {
    s.sends_left = std::uint64_t{all_reduce ? 2u : 1u} * log2_of(n);
    s.message_bytes = whole ? phase.bytes : phase.bytes / 2;
    s.distance = whole ? n / 2 : 1;
    s.distance_grows = !whole;
  } else {
    s.sends_left = std::uint64_t{all_reduce ? 2u : 1u} * (n - 1);
    s.message_bytes = whole ? phase.bytes : phase.bytes / n;
    if (phase.algorithm == Algorithm::direct) {
      s.parallel = phase.window == 0 ? n - 1 : std::min(phase.window, n - 1);
    } else if (phase.kind == CollectiveKind::all_to_all) {
      s.sends_left = std::uint64_t{n} * (n - 1) / 2;
    }
  }
  s.sends_at_middle = n - 1;
  for (std::uint32_t i = 0; i < s.parallel; ++i) insert_packet(stream);
}

void Simulation::insert_packet(std::uint32_t stream) {
  Stream& s = streams_[stream];
  const Phase& phase = s.phases[s.phase];
  if (s.plain_left == 0 && s.reducing_left == 0) {
    s.plain_left = s.parallel;
    if (phase.algorithm == Algorithm::halving_doubling) {
      s.reducing_left = log2_of(phase.ring.size) - 1;
    } else if (phase.algorithm == Algorithm::direct && phase.ring.group == nullptr) {
      s.reducing_left = s.parallel;
    } else {
      s.reducing_left = std::uint64_t{phase.ring.size - 1} * s.parallel;
    }
    s.toggle = !s.toggle;
  }
  Packet packet{.bytes = s.message_bytes};
  if (s.plain_left > 0) {
    --s.plain_left;
  } else {
    packet.trip = {.to_accelerator = true, .send_back = s.reducing_left > s.parallel};
    --s.reducing_left;
    packet.reduces = phase.kind == CollectiveKind::reduce_scatter ||
                     (phase.kind == CollectiveKind::all_reduce && s.toggle);
  }
  ++s.inserted;
  s.packet_bytes = s.message_bytes;
  s.packet_distance = s.distance;
  if (phase.algorithm == Algorithm::halving_doubling) {
    const auto scale = [&s] {
      s.distance = s.distance_grows ? 2 * s.distance : s.distance / 2;
      s.message_bytes = s.distance_grows ? s.message_bytes / 2 : 2 * s.message_bytes;
    };
    scale();
    if (s.distance == phase.ring.size && phase.kind == CollectiveKind::all_reduce) {
      s.distance_grows = false;
      scale();
    }
  }
  delay_packet(stream, packet);
}

void Simulation::delay_packet(std::uint32_t stream, const Packet& packet) {
  const Stream& s = streams_[stream];
  const Phase& phase = s.phases[s.phase];
  const bool listed =
      phase.ring.group != nullptr && phase.algorithm != Algorithm::double_binary_tree;
  const Timer timer{.kind = Timer::Kind::packet, .reduces = packet.reduces, .index = stream,
                    .argument = packet.bytes};
  if (bus_ && !listed) return bus_->carry(s.rank, packet.trip, timer);
  timers_.start(s.rank, listed ? kListedRingDelayNs : job_.system.endpoint_delay_ns, timer);
}

void Simulation::packet_ready(std::uint32_t stream) {
  Stream& s = streams_[stream];
  const Phase& phase = s.phases[s.phase];
  if (phase.algorithm == Algorithm::double_binary_tree) return tree_step(stream, false);
  ++s.free_packets;
  // The second half of a direct all-reduce begins when every partner's first half is here.
  const bool second_half = phase.algorithm == Algorithm::direct &&
                           phase.kind == CollectiveKind::all_reduce &&
                           s.sends_left <= s.sends_at_middle;
  if (second_half) {
    if (s.received < s.sends_at_middle) return;
    for (std::uint32_t i = 0; i < s.parallel && send_packet(stream); ++i) {
    }
  } else {
    send_packet(stream);
  }
  end_if_done(stream);
}

void Simulation::packet_received(std::uint32_t stream) {
  Stream& s = streams_[stream];
  if (s.phases[s.phase].algorithm == Algorithm::double_binary_tree) return tree_step(stream, true);
  ++s.received;
  insert_packet(stream);
}

// Sends the oldest packet and posts the receive that goes with it; false where there is none to
// send.
bool Simulation::send_packet(std::uint32_t stream) {
  Stream& s = streams_[stream];
  const Phase& phase = s.phases[s.phase];
  if (s.sent == s.inserted || s.sends_left == 0 || s.free_packets == 0) return false;
  std::uint32_t to = 0, from = 0;
  std::uint64_t bytes = s.message_bytes;
  if (phase.algorithm == Algorithm::halving_doubling) {
    to = from = phase.ring.index ^ s.packet_distance;
    bytes = s.packet_bytes;
  } else {
    std::uint32_t distance = 1;
    if (phase.algorithm == Algorithm::direct) {
      distance += static_cast<std::uint32_t>(s.sent % (phase.ring.size - 1));
    }
    to = phase.ring.ahead(distance);
    from = phase.ring.behind(distance);
    if (phase.anticlockwise) std::swap(to, from);
  }
  --s.sends_left;
  --s.free_packets;
  ++s.sent;
  const Rank rank = s.rank;
  const std::uint64_t tag = kCollectiveTag + s.id % kCollectiveTag;
  const Rank receiver = phase.ring.member(to), sender = phase.ring.member(from);
  network_.send({rank, receiver, tag, bytes}, {});
  network_.receive({sender, rank, tag, bytes},
                   {.kind = Callback::Kind::stream, .rank = rank, .index = stream});
  return true;
}

void Simulation::end_if_done(std::uint32_t stream) {
  const Stream& s = streams_[stream];
  if (s.sends_left == 0 && s.free_packets == s.parallel) next_phase(stream);
}

void Simulation::tree_send(std::uint32_t stream, std::uint32_t position) {
  const Stream& s = streams_[stream];
  const Phase& phase = s.phases[s.phase];
  network_.send({s.rank, phase.ring.member(position), kCollectiveTag + s.id % kCollectiveTag,
                 phase.bytes},
                {});
}

void Simulation::tree_receive(std::uint32_t stream, std::uint32_t position) {
  const Stream& s = streams_[stream];
  const Phase& phase = s.phases[s.phase];
  network_.receive({phase.ring.member(position), s.rank, kCollectiveTag + s.id % kCollectiveTag,
                    phase.bytes},
                   {.kind = Callback::Kind::stream, .rank = s.rank, .index = stream});
}

// The whole chunk moves up the tree, reduced on its way, and down again. `received`: a message
// came; otherwise the phase starts or a packet's delay is over.
void Simulation::tree_step(std::uint32_t stream, bool received) {
  Stream& s = streams_[stream];
  const Phase& phase = s.phases[s.phase];
  const TreePlace place = tree_place(phase.ring.size, phase.ring.index, phase.second_tree);
  const bool root = place.parent == TreePlace::kNone;
  const bool leaf = place.left == TreePlace::kNone;
  const bool inner = !root && !leaf;
  // A packet for the accelerator, reduced there or not.
  const auto reduce = [&](bool reduces, bool send_back) {
    delay_packet(stream, {reduces, phase.bytes, {.to_accelerator = true, .send_back = send_back}});
  };
  switch (s.tree) {
    case TreeState::begin:
      if (leaf) {
        s.tree = TreeState::to_parent;
        return delay_packet(stream, {.bytes = phase.bytes});
      }
      s.tree = root ? TreeState::one_child_left : TreeState::two_children_left;
      tree_receive(stream, place.left);
      if (inner) tree_receive(stream, place.right);
      return;
    case TreeState::two_children_left:
      if (!received) return;
      s.tree = TreeState::one_child_left;
      return reduce(true, false);
    case TreeState::one_child_left:
      if (received) {
        s.tree = root ? TreeState::to_children : TreeState::to_parent;
        return reduce(true, true);
      }
      ++s.tree_reductions;  // of the first child's data, before the second's came
      return;
    case TreeState::to_parent:
      if (inner && s.tree_reductions++ < 1) return;  // the other reduction is still to end
      s.tree = TreeState::from_parent;
      tree_send(stream, place.parent);
      tree_receive(stream, place.parent);
      return;
    case TreeState::from_parent:
      s.tree = leaf ? TreeState::leaf_end : TreeState::to_children;
      return reduce(inner, inner);
    case TreeState::to_children:
      tree_send(stream, place.left);
      if (inner) tree_send(stream, place.right);
      return next_phase(stream);
    case TreeState::leaf_end: return next_phase(stream);
  }
}

}  // namespace exawarp::model::astra
