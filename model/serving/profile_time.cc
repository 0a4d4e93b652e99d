// Curves through the measured points, with an end to each far beyond them; see profile_time.h.
#include "model/serving/profile_time.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace exawarp::model::serving {
namespace {

constexpr std::uint64_t kFar = 1 << 10;  // times the last size: how far an end is
constexpr core::WidePs kSeveralTenths = 11;  // of the attention of several, of grouped queries

constexpr std::uint64_t up_to(std::uint64_t step, std::uint64_t n) {
  return (n + step - 1) / step * step;
}

// Constant below the first point; beyond the last one in proportion to what `amount` says of a
// size.
template <class Amount>
void draw(const MeasuredTimes& times, const Amount& amount, TimeCurve& curve) {
  EXAWARP_CHECK(!times.empty());
  if (times.begin()->first != 0) curve.add(0, times.begin()->second);
  for (const auto& [size, ps] : times) curve.add(size, ps);
  const auto& [last, ps] = *times.rbegin();
  const std::uint64_t far = std::max<std::uint64_t>(1, last) * kFar;
  const std::uint64_t all = std::max<std::uint64_t>(1, amount(last));
  curve.add(far, core::time_to_end(core::WidePs{ps} * amount(far) / all).ps);
}

TimeCurve curve_of(const MeasuredTimes& times) {
  TimeCurve out;
  if (!times.empty()) draw(times, [](std::uint64_t size) { return size; }, out);
  return out;
}

core::WidePs several(core::WidePs ps, bool more) { return more ? ps * kSeveralTenths / 10 : ps; }

// The tokens of one prompt that are as much work as those of the batch's prompts together.
std::uint64_t as_one_prompt(const IterationWork& work) {
  return static_cast<std::uint64_t>(
      std::llround(std::sqrt(static_cast<double>(work.prompt_squares))));
}

std::uint64_t mean_context(const IterationWork& work) {
  return context_up(work.decode_context / work.decodes);
}

}  // namespace

ProfileTime::ProfileTime(const Profile& profile, std::uint64_t layers)
    : layers_(layers),
      token_bytes_(profile.token_bytes),
      grouped_queries_(profile.grouped_queries),
      tokens_(curve_of(profile.tokens)),
      keys_saved_(curve_of(profile.keys_saved)),
      all_reduce_(curve_of(profile.all_reduce)),
      send_(curve_of(profile.send)) {
  for (const auto& [decodes, by_context] : profile.decodes) {
    draw(by_context, [](std::uint64_t context) { return context; }, decodes_.add_row(decodes));
    decode_context_max_ = std::max(decode_context_max_, by_context.rbegin()->first);
  }
  for (const auto& [tokens, by_past] : profile.prompts) {
    // Pairs of a token and one that it attends to, twice.
    const auto pairs = [own = tokens](std::uint64_t past) { return own + 2 * past; };
    draw(by_past, pairs, prompts_.add_row(tokens));
    prompt_end_max_ = std::max(prompt_end_max_, tokens + by_past.rbegin()->first);
  }
  tokens_max_ = profile.tokens.rbegin()->first;
  decodes_max_ = profile.decodes.rbegin()->first;
  prompt_max_ = profile.prompts.rbegin()->first;
}

core::Time ProfileTime::of(const IterationWork& work) const {
  if (work.tokens == 0) return {};
  const std::uint64_t tokens = up_to(kTokenStep, work.tokens);
  core::WidePs ps = core::WidePs{tokens_.at(tokens)} + keys_saved_.at(work.tokens);
  if (work.decodes != 0) {
    ps += several(decodes_.at(work.decodes, mean_context(work)),
                  grouped_queries_ && work.decodes > 1);
  }
  if (work.prompts != 0) {
    ps += several(prompts_.at(as_one_prompt(work), work.prompt_past),
                  grouped_queries_ && work.prompts > 1);
  }
  if (!all_reduce_.empty()) {
    ps += 2 * (core::WidePs{all_reduce_.at(tokens * token_bytes_)} + kAllReduceLaunch.ps);
  }
  return core::time_to_end(ps * layers_);
}

core::Time ProfileTime::send(const IterationWork& work) const {
  if (send_.empty()) return {};
  return core::Time{send_.at(up_to(kTokenStep, work.tokens) * token_bytes_)};
}

bool ProfileTime::covers(const IterationWork& work) const {
  if (work.tokens > tokens_max_ || work.decodes > decodes_max_) return false;
  if (work.decodes != 0 && mean_context(work) > decode_context_max_) return false;
  if (work.prompts == 0) return true;
  const std::uint64_t prompt = as_one_prompt(work);
  return prompt <= prompt_max_ && prompt + work.prompt_past <= prompt_end_max_;
}

}  // namespace exawarp::model::serving
