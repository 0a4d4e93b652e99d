// The rollback audit: a mode that finds every write which by-passed the context.
//
// An audited event is executed, undone at once, its LP compared with what it was before, byte by
// byte and by its description, and executed again; both executions must send and emit the same and
// leave the same state. A handler that writes a field directly leaves a byte behind, in the state
// or, where the description finds it, in a block of a container; one that reads the clock or a
// generator outside its LP does something else the second time.
#include <cstring>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/random.h"
#include "pdes/partition.h"

namespace exawarp::pdes {
namespace {

std::vector<std::byte> content_of(const LpType& type, LpSlot slot) {
  StateWriter writer;
  type.describe(state_of(slot.header), writer);
  return std::move(writer.bytes());
}

}  // namespace

bool Partition::is_audited(const Event& event) const {
  const std::uint64_t stream = core::stream_of(setup_.seed, key_of(event).origin, 0xa0d17);
  const auto draw = static_cast<std::uint64_t>(event.receive_time.ps);
  return core::unit_interval(core::random_bits(stream, draw)) < setup_.audit_probability;
}

// Of the newest record: what it sent, when, and where to; what it emitted.
std::uint64_t Partition::newest_output_hash() {
  core::Hasher hash;
  const std::uint64_t newest = history_.records.head() - 1;
  for (std::uint64_t i = history_.sent_begin(newest); i != history_.sent_end(newest); ++i) {
    const SentRef sent = history_.sent[i];
    if (!sent.is_remote()) {
      hash.word(digest_of(*sent.event()));
      continue;
    }
    const RemoteSend& remote = history_.remote[sent.index()];
    hash.word(static_cast<std::uint64_t>(remote.time.ps));
    hash.word((std::uint64_t{remote.destination.value} << 32) | remote.sequence);
  }
  for (auto extra = extras_.rbegin(); extra != extras_.rend() && extra->record == newest; ++extra) {
    if (extra->kind != Extra::Kind::emission) continue;
    const Emission& emission = extra->emission;
    for (const std::uint64_t word :
         {std::uint64_t{emission.channel}, emission.a, emission.b, emission.c})
      hash.word(word);
  }
  return hash.value();
}

void Partition::audit(Event* event, LpSlot slot) {
  const LpType& type = directory_.types()[slot.type];
  LpHeader& header = *slot.header;
  const auto* state = static_cast<const std::byte*>(state_of(slot.header));
  const std::vector<std::byte> before(state, state + type.state_bytes);
  const std::vector<std::byte> content_before = content_of(type, slot);
  const std::uint32_t sequence_before = header.sequence;

  execute_audited(event, slot);
  const std::uint64_t first_output = newest_output_hash();
  const std::vector<std::byte> first_content = content_of(type, slot);
  // These sends are about to be cancelled, so whether they were stragglers does not matter.
  for (Event* sent : suspects_) pending_.push(sent);
  suspects_.clear();
  undo_record(history_.records.head() - 1, header);
  trim_dead_head();
  ++header.incarnation;

  for (std::size_t i = 0; i < before.size(); ++i)
    EXAWARP_CHECK(state[i] == before[i], "rollback audit: a write by-passed the context", type.name,
                  i, event->destination.value, event->kind, event->receive_time.ps);
  EXAWARP_CHECK(content_of(type, slot) == content_before && header.sequence == sequence_before,
                "rollback audit: a container or the send count was not restored", type.name,
                event->destination.value, event->kind, event->receive_time.ps);

  execute_audited(event, slot);
  EXAWARP_CHECK(newest_output_hash() == first_output,
                "rollback audit: the second execution sent or emitted something else", type.name,
                event->destination.value, event->kind, event->receive_time.ps);
  EXAWARP_CHECK(content_of(type, slot) == first_content,
                "rollback audit: the second execution left another state", type.name,
                event->destination.value, event->kind, event->receive_time.ps);
  ++statistics_.audited_events;
}

}  // namespace exawarp::pdes
