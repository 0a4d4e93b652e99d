#include "io/report/answers.h"

#include <algorithm>

#include "core/units.h"

namespace exawarp::io {

using core::Time;

double Answers::per_s(std::uint64_t count) const {
  return makespan.ps == 0 ? 0 : static_cast<double>(count) / core::to_seconds(makespan);
}

bool keeps(const Objectives& promised, const model::serving::Outcome& outcome,
           std::size_t request) {
  const auto within = [](Time promise, Time is) { return promise.ps == 0 || is <= promise; };
  return within(promised.first_token, outcome.first_token(request)) &&
         within(promised.per_token, outcome.per_token(request)) &&
         within(promised.end, outcome.end(request));
}

Answers answers_of(const std::vector<model::serving::Request>& requests,
                   const model::serving::Outcome& outcome,
                   const std::function<bool(std::size_t)>& counts,
                   const std::function<Objectives(std::size_t)>& promised) {
  Answers out;
  std::vector<Time> first_token, per_token, end;
  Time last{0};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!counts(i) || !outcome.is_done(i)) continue;
    ++out.done;
    out.good += keeps(promised(i), outcome, i) ? 1 : 0;
    out.restarts += outcome.restarts_of(i);
    out.prompt_tokens += requests[i].prefill;
    out.output_tokens += requests[i].decode;
    first_token.push_back(outcome.first_token(i));
    per_token.push_back(outcome.per_token(i));
    end.push_back(outcome.end(i));
    last = std::max(last, requests[i].arrival + end.back());
  }
  if (out.done != 0) out.makespan = last - requests.front().arrival;
  out.first_token = spread_of(std::move(first_token));
  out.per_token = spread_of(std::move(per_token));
  out.end = spread_of(std::move(end));
  return out;
}

}  // namespace exawarp::io
