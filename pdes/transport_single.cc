#include "core/check.h"
#include "pdes/transport.h"

namespace exawarp::pdes {
namespace {

class SingleTransport final : public Transport {
 public:
  [[nodiscard]] core::RankId rank() const override { return {0}; }
  [[nodiscard]] std::uint32_t ranks() const override { return 1; }
  GvtVote exchange(Outgoing outgoing, const GvtVote& vote, const EventReceiver&) override {
    EXAWARP_CHECK(outgoing.size() == 1 && outgoing[0].empty(), "a single rank has no peers");
    return vote;
  }
  void all_reduce_sum(std::span<std::uint64_t>) override {}
  void all_reduce_max(std::span<std::uint64_t>) override {}
  std::vector<std::byte> gather(std::span<const std::byte> bytes) override {
    return {bytes.begin(), bytes.end()};
  }
  void barrier() override {}
};

}  // namespace

std::unique_ptr<Transport> make_single_transport() { return std::make_unique<SingleTransport>(); }

}  // namespace exawarp::pdes
