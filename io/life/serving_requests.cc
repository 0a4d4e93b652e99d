#include "io/life/serving_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/exponential.h"
#include "core/random.h"
#include "io/formats/requests/request_trace.h"

namespace exawarp::io {
namespace {

using namespace model::serving;

// Of a request, or of a session: class `i` with a probability of its share.
class ClassDraw {
 public:
  explicit ClassDraw(const ServingStudy& study) : stream_(core::stream_of(study.seed, kClass)) {
    double sum = 0;
    for (const RequestClass& c : study.requests.classes) up_to_.push_back(sum += c.share);
  }
  [[nodiscard]] std::uint32_t operator()(std::uint64_t number) const {
    if (up_to_.size() < 2) return 0;
    const double share = static_cast<double>(core::random_bits(stream_, number) >> 11) * 0x1p-53;
    const auto found = std::ranges::upper_bound(up_to_, share * up_to_.back());
    const auto last = static_cast<std::ptrdiff_t>(up_to_.size()) - 1;
    return static_cast<std::uint32_t>(std::min(found - up_to_.begin(), last));
  }

 private:
  static constexpr std::uint64_t kClass = 0x636c617373;
  std::uint64_t stream_;
  std::vector<double> up_to_;
};

Request request_of(const RecordedRequest& r, core::Time arrival, std::uint32_t class_id) {
  return {.arrival = arrival, .prefill = r.prompt, .decode = r.output, .class_id = class_id};
}

// A file that is read over and over has other content each time, which shares as much.
void add_recorded_prefix(const RequestTrace& trace, std::uint64_t i, Prefixes& out) {
  const std::uint64_t size = trace.requests.size();
  const RecordedRequest& r = trace.requests[i % size];
  const std::uint64_t named = std::uint64_t{r.ids} * out.id_tokens;
  out.of.push_back({.session = static_cast<std::uint32_t>(i),
                    .parent = 0,
                    .ids_begin = out.ids.size(),
                    .ids = r.ids,
                    .ids_tokens = static_cast<std::uint32_t>(
                        std::min<std::uint64_t>(named, r.prompt))});
  for (std::uint64_t id = 0; id < r.ids; ++id)
    out.ids.push_back(trace.ids[r.ids_begin + id] + i / size * (kHashIdMax + 1));
}

void add_recorded(const ServingStudy& study, Spec& spec) {
  const RequestSource& source = study.requests;
  const RequestTrace trace = read_request_trace(source.file, source.format);
  const bool drawn = source.arrivals.kind != Arrivals::trace;
  if (!drawn && !trace.has_arrivals) {
    throw core::InputError(source.file, "has no column arrived_at; expected one, or requests."
                                        "arrivals: poisson, gamma or static");
  }
  const std::uint64_t count = source.count == 0 ? trace.requests.size() : source.count;
  std::vector<core::Time> at;
  if (drawn) at = draw_arrivals(source.arrivals, count, study.seed);
  const ClassDraw class_of(study);
  spec.requests.reserve(count);
  spec.prefixes.id_tokens = source.hash_tokens;
  for (std::uint64_t i = 0; i < count; ++i) {
    const RecordedRequest& r = trace.requests[i % trace.requests.size()];
    const double scaled = static_cast<double>(r.arrival.ps) * source.time_scale;
    if (!drawn && scaled > static_cast<double>(core::kEndOfTime.ps) / 2) {
      throw core::InputError(source.file, "ends after the end of time; expected a smaller "
                                          "requests.time_scale");
    }
    const core::Time arrival = drawn ? at[i] : core::Time{std::llround(scaled)};
    spec.requests.push_back(request_of(r, arrival, class_of(i)));
    if (!trace.ids.empty()) add_recorded_prefix(trace, i, spec.prefixes);
  }
  find_parents(spec.prefixes);
}

// Lengths of all requests, by class: drawn alike, so that a class changes no other one's.
class LengthDraws {
 public:
  LengthDraws(const ServingStudy& study, LengthOf of) {
    const RequestSource& source = study.requests;
    const LengthSpec& all = of == LengthOf::prompt ? source.prompt : source.output;
    const std::size_t classes = std::max<std::size_t>(1, source.classes.size());
    for (std::size_t c = 0; c < classes; ++c) {
      LengthSpec spec = all;
      if (c < source.classes.size()) {
        const RequestClass& own = source.classes[c];
        spec = (of == LengthOf::prompt ? own.prompt : own.output).value_or(all);
      }
      lengths_.push_back(draw_lengths(spec, source.count, of, study.seed));
    }
  }
  [[nodiscard]] std::uint32_t of(std::uint64_t request, std::uint32_t class_id) const {
    return lengths_[class_id][request];
  }

 private:
  std::vector<std::vector<std::uint32_t>> lengths_;
};

// Requests as they were drawn, session by session.
struct Drawn {
  std::vector<Request> requests;
  std::vector<std::uint32_t> session, before;  // before: the turn before it, plus 1; 0: none
  // Of a closed loop: whether a request waits for the one that was drawn before it, and how long
  // its user thinks.
  std::vector<bool> waits;
  std::vector<core::Time> think;
};

void draw_session(const ServingStudy& study, std::uint64_t number, core::Time start,
                  const LengthDraws& prompt, const LengthDraws& output, Drawn& out) {
  constexpr std::uint64_t kGap = 0x676170;
  const SessionSource& sessions = study.requests.sessions;
  const std::uint32_t class_id = ClassDraw(study)(number);
  std::uint64_t context = sessions.shared_tokens;
  auto session = static_cast<std::uint32_t>(out.requests.size());
  for (std::uint32_t turn = 0; turn < sessions.turns; ++turn) {
    const auto i = static_cast<std::uint32_t>(out.requests.size());
    if (i == study.requests.count) return;
    core::Time think{0};
    if (turn > 0 && sessions.gap.ps > 0) {
      const std::uint64_t bits = core::random_bits(core::stream_of(study.seed, kGap, number), turn);
      think = core::exponential(sessions.gap, bits);
      start = core::sum_to_end(start, think);
    }
    out.waits.push_back(sessions.closed && turn > 0);
    out.think.push_back(think);
    const std::uint64_t more = prompt.of(i, class_id), answer = output.of(i, class_id);
    bool goes_on = turn > 0;
    if (goes_on && context + more + answer > study.spec.request_tokens_max) {
      goes_on = false;  // it has become too long: another one begins
      session = i;
      context = sessions.shared_tokens;
    }
    out.requests.push_back({.arrival = start,
                            .prefill = static_cast<std::uint32_t>(context + more),
                            .decode = static_cast<std::uint32_t>(answer),
                            .class_id = class_id});
    out.session.push_back(session);
    out.before.push_back(goes_on ? i : 0);
    context += more + answer;
  }
}

// `place`: where each is that was drawn.
void add_turns(const Drawn& drawn, const std::vector<std::uint32_t>& place, Spec& spec) {
  spec.turns.resize(drawn.requests.size());
  for (std::size_t i = 0; i < drawn.requests.size(); ++i) {
    if (!drawn.waits[i]) continue;
    spec.turns[place[i]].waits = 1;
    model::serving::Turn& before = spec.turns[place[i - 1]];
    before.next = place[i] + 1;
    before.think = drawn.think[i];
  }
}

// By arrival, with prefixes where requests share some.
void add_in_order(const ServingStudy& study, const Drawn& drawn, Spec& spec) {
  std::vector<std::uint32_t> order(drawn.requests.size()), place(drawn.requests.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return drawn.requests[i].arrival; });
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  spec.prefixes.shared_tokens = study.requests.sessions.shared_tokens;
  for (const std::uint32_t i : order) {
    spec.requests.push_back(drawn.requests[i]);
    if (!study.requests.sessions.any()) continue;
    const std::uint32_t before = drawn.before[i];
    spec.prefixes.of.push_back({.session = drawn.session[i],
                                .parent = before == 0 ? 0 : place[before - 1] + 1});
  }
  if (study.requests.sessions.closed) add_turns(drawn, place, spec);
}

void add_drawn(const ServingStudy& study, Spec& spec) {
  const RequestSource& source = study.requests;
  const std::uint32_t turns = source.sessions.turns;
  ArrivalSpec arrivals = source.arrivals;
  arrivals.rate /= turns;
  const std::uint64_t sessions = (source.count + turns - 1) / turns;
  const std::vector<core::Time> at = draw_arrivals(arrivals, sessions, study.seed);
  const LengthDraws prompt(study, LengthOf::prompt), output(study, LengthOf::output);
  Drawn drawn;
  for (std::uint64_t i = 0; i < sessions; ++i) draw_session(study, i, at[i], prompt, output, drawn);
  add_in_order(study, drawn, spec);
}

}  // namespace

void add_requests(const ServingStudy& study, Spec& spec) {
  if (study.requests.file.empty())
    add_drawn(study, spec);
  else
    add_recorded(study, spec);
  if (spec.requests.back().arrival.ps > core::kEndOfTime.ps / 2) {
    throw core::InputError(study.file, "requests.rate: the last request comes after the end of "
                                       "time; expected a higher rate, or fewer requests");
  }
  const std::uint64_t most = study.spec.request_tokens_max;
  for (std::uint64_t i = 0; i < spec.requests.size(); ++i) {
    Request& r = spec.requests[i];
    if (std::uint64_t{r.prefill} + r.decode <= most) continue;
    if (study.requests.cut_long && r.decode < most) {
      r.prefill = static_cast<std::uint32_t>(most - r.decode);
      if (!spec.prefixes.of.empty()) {
        Prefix& prefix = spec.prefixes.of[i];
        prefix.ids_tokens = std::min(prefix.ids_tokens, r.prefill);
      }
      continue;
    }
    throw core::InputError(
        study.requests.file.empty() ? study.file : study.requests.file,
        fmt::format("request {}: \"{} + {} tokens\"; expected at most {} "
                    "(serving.request_tokens_max) or requests.cut_long: true",
                    i, r.prefill, r.decode, most));
  }
}

}  // namespace exawarp::io
