#include "pdes/mailbox.h"

namespace exawarp::pdes {

Mailboxes::Mailboxes(std::uint32_t locals, std::uint32_t ranks)
    : locals_(locals),
      ranks_(ranks),
      outgoing_(std::size_t{locals} * ranks),
      incoming_(locals) {
  for (auto& generation : generations_) generation.resize(std::size_t{locals} * locals);
}

std::vector<Event> Mailboxes::take_outgoing(std::uint32_t rank) {
  std::vector<Event> all;
  for (std::uint32_t from = 0; from < locals_; ++from) {
    auto& box = outgoing_[from * ranks_ + rank];
    if (all.empty()) {
      all.swap(box);
    } else {
      all.insert(all.end(), box.begin(), box.end());
    }
    box.clear();
  }
  return all;
}

}  // namespace exawarp::pdes
