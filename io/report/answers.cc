#include "io/report/answers.h"

#include <algorithm>

#include "core/units.h"

namespace exawarp::io {

using core::Time;

double Answers::per_s(std::uint64_t count) const {
  return makespan.ps == 0 ? 0 : static_cast<double>(count) / core::to_seconds(makespan);
}

bool Asked::keeps(std::size_t request) const {
  const Objectives promised = promised_to((*requests)[request].class_id);
  const auto within = [](Time promise, Time is) { return promise.ps == 0 || is <= promise; };
  return within(promised.first_token, outcome->first_token(request)) &&
         within(promised.per_token, outcome->per_token(request)) &&
         within(promised.end, outcome->end(request));
}

Answers answers_of(const Asked& asked, std::uint32_t class_id) {
  const std::vector<model::serving::Request>& requests = *asked.requests;
  const model::serving::Outcome& outcome = *asked.outcome;
  Answers out;
  std::vector<Time> first_token, per_token, end;
  Time last{0};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const bool is_asked = class_id == kAllClasses || class_id == requests[i].class_id;
    if (!is_asked || !outcome.is_done(i)) continue;
    ++out.done;
    out.good += asked.keeps(i) ? 1 : 0;
    out.restarts += outcome.restarts_of(i);
    out.prompt_tokens += requests[i].prefill;
    out.output_tokens += requests[i].decode;
    first_token.push_back(outcome.first_token(i));
    per_token.push_back(outcome.per_token(i));
    end.push_back(outcome.end(i));
    last = std::max(last, outcome.arrival(i) + end.back());
  }
  if (out.done != 0) out.makespan = last - requests.front().arrival;
  out.first_token = spread_of(std::move(first_token));
  out.per_token = spread_of(std::move(per_token));
  out.end = spread_of(std::move(end));
  return out;
}

std::vector<Goodput> goodput_of(const Asked& asked) {
  std::vector<Goodput> out(std::max<std::size_t>(1, asked.source->classes.size()));
  for (std::size_t i = 0; i < asked.requests->size(); ++i) {
    const std::uint32_t own = (*asked.requests)[i].class_id;
    ++out[own].all;
    const bool is_good = asked.outcome->is_done(i) && asked.keeps(i);
    out[own].good += is_good ? 1 : 0;
  }
  return out;
}

}  // namespace exawarp::io
