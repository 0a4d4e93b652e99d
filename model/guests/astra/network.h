// ASTRA-sim's analytical network: messages, their matching, and what they cost.
//
// Congestion-unaware: a message takes trunc(hops * latency + size / bandwidth) ns in the lowest
// dimension in which its ends differ, whatever else is under way.
// Congestion-aware: store and forward over directed links, each a FIFO; dimensions are crossed in
// ascending order (ASTRA-sim has one dimension only, where both agree).
//
// A send and a receive match when tag, source, destination and size agree, the k-th of each with
// the k-th of the other. Memory follows the messages in flight.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/random.h"
#include "model/guests/astra/config.h"
#include "model/guests/astra/event_queue.h"
#include "model/guests/astra/flat_map.h"

namespace exawarp::model::astra {

// Whom to tell that a send or a receive is done.
struct Callback {
  enum class Kind : std::uint8_t { none, stream, node, custom_node, late_send, late_receive };
  Kind kind = Kind::none;
  Rank rank = 0;
  std::uint32_t index = 0;  // stream or node
  std::uint32_t node = 0;   // custom_node: the node of stream `index`
};

class Completions {
 public:
  virtual void complete(const Callback& callback) = 0;

 protected:
  ~Completions() = default;
};

struct MessageKey {
  Rank source = 0, destination = 0;
  std::uint64_t tag = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const MessageKey&, const MessageKey&) = default;
};
constexpr std::uint64_t hash_of(const MessageKey& key) {
  const std::uint64_t ends = std::uint64_t{key.source} << 32 | key.destination;
  return core::mix64(core::mix64(ends) + 3 * key.tag + core::mix64(key.bytes));
}

class Network {
 public:
  // With `rendezvous` the receiver first sends a request of 8,192 B to the sender.
  Network(const NetworkConfig& config, bool rendezvous, EventQueue& events,
          Completions& completions);
  void send(const MessageKey& key, const Callback& done);
  void receive(const MessageKey& key, const Callback& done);
  // Handlers of the three kinds of events a network schedules.
  void hop(std::uint32_t message);
  void link_free(std::uint32_t link);
  void late_receive(std::uint32_t message);
  [[nodiscard]] std::uint64_t messages() const { return messages_sent_; }
  // Of an unaware message; exposed for tests.
  [[nodiscard]] Ns delay_ns(Rank source, Rank destination, std::uint64_t bytes) const;

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct Message {
    MessageKey key;
    Callback sent, received;
    std::uint32_t next = kNone;          // in the list of its key
    std::uint32_t next_at_link = kNone;  // in the list of its link
    Rank at = 0;                   // the NPU it is at or left last
    std::uint8_t dimension = 0;    // the switch of this dimension, where at_switch
    bool at_switch = false;
    bool has_send = false, has_receive = false, arrived = false;
  };
  struct Waiting {  // messages of one key with one of their two ends, oldest first
    std::uint32_t first = kNone, last = kNone;
  };
  struct Link {
    std::uint64_t key = 0;
    std::uint32_t first = kNone, last = kNone;  // messages that wait
    std::uint8_t dimension = 0;
  };
  struct Postponed {  // of a rendezvous
    MessageKey key;
    Callback done;
  };
  struct Span {  // of a dimension
    Dimension dimension;
    double bytes_per_ns = 0;
    std::uint32_t stride = 1;
    [[nodiscard]] std::uint32_t coordinate(Rank rank) const {
      return rank / stride % dimension.npus;
    }
  };

  void send_now(const MessageKey& key, const Callback& done);
  void receive_now(const MessageKey& key, const Callback& done);
  std::uint32_t postpone(const MessageKey& key, const Callback& done);
  void notify(const Callback& callback);
  std::uint32_t new_message(const MessageKey& key);
  // The oldest message of `key` that lacks the other end, taken from its list, or kNone.
  std::uint32_t take(const MessageKey& key, bool has_send);
  void put(std::uint32_t message);
  void arrive(std::uint32_t message);
  void forward(std::uint32_t message);
  [[nodiscard]] std::uint64_t next_link(const Message& message, std::uint8_t& dimension) const;
  void cross(std::uint32_t link, std::uint32_t message);
  [[nodiscard]] std::uint8_t differing_dimension(Rank a, Rank b) const;

  std::vector<Span> spans_;
  bool congestion_aware_;
  bool rendezvous_;
  EventQueue& events_;
  Completions& completions_;
  std::vector<Message> pool_;
  std::vector<std::uint32_t> free_messages_;
  FlatMap<MessageKey, Waiting> waiting_;
  std::vector<Link> links_;
  std::vector<std::uint32_t> free_links_;
  FlatMap<std::uint64_t, std::uint32_t> busy_;  // link key -> links_
  std::vector<Postponed> postponed_;
  std::vector<std::uint32_t> free_postponed_;
  std::uint64_t messages_sent_ = 0;
};

}  // namespace exawarp::model::astra
