// A partition's share of a cut, and how it goes on from one.
//
//   chunk   counts of LPs and events, then the LPs: CutLp and the bytes of the state's description,
//           then the events
#include "pdes/cut.h"

#include <algorithm>
#include <cstring>

#include "core/bytes.h"
#include "core/check.h"
#include "core/error.h"
#include "pdes/partition.h"
#include "pdes/whereabouts.h"

namespace exawarp::pdes {
namespace {

constexpr std::size_t kChunkLps = 1024;
constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

struct CutHead {
  std::uint32_t lps = 0;
  std::uint32_t events = 0;
};

struct CutLp {
  std::uint32_t id = 0;
  std::uint32_t type = 0;
  std::uint32_t sequence = 0;
  std::uint32_t bytes = 0;  // of the description, which follows
};

struct CutEvent {
  std::int64_t receive_time_ps = 0;
  std::uint32_t source = 0;
  std::uint32_t sequence = 0;
  std::uint32_t destination = 0;
  std::uint32_t kind = 0;
  Payload payload{};
};

CutEvent cut_event_of(const Event& event) {
  return {.receive_time_ps = event.receive_time.ps,
          .source = event.source.value,
          .sequence = event.sequence,
          .destination = event.destination.value,
          .kind = event.kind,
          .payload = event.payload};
}

// Chunks of one partition, LP by LP in ascending order; `events` are ascending by destination.
class ChunkWriter {
 public:
  ChunkWriter(std::span<const LpType> types, std::span<Event* const> events,
              std::vector<CutChunk>& chunks)
      : types_(types), events_(events), chunks_(chunks) {}

  void add(LpId lp, LpSlot slot) {
    if (head_.lps == 0) first_ = lp;
    last_ = lp;
    StateWriter state;
    types_[slot.type].describe(state_of(slot.header), state);
    core::append_bytes(bytes_, CutLp{.id = lp.value,
                         .type = slot.type,
                         .sequence = slot.header->sequence,
                         .bytes = static_cast<std::uint32_t>(state.bytes().size())});
    bytes_.insert(bytes_.end(), state.bytes().begin(), state.bytes().end());
    if (++head_.lps == kChunkLps || bytes_.size() >= kChunkBytes) close();
  }
  void close() {
    if (head_.lps == 0) return;
    while (!events_.empty() && events_.front()->destination <= last_) {
      core::append_bytes(bytes_, cut_event_of(*events_.front()));
      events_ = events_.subspan(1);
      ++head_.events;
    }
    std::memcpy(bytes_.data(), &head_, sizeof head_);
    chunks_.push_back({first_, last_, std::move(bytes_)});
    head_ = {};
    bytes_.assign(sizeof head_, std::byte{0});
  }

 private:
  std::span<const LpType> types_;
  std::span<Event* const> events_;
  std::vector<CutChunk>& chunks_;
  CutHead head_;
  LpId first_, last_;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(sizeof(CutHead));
};

}  // namespace

void Partition::settle_at(Time gvt) {
  const AtWork at_work(*this);
  gvt_ = gvt;
  mailboxes_.drain(setup_.id.value - setup_.first_local,
                   [this](const Event& event) { take_in(event); });
  if (setup_.records_history) give_up_beyond(gvt - Time{1});
}

std::vector<CutChunk> Partition::cut() {
  const AtWork at_work(*this);
  mailboxes_.drain(setup_.id.value - setup_.first_local,
                   [this](const Event& event) { take_in(event); });
  EXAWARP_CHECK(history_.records.size() == 0, history_.records.size());
  std::vector<Event*> events;
  while (Event* event = next_left()) events.push_back(event);
  EXAWARP_CHECK(antis_pending_ == 0, antis_pending_);
  pending_ = PendingSet{};
  for (Event* event : events) pending_.push(event);
  std::ranges::stable_sort(events, {}, [](const Event* event) { return event->destination; });
  std::vector<CutChunk> chunks;
  ChunkWriter writer(directory_.types(), events, chunks);
  directory_.visit_partition(setup_.id.value, [&](LpId lp, LpSlot slot) { writer.add(lp, slot); });
  writer.close();
  return chunks;
}

void Partition::restore(LpSlot slot, std::uint32_t sequence, std::span<const std::byte> state) {
  StateReader reader(state, blocks_);
  directory_.types()[slot.type].describe(state_of(slot.header), reader);
  if (!reader.is_at_end()) throw core::InputError("has states that are longer than this model's");
  slot.header->sequence = sequence;
}

void Partition::restore(const Event& event) {
  Event* mine = events_.allocate();
  *mine = event;
  pending_.push(mine);
}

void Partition::go_on() {
  least_ = pending_.least();
}

CutContent content_of(std::span<const std::byte> bytes) {
  core::ByteReader chunk(bytes);
  const auto head = chunk.next<CutHead>();
  CutContent out;
  for (std::uint32_t i = 0; i < head.lps; ++i) {
    const auto lp = chunk.next<CutLp>();
    out.lps.push_back({{lp.id}, lp.type, lp.sequence, chunk.take(lp.bytes)});
  }
  for (std::uint32_t i = 0; i < head.events; ++i) {
    const auto from = chunk.next<CutEvent>();
    Event& event = out.events.emplace_back();
    event.receive_time = Time{from.receive_time_ps};
    event.source = {from.source};
    event.sequence = from.sequence;
    event.destination = {from.destination};
    event.kind = static_cast<EventKind>(from.kind);
    event.payload = from.payload;
  }
  if (!chunk.is_at_end()) throw core::InputError("is longer than it says");
  return out;
}

std::uint64_t restore_chunk(std::span<const std::byte> bytes, const Directory& directory,
                            const std::function<Partition*(LpId)>& owner) {
  const CutContent content = content_of(bytes);
  std::uint64_t restored = 0;
  for (const CutContent::Lp& lp : content.lps) {
    Partition* const partition = owner(lp.id);
    if (partition == nullptr) continue;
    const LpSlot slot = directory.find(lp.id);
    if (slot.type != lp.type) throw core::InputError("is of another model");
    partition->restore(slot, lp.sequence, lp.state);
    ++restored;
  }
  for (const Event& event : content.events) {
    if (Partition* const partition = owner(event.destination)) partition->restore(event);
  }
  return restored;
}

}  // namespace exawarp::pdes
