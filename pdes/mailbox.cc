#include "pdes/mailbox.h"

namespace exawarp::pdes {

Mailboxes::Mailboxes(std::uint32_t locals, std::uint32_t ranks)
    : locals_(locals),
      ranks_(ranks),
      outgoing_(std::size_t{locals} * ranks),
      incoming_(locals) {
  for (auto& generation : generations_) generation.resize(std::size_t{locals} * locals);
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
