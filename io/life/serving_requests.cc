#include "io/life/serving_requests.h"

#include <fmt/format.h>

#include <cmath>

#include "core/error.h"
#include "io/formats/requests/request_trace.h"

namespace exawarp::io {
namespace {

using model::serving::Arrivals;
using model::serving::Request;

std::vector<Request> recorded(const ServingStudy& study) {
  const RequestSource& source = study.requests;
  const RequestTrace trace = read_request_trace(source.file, source.format);
  const bool drawn = source.arrivals.kind != Arrivals::trace;
  if (!drawn && !trace.has_arrivals) {
    throw core::InputError(source.file, "has no column arrived_at; expected one, or requests."
                                        "arrivals: poisson, gamma or static");
  }
  const std::uint64_t count = source.count == 0 ? trace.requests.size() : source.count;
  std::vector<core::Time> at;
  if (drawn) at = model::serving::draw_arrivals(source.arrivals, count, study.seed);
  std::vector<Request> out;
  out.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const RecordedRequest& r = trace.requests[i % trace.requests.size()];
    const double scaled = static_cast<double>(r.arrival.ps) * source.time_scale;
    if (!drawn && scaled > static_cast<double>(core::kEndOfTime.ps) / 2) {
      throw core::InputError(source.file, "ends after the end of time; expected a smaller "
                                          "requests.time_scale");
    }
    out.push_back({.arrival = drawn ? at[i] : core::Time{std::llround(scaled)},
                   .prefill = r.prompt,
                   .decode = r.output});
  }
  return out;
}

std::vector<Request> drawn_requests(const ServingStudy& study) {
  using namespace model::serving;
  const RequestSource& source = study.requests;
  const std::vector<core::Time> at = draw_arrivals(source.arrivals, source.count, study.seed);
  const auto prompt = draw_lengths(source.prompt, source.count, LengthOf::prompt, study.seed);
  const auto output = draw_lengths(source.output, source.count, LengthOf::output, study.seed);
  std::vector<Request> out;
  out.reserve(source.count);
  for (std::uint64_t i = 0; i < source.count; ++i) {
    out.push_back({.arrival = at[i], .prefill = prompt[i], .decode = output[i]});
  }
  return out;
}

}  // namespace

std::vector<Request> requests_of(const ServingStudy& study) {
  std::vector<Request> out = study.requests.file.empty() ? drawn_requests(study) : recorded(study);
  const std::uint64_t most = study.spec.request_tokens_max;
  for (std::uint64_t i = 0; i < out.size(); ++i) {
    Request& r = out[i];
    if (std::uint64_t{r.prefill} + r.decode <= most) continue;
    if (study.requests.cut_long && r.decode < most) {
      r.prefill = static_cast<std::uint32_t>(most - r.decode);
      continue;
    }
    throw core::InputError(
        study.requests.file.empty() ? study.file : study.requests.file,
        fmt::format("request {}: \"{} + {} tokens\"; expected at most {} "
                    "(serving.request_tokens_max) or requests.cut_long: true",
                    i, r.prefill, r.decode, most));
  }
  return out;
}

}  // namespace exawarp::io
