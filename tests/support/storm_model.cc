// The handler draws what to do from its state's random stream: hops, bursts, containers, emissions.
#include "tests/support/storm_model.h"

#include "core/random.h"
#include "pdes/context.h"
#include "pdes/undo_vector.h"

namespace exawarp::tests {
namespace {

using core::LpId;
using core::Time;
using pdes::Context;
using pdes::Event;

struct Hop {
  std::uint32_t left;
  std::uint32_t weight;
};

class Storm final : public pdes::Model {
 public:
  struct State {
    std::uint64_t draws = 0;
    std::uint64_t sum = 0;
    std::uint32_t handled = 0;
    std::uint16_t small = 0;
    pdes::UndoVector<std::uint64_t> stack;
    std::uint64_t written_directly = 0;
  };

  // Its sum is what other states and the output follow from.
  struct WithoutTheSum {
    using State = Storm::State;
    static void handle(State& s, const Event& event, Context& ctx) { Storm::handle(s, event, ctx); }
    static void describe(State& s, pdes::StateArchive& archive) {
      archive.word(s.draws);
      describe_rest(s, archive);
    }
  };

  explicit Storm(const StormOptions& options)
      : options_(options),
        type_(options.leaves_out_a_field ? pdes::make_lp_type<WithoutTheSum>("storm")
                                         : pdes::make_lp_type<Storm>("storm")) {
    range_ = {LpId{0}, options.lps, 0};
  }

  [[nodiscard]] std::span<const pdes::LpType> types() const override { return {&type_, 1}; }
  [[nodiscard]] std::span<const pdes::LpRange> ranges() const override { return {&range_, 1}; }
  [[nodiscard]] Time lookahead() const override { return Time{options_.lookahead_ps}; }

  void initialise(LpId lp, void*, Context& ctx) const override {
    for (std::uint32_t k = 0; k < options_.starts_per_lp; ++k)
      ctx.send(lp, Time{options_.tie_ps * (k + 1)}, 0, Hop{options_.hops, k});
  }

  static void handle(State& s, const Event& event, Context& ctx) {
    ctx.model<Storm>().react(s, event, ctx);
  }

  static void describe(State& s, pdes::StateArchive& archive) {
    archive.word(s.draws);
    archive.word(s.sum);
    describe_rest(s, archive);
  }
  static void describe_rest(State& s, pdes::StateArchive& archive) {
    archive.kept(s.handled);
    archive.kept(s.small);
    archive.digest_word((std::uint64_t{s.handled} << 16) | s.small);
    s.stack.describe(archive, [&](std::uint64_t& element) { archive.word(element); });
    archive.kept(s.written_directly);
  }

 private:
  [[nodiscard]] std::uint64_t draw(State& s, Context& ctx) const {
    const std::uint64_t bits =
        core::random_bits(core::stream_of(options_.seed, ctx.self().value), s.draws);
    ctx.set(s.draws, s.draws + 1);
    return bits;
  }

  void react(State& s, const Event& event, Context& ctx) const {
    const Hop hop = event.as<Hop>();
    ctx.set(s.sum, s.sum * 31 + hop.weight + static_cast<std::uint64_t>(ctx.now().ps));
    ctx.add(s.handled, 1);
    ctx.set(s.small, static_cast<std::uint16_t>(s.small ^ hop.weight));
    if (options_.writes_directly) ++s.written_directly;
    change_stack(s, ctx);
    if (s.sum % 16 == 0) ctx.emit(kStormChannel, s.sum, s.handled);
    if (hop.left == 0) return;
    const std::uint64_t kind = draw(s, ctx) % 16;
    if (kind == 0) return;  // the chain ends early
    const bool burst = kind >= 14 && hop.left > 1;
    const std::uint32_t left = burst ? hop.left / 3 : hop.left - 1;
    for (std::uint32_t child = 0; child < (burst ? 3u : 1u); ++child)
      send_on(s, ctx, Hop{left, hop.weight + child});
  }

  void change_stack(State& s, Context& ctx) const {
    const std::uint64_t choice = draw(s, ctx) % 4;
    if (choice < 2) {
      if (s.stack.size() < 40) s.stack.push_back(ctx, s.sum);
    } else if (!s.stack.empty()) {
      const auto at = static_cast<std::uint32_t>(draw(s, ctx) % s.stack.size());
      if (choice == 2)
        s.stack.erase(ctx, at);
      else
        s.stack.assign(ctx, at, s.sum);
    }
  }

  void send_on(State& s, Context& ctx, Hop hop) const {
    const std::uint64_t bits = draw(s, ctx);
    const std::uint32_t self = ctx.self().value;
    const std::uint32_t atom = self >> options_.atom_shift;
    std::uint32_t to = self;
    switch (bits % 8) {
      case 0: case 1: break;  // itself
      case 2: case 3: to = (atom << options_.atom_shift) +
                           static_cast<std::uint32_t>((bits >> 8) % (1u << options_.atom_shift));
        break;  // a neighbour in the atom
      case 4: to = static_cast<std::uint32_t>((bits >> 8) % options_.hot_lps); break;
      default: to = static_cast<std::uint32_t>((bits >> 8) % options_.lps); break;
    }
    if (to >= options_.lps) to = self;
    const bool near = (to >> options_.atom_shift) == atom;
    Time delay{static_cast<std::int64_t>((bits >> 40) % 4) * options_.tie_ps};
    delay += near ? Time{(bits >> 50) % 2 == 0 ? 1 : options_.tie_ps} : lookahead();
    ctx.send(LpId{to}, delay, 0, hop);
  }

  StormOptions options_;
  pdes::LpType type_;
  pdes::LpRange range_;
};

}  // namespace

std::unique_ptr<pdes::Model> make_storm(const StormOptions& options) {
  return std::make_unique<Storm>(options);
}

StormOptions random_storm(std::uint64_t seed) {
  std::uint64_t draws = 0;
  const auto draw = [&](std::uint64_t least, std::uint64_t most) {
    return static_cast<std::uint32_t>(
        least + core::random_bits(core::stream_of(seed, 0x5707), draws++) % (most - least + 1));
  };
  StormOptions o;
  o.lps = draw(1, 150);
  o.atom_shift = draw(0, 4);
  o.starts_per_lp = draw(1, 4);
  o.hops = draw(5, 60);
  o.hot_lps = draw(1, o.lps);
  o.tie_ps = draw(1, 3) == 1 ? 1 : draw(10, 2000);
  o.lookahead_ps = draw(1, 3) == 1 ? 1 : draw(1, 500);
  o.seed = seed;
  return o;
}

}  // namespace exawarp::tests
