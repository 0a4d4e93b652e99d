// When each message was sent and received: the engine's sink for what senders and receivers emit
// where ClusterOptions::trace_messages is set. Records count when their event commits, and no state
// has a part in them, so digests do not change.
//
//   MessageTrace trace(partitions, &next);   // the engine's sink
//   trace.combine(transport);                // after the run; collective
//   for (const MessageTrace::Row& row : trace.rows()) ...
//
// Messages between operations of a program are known by their tag: the n-th that one device sent
// another with a tag is the n-th that came, which is how receives find them. Those that go packet
// by packet have numbers.
//
// Memory: 48 bytes a message and end. Thread safety: deliver() as EmissionSink says; everything
// else after the run.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ids.h"
#include "core/time.h"
#include "model/network/packet/packet.h"
#include "pdes/context.h"
#include "pdes/emission.h"

namespace exawarp::pdes {
class Transport;
}

namespace exawarp::model {

constexpr std::uint32_t kMessageChannel = 5;  // of emissions

class MessageTrace final : public pdes::EmissionSink {
 public:
  struct Row {
    core::Time sent;      // handed to the interface
    core::Time received;  // all of it; negative: it was not
    std::uint32_t source = 0, destination = 0;
    std::uint64_t bytes = 0;
    std::uint32_t tag = 0;  // of a message by packets: its number at the sender
    bool by_packets = false;
    std::uint64_t carried = 0;  // by packets: the last word of what it carries
  };

  // What is no message's goes to `next`, if there is one.
  MessageTrace(std::uint32_t partitions, pdes::EmissionSink* next)
      : parts_(partitions), next_(next) {}

  // For handlers: of a message with a tag.
  static void sent(pdes::Context& ctx, core::DeviceId to, std::uint32_t tag, std::uint64_t bytes);
  static void received(pdes::Context& ctx, core::DeviceId from, std::uint32_t tag);
  // Of one by packets; `number`: at its sender.
  static void sent(pdes::Context& ctx, core::DeviceId to, std::uint32_t number,
                   std::uint64_t bytes, const MessageBody& body);
  static void received_packets(pdes::Context& ctx, core::DeviceId from, std::uint32_t number);

  void deliver(core::PartitionId partition, const pdes::Emission& emission) override;
  // Without what `next` has.
  [[nodiscard]] std::vector<std::byte> saved() const override;
  void restore(std::span<const std::byte> saved) override;

  // Gathers what all ranks have on rank 0, and joins both ends there; collective.
  void combine(pdes::Transport& transport);
  // On rank 0, after combine(): by time of sending, source and order there.
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }

 private:
  enum class End : std::uint64_t { sent, received, sent_by_packets, received_by_packets };
  struct Record {
    std::uint32_t lp;
    std::uint32_t ordinal;  // with the next two: the order of what one LP emits
    std::int64_t at_ps;
    std::uint64_t origin;
    std::uint64_t peer_and_tag;
    std::uint64_t end_and_bytes;
    std::uint64_t carried;
    [[nodiscard]] End end() const { return static_cast<End>(end_and_bytes >> kEndShift); }
    [[nodiscard]] bool is_sent() const {
      return end() == End::sent || end() == End::sent_by_packets;
    }
  };
  static constexpr int kEndShift = 62;

  static void emit(pdes::Context& ctx, End end, core::DeviceId peer, std::uint32_t tag,
                   std::uint64_t bytes, std::uint64_t carried);

  std::vector<std::vector<Record>> parts_;
  pdes::EmissionSink* next_;
  std::vector<Row> rows_;
};

}  // namespace exawarp::model
