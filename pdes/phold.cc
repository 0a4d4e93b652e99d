#include "pdes/phold.h"

#include <array>
#include <cmath>

#include "core/random.h"
#include "pdes/context.h"

namespace exawarp::pdes {
namespace {

class Phold final : public Model {
 public:
  struct State {  // with the engine's header as large as the yardstick's
    std::uint64_t draws = 0;
    std::uint64_t handled = 0;
    std::uint64_t checksum = 0;
    std::array<std::uint64_t, 3> scratch{};
  };
  static_assert(sizeof(State) == kPholdStateBytes);

  explicit Phold(const PholdOptions& options)
      : options_(options),
        type_(make_lp_type<Phold>("phold")),
        range_{LpId{0}, options.lps, 0} {}

  [[nodiscard]] std::span<const LpType> types() const override { return {&type_, 1}; }
  [[nodiscard]] std::span<const LpRange> ranges() const override { return {&range_, 1}; }
  [[nodiscard]] Time lookahead() const override { return Time{kPholdUnit.ps / 10}; }

  void initialise(LpId, void* state, Context& ctx) const override {
    for (std::uint32_t k = 0; k < options_.start_events; ++k)
      schedule_next(*static_cast<State*>(state), ctx);
  }

  static void handle(State& s, const Event& event, Context& ctx) {
    ctx.set(s.handled, s.handled + 1);
    ctx.set(s.checksum, s.checksum * 31 + static_cast<std::uint64_t>(event.receive_time.ps));
    ctx.model<Phold>().schedule_next(s, ctx);
  }

  static void describe(State& s, StateArchive& archive) {
    archive.word(s.draws);
    archive.word(s.handled);
    archive.word(s.checksum);
    archive.kept(s.scratch);
  }

 private:
  void schedule_next(State& s, Context& ctx) const {
    const std::uint64_t stream = ctx.seed() * 0x100000001b3ull + ctx.self().value;
    std::uint64_t draw = s.draws;
    const double wait = -std::log(1.0 - core::unit_interval(core::random_bits(stream, draw++)));
    LpId to = ctx.self();
    if (options_.lps > 1 &&
        core::unit_interval(core::random_bits(stream, draw++)) < options_.remote) {
      const std::uint64_t other = core::random_bits(stream, draw++) % (options_.lps - 1);
      to.value = static_cast<std::uint32_t>(other);
      if (to.value >= ctx.self().value) ++to.value;
    }
    ctx.set(s.draws, draw);
    const auto exponential = static_cast<std::int64_t>(wait * static_cast<double>(kPholdUnit.ps));
    ctx.send(to, lookahead() + Time{exponential}, 0);
  }

  PholdOptions options_;
  LpType type_;
  LpRange range_;
};

}  // namespace

std::unique_ptr<Model> make_phold(const PholdOptions& options) {
  return std::make_unique<Phold>(options);
}

std::uint32_t phold_atom_shift(std::uint32_t lps, std::uint32_t partitions) {
  constexpr std::uint32_t kAtomsPerPartition = 64;
  std::uint32_t shift = 0;
  while ((lps >> (shift + 1)) >= kAtomsPerPartition * partitions) ++shift;
  return shift;
}

}  // namespace exawarp::pdes
