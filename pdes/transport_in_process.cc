// Ranks meet under one mutex: each puts its part into the hub, the last to arrive combines the
// parts, and all read the result. What several ranks sent may be shuffled, by a seed.
#include "pdes/transport_in_process.h"

#include <algorithm>

#include "core/random.h"

namespace exawarp::pdes {

InProcessHub::InProcessHub(std::uint32_t ranks, std::uint64_t chaos_seed)
    : ranks_(ranks),
      chaos_(chaos_seed),
      letters_(ranks),
      votes_(ranks),
      words_(ranks),
      bytes_(ranks) {}
InProcessHub::~InProcessHub() = default;

template <class Combine>
void InProcessHub::meet(std::unique_lock<std::mutex>& lock, Combine combine) {
  const std::uint64_t meeting = meeting_;
  if (++arrived_ == ranks_) {
    arrived_ = 0;
    combine();
    ++meeting_;
    all_here_.notify_all();
    return;
  }
  all_here_.wait(lock, [&] { return meeting_ != meeting; });
}

class InProcessTransport final : public Transport {
 public:
  InProcessTransport(InProcessHub& hub, core::RankId rank) : hub_(hub), rank_(rank) {}

  [[nodiscard]] core::RankId rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t ranks() const override { return hub_.ranks_; }

  GvtVote exchange(Outgoing outgoing, const GvtVote& vote, const EventReceiver& receive) override {
    std::vector<std::vector<Event>> mine;
    GvtVote outcome;
    {
      std::unique_lock lock(hub_.mutex_);
      hub_.votes_[rank_.value] = vote;
      for (std::uint32_t to = 0; to < outgoing.size(); ++to)
        if (!outgoing[to].empty()) post(to, outgoing[to]);
      hub_.meet(lock, [this] { hub_.outcome_ = combined_votes(); });
      outcome = hub_.outcome_;
      mine.swap(hub_.letters_[rank_.value]);
      // Nobody may vote or post again before all have read.
      hub_.meet(lock, [] {});
    }
    for (const auto& letter : mine) receive(letter);
    return outcome;
  }

  void all_reduce_sum(std::span<std::uint64_t> values) override {
    reduce(values, [](std::uint64_t a, std::uint64_t b) { return a + b; });
  }
  void all_reduce_max(std::span<std::uint64_t> values) override {
    reduce(values, [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
  }

  std::vector<std::byte> gather(std::span<const std::byte> bytes) override {
    std::unique_lock lock(hub_.mutex_);
    hub_.bytes_[rank_.value].assign(bytes.begin(), bytes.end());
    hub_.meet(lock, [] {});
    std::vector<std::byte> all;
    if (rank_.value == 0)
      for (const auto& part : hub_.bytes_) all.insert(all.end(), part.begin(), part.end());
    hub_.meet(lock, [] {});
    return all;
  }

  void barrier() override {
    std::unique_lock lock(hub_.mutex_);
    hub_.meet(lock, [] {});
  }

 private:
  // Under the hub's lock.
  void post(std::uint32_t to, std::span<const Event> events) {
    auto& box = hub_.letters_[to];
    const std::uint64_t place =
        hub_.chaos_ == 0 ? box.size()
                         : core::random_bits(hub_.chaos_, hub_.draws_++) % (box.size() + 1);
    box.emplace(box.begin() + static_cast<std::ptrdiff_t>(place), events.begin(), events.end());
  }

  [[nodiscard]] GvtVote combined_votes() const {
    GvtVote all = hub_.votes_[0];
    for (std::uint32_t r = 1; r < hub_.ranks_; ++r) all = combined(all, hub_.votes_[r]);
    return all;
  }

  template <class Op>
  void reduce(std::span<std::uint64_t> values, Op op) {
    std::unique_lock lock(hub_.mutex_);
    hub_.words_[rank_.value].assign(values.begin(), values.end());
    hub_.meet(lock, [&] {
      hub_.combined_ = hub_.words_[0];
      for (std::uint32_t r = 1; r < hub_.ranks_; ++r)
        std::transform(hub_.combined_.begin(), hub_.combined_.end(), hub_.words_[r].begin(),
                       hub_.combined_.begin(), op);
    });
    std::copy(hub_.combined_.begin(), hub_.combined_.end(), values.begin());
    hub_.meet(lock, [] {});
  }

  InProcessHub& hub_;
  core::RankId rank_;
};

std::unique_ptr<Transport> InProcessHub::endpoint(core::RankId rank) {
  return std::make_unique<InProcessTransport>(*this, rank);
}

}  // namespace exawarp::pdes
