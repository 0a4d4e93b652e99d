#include "pdes/mailbox.h"

namespace exawarp::pdes {

Mailboxes::Mailboxes(std::uint32_t locals, std::uint32_t ranks)
    : locals_(locals),
      ranks_(ranks),
      outgoing_(std::size_t{locals} * ranks),
      incoming_(locals) {
  if (locals <= kPairsMax) {
    for (auto& generation : generations_) generation.resize(std::size_t{locals} * locals);
    return;
  }
  for (auto& generation : on_demand_) {
    generation.by_sender.resize(locals);
    generation.by_receiver.resize(locals);
  }
}

Mailboxes::Box& Mailboxes::box_on_demand(std::uint32_t from, std::uint32_t to) {
  Sender& sender = on_demand_[epoch_ & 1].by_sender[from];
  const auto [at, is_new] = sender.boxes.try_emplace(to);
  if (is_new) sender.fresh.emplace_back(to, &at->second);
  return at->second;
}

// Receivers learn of new boxes here, where nobody reads or writes any.
void Mailboxes::next_epoch() {
  OnDemand& written = on_demand_[epoch_ & 1];
  for (Sender& sender : written.by_sender) {
    for (const auto& [to, box] : sender.fresh) written.by_receiver[to].push_back(box);
    sender.fresh.clear();
  }
  ++epoch_;
}

// Joined in the first box, which keeps its room.
std::span<const Event> Mailboxes::outgoing(std::uint32_t rank) {
  auto& all = outgoing_[rank].events;
  for (std::uint32_t from = 1; from < locals_; ++from) {
    auto& box = outgoing_[from * ranks_ + rank].events;
    all.insert(all.end(), box.begin(), box.end());
    box.clear();
  }
  return all;
}

void Mailboxes::clear_outgoing() {
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) outgoing_[rank].events.clear();
}

}  // namespace exawarp::pdes
