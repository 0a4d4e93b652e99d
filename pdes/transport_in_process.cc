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

  void send(core::RankId to, std::vector<Event> events) override {
    const std::lock_guard lock(hub_.mutex_);
    auto& box = hub_.letters_[to.value];
    if (hub_.chaos_ == 0) {
      box.push_back({std::move(events), 0});
      return;
    }
    const std::uint64_t draw = core::random_bits(hub_.chaos_, hub_.draws_++);
    box.insert(box.begin() + static_cast<std::ptrdiff_t>(draw % (box.size() + 1)),
               {std::move(events), static_cast<std::uint32_t>(draw >> 32) % 3});
  }

  GvtVote round(const GvtVote& vote, const EventReceiver& receive) override {
    GvtVote outcome;
    {
      std::unique_lock lock(hub_.mutex_);
      hub_.votes_[rank_.value] = vote;
      hub_.meet(lock, [this] { hub_.outcome_ = combined_votes(); });
      outcome = hub_.outcome_;
      // Nobody may vote again before all have read.
      hub_.meet(lock, [] {});
    }
    poll(receive);
    return outcome;
  }

  std::uint64_t poll(const EventReceiver& receive) override {
    std::vector<InProcessHub::Letter> ready;
    {
      const std::lock_guard lock(hub_.mutex_);
      auto& box = hub_.letters_[rank_.value];
      for (auto letter = box.begin(); letter != box.end();) {
        if (letter->held_polls != 0) {
          --letter->held_polls;
          ++letter;
          continue;
        }
        ready.push_back(std::move(*letter));
        letter = box.erase(letter);
      }
    }
    for (const auto& letter : ready) receive(letter.events);
    received_ += ready.size();
    return ready.size();
  }

  [[nodiscard]] std::uint64_t buffers_received() const override { return received_; }

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
  [[nodiscard]] GvtVote combined_votes() const {
    GvtVote all = hub_.votes_[0];
    for (std::uint32_t r = 1; r < hub_.ranks_; ++r) {
      const GvtVote& v = hub_.votes_[r];
      all.least = std::min(all.least, v.least);
      all.in_transit += v.in_transit;
      all.processed += v.processed;
      all.rolled_back += v.rolled_back;
      all.busy_ns += v.busy_ns;
      all.lost_ns += v.lost_ns;
      all.request = std::max(all.request, v.request);
    }
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
  std::uint64_t received_ = 0;
};

std::unique_ptr<Transport> InProcessHub::endpoint(core::RankId rank) {
  return std::make_unique<InProcessTransport>(*this, rank);
}

}  // namespace exawarp::pdes
