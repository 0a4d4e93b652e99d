#include "model/network/message_trace.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "core/bytes.h"
#include "core/check.h"
#include "pdes/transport.h"

namespace exawarp::model {

void MessageTrace::emit(pdes::Context& ctx, End end, core::DeviceId peer, std::uint32_t tag,
                        std::uint64_t bytes, std::uint64_t carried) {
  ctx.emit(kMessageChannel, std::uint64_t{peer.value} << 32 | tag,
           static_cast<std::uint64_t>(end) << kEndShift | bytes, carried);
}

void MessageTrace::sent(pdes::Context& ctx, core::DeviceId to, std::uint32_t tag,
                        std::uint64_t bytes) {
  emit(ctx, End::sent, to, tag, bytes, 0);
}

void MessageTrace::received(pdes::Context& ctx, core::DeviceId from, std::uint32_t tag) {
  emit(ctx, End::received, from, tag, 0, 0);
}

void MessageTrace::sent(pdes::Context& ctx, core::DeviceId to, std::uint32_t number,
                        std::uint64_t bytes, const MessageBody& body) {
  emit(ctx, End::sent_by_packets, to, number, bytes, body.words[2]);
}

void MessageTrace::received_packets(pdes::Context& ctx, core::DeviceId from,
                                    std::uint32_t number) {
  emit(ctx, End::received_by_packets, from, number, 0, 0);
}

void MessageTrace::deliver(core::PartitionId partition, const pdes::Emission& e) {
  if (e.channel != kMessageChannel) {
    if (next_ != nullptr) next_->deliver(partition, e);
    return;
  }
  parts_[partition.value].push_back(
      {e.lp.value, e.ordinal, e.key.time.ps, e.key.origin, e.a, e.b, e.c});
}

std::vector<std::byte> MessageTrace::saved() const {
  std::vector<std::byte> bytes;
  for (const std::vector<Record>& part : parts_) {
    for (const Record& record : part) core::append_bytes(bytes, record);
  }
  return bytes;
}

void MessageTrace::restore(std::span<const std::byte> saved) {
  core::ByteReader reader(saved);
  while (!reader.is_at_end()) parts_.front().push_back(reader.next<Record>());
}

void MessageTrace::combine(pdes::Transport& transport) {
  std::vector<Record> mine;
  for (std::vector<Record>& part : parts_) {
    mine.insert(mine.end(), part.begin(), part.end());
    part = {};
  }
  const std::vector<std::byte> all = transport.gather(std::as_bytes(std::span(mine)));
  EXAWARP_CHECK(all.size() % sizeof(Record) == 0, all.size());
  std::vector<Record> records(all.size() / sizeof(Record));
  if (!all.empty()) std::memcpy(records.data(), all.data(), all.size());
  std::ranges::sort(records, [](const Record& a, const Record& b) {
    return std::tie(a.at_ps, a.origin, a.ordinal, a.lp) <
           std::tie(b.at_ps, b.origin, b.ordinal, b.lp);
  });
  struct Between {  // two devices, with one tag
    std::vector<std::size_t> sent;  // indices of rows
    std::size_t received = 0;       // so many of them
  };
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool>, Between> known;
  for (const Record& r : records) {
    const auto peer = static_cast<std::uint32_t>(r.peer_and_tag >> 32);
    const auto tag = static_cast<std::uint32_t>(r.peer_and_tag);
    const bool by_packets = r.end() >= End::sent_by_packets;
    const std::uint32_t source = r.is_sent() ? r.lp : peer;
    const std::uint32_t destination = r.is_sent() ? peer : r.lp;
    Between& between = known[{source, destination, tag, by_packets}];
    if (r.is_sent()) {
      between.sent.push_back(rows_.size());
      rows_.push_back({core::Time{r.at_ps}, core::Time{-1}, source, destination,
                       r.end_and_bytes & ((std::uint64_t{1} << kEndShift) - 1), tag, by_packets,
                       r.carried});
      continue;
    }
    // From a checkpoint that was tampered with, more may have come than were sent.
    if (between.received == between.sent.size()) continue;
    rows_[between.sent[between.received++]].received = core::Time{r.at_ps};
  }
}

}  // namespace exawarp::model
