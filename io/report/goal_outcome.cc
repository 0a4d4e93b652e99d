#include "io/report/goal_outcome.h"

#include <fmt/core.h>

#include "pdes/transport.h"

namespace exawarp::io {
namespace {

using model::goal::kAny;
using model::goal::QueueEntry;
using model::goal::Schedule;

std::string or_any(std::uint32_t value) {
  return value == kAny ? "any" : std::to_string(value);
}

}  // namespace

GoalOutcome::GoalOutcome(const model::goal::LogGops& model)
    : model_(&model), finish_(model.schedule().ranks(), 0), totals_(3, 0) {}

void GoalOutcome::note(std::uint32_t rank, const QueueEntry& entry, bool message) {
  ++totals_[2];
  if (findings_.size() >= kFindingsMax) return;
  const Schedule& schedule = model_->schedule();
  if (message) {
    const auto send = schedule.op(entry.source, entry.op);
    findings_.push_back(fmt::format("rank {}: operation {} (send {} bytes to rank {}, tag {}) was "
                                    "never met by a receive",
                                    entry.source, entry.op, send.size, rank, or_any(send.tag)));
  } else {
    const auto receive = schedule.op(rank, entry.op);
    findings_.push_back(fmt::format("rank {}: operation {} (receive {} bytes from rank {}, tag "
                                    "{}) was never met by a message",
                                    rank, entry.op, receive.size, or_any(receive.peer),
                                    or_any(receive.tag)));
  }
}

void GoalOutcome::add(core::LpId lp, const model::goal::Host::State& state) {
  finish_[lp.value] = static_cast<std::uint64_t>(model_->finish(state));
  totals_[0] += state.messages;
  totals_[1] += model_->schedule().op_count(lp.value) - state.ended;
  state.posted.for_each([&](const QueueEntry& entry) { note(lp.value, entry, false); });
  state.unexpected.for_each([&](const QueueEntry& entry) { note(lp.value, entry, true); });
}

void GoalOutcome::combine(pdes::Transport& transport) {
  transport.all_reduce_sum(finish_);
  transport.all_reduce_sum(totals_);
  std::vector<std::byte> lines;
  for (const std::string& finding : findings_) {
    const auto* text = reinterpret_cast<const std::byte*>(finding.data());
    lines.insert(lines.end(), text, text + finding.size());
    lines.push_back(std::byte{'\n'});
  }
  const std::vector<std::byte> all = transport.gather(lines);
  findings_.clear();
  std::string line;
  for (const std::byte byte : all) {
    if (byte != std::byte{'\n'}) {
      line += static_cast<char>(byte);
    } else {
      if (findings_.size() < kFindingsMax) findings_.push_back(line);
      line.clear();
    }
  }
}

}  // namespace exawarp::io
