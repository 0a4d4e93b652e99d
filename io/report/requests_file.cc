#include "io/report/requests_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "io/report/append.h"

namespace exawarp::io {
namespace {

using core::Time;

bool names_jobs(const std::vector<AskedOfJob>& all) {
  return std::ranges::any_of(all, [](const AskedOfJob& one) { return one.job.has_value(); });
}

void add_key_times(const model::serving::Outcome& outcome, std::size_t request, std::string& out) {
  if (!outcome.was_handed_over(request)) {
    out += ",,,";
    return;
  }
  append(out, ",{},{},{}", outcome.keys_wait(request).ps, outcome.keys_transfer(request).ps,
         outcome.keys_exposed(request).ps);
}

void add_request_rows(const AskedOfJob& of, bool has_classes, std::string& out) {
  const std::vector<model::serving::Request>& requests = *of.asked.requests;
  const model::serving::Outcome& outcome = *of.asked.outcome;
  const std::vector<RequestClass>& classes = of.asked.source->classes;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!outcome.is_done(i)) continue;
    if (of.job) append(out, "{},", *of.job);
    append(out, "{},{},{},{},{},{},{},{}", i, outcome.arrival(i).ps, requests[i].prefill,
           requests[i].decode, outcome.first_token(i).ps, outcome.per_token(i).ps,
           outcome.end(i).ps, outcome.restarts_of(i));
    if (of.job) add_key_times(outcome, i, out);
    if (has_classes) {
      append(out, ",{}", classes.empty() ? std::string() : classes[requests[i].class_id].name);
    }
    out += '\n';
  }
}

// Of a spell; times of requests add up in picoseconds.
struct RequestSpell {
  std::uint64_t arrived = 0, first_tokens = 0, done = 0, good = 0;
  double tokens = 0;
  core::WidePs waiting_ps = 0, decoding_ps = 0, first_token_ps = 0;
};

class RequestSeries {
 public:
  RequestSeries(const Asked& asked, Time width) : asked_(asked), width_(width) {
    const std::size_t requests = asked.requests->size();
    Time end{0};
    for (std::size_t i = 0; i < requests; ++i)
      if (asked.outcome->is_done(i)) end = std::max(end, end_of(i));
    if (width_.ps == 0) width_ = round_width(end);
    if (end.ps / width_.ps >= kSeriesRowsMax)
      width_ = core::Time{width_.ps * (end.ps / width_.ps / kSeriesRowsMax + 1)};
    spells_.resize(static_cast<std::size_t>(end.ps / width_.ps) + 1);
    for (std::size_t i = 0; i < requests; ++i)
      if (asked.outcome->is_done(i)) add(i);
  }

  void print(const std::optional<std::string>& job, std::string& out) const {
    const auto width = static_cast<double>(width_.ps);
    for (std::size_t n = 0; n < spells_.size(); ++n) {
      const RequestSpell& s = spells_[n];
      if (job) append(out, "{},", *job);
      const std::int64_t from = static_cast<std::int64_t>(n) * width_.ps;
      append(out, "{},{},{},{},{},{:.6g},{:.6g},{:.6g},", from, from + width_.ps, s.arrived,
             s.first_tokens, s.done, s.tokens, static_cast<double>(s.waiting_ps) / width,
             static_cast<double>(s.decoding_ps) / width);
      if (s.first_tokens != 0)
        append(out, "{}", static_cast<std::int64_t>(s.first_token_ps / s.first_tokens));
      out += ',';
      if (asked_.promises()) append(out, "{}", s.good);
      out += '\n';
    }
  }

 private:
  static Time round_width(Time end) {
    for (std::int64_t power = 1;; power *= 10) {
      for (const std::int64_t times : {1, 2, 5})
        if (end.ps / (times * power) < 500) return Time{times * power};
    }
  }

  [[nodiscard]] Time end_of(std::size_t i) const {
    return asked_.outcome->arrival(i) + asked_.outcome->end(i);
  }
  [[nodiscard]] RequestSpell& at(Time time) {
    return spells_[static_cast<std::size_t>(time.ps / width_.ps)];
  }

  void add(std::size_t i) {
    const model::serving::Outcome& outcome = *asked_.outcome;
    const Time arrival = outcome.arrival(i), first = arrival + outcome.first_token(i);
    const Time end = end_of(i);
    const model::serving::Request& request = (*asked_.requests)[i];
    ++at(arrival).arrived;
    RequestSpell& began = at(first);
    ++began.first_tokens;
    began.first_token_ps += outcome.first_token(i).ps;
    began.tokens += 1;
    RequestSpell& ended = at(end);
    ++ended.done;
    ended.good += asked_.keeps(i) ? 1 : 0;
    over(arrival, first, [](RequestSpell& s, std::int64_t ps) { s.waiting_ps += ps; });
    const double others = request.decode - 1.0;
    if (first == end) {
      ended.tokens += others;
      return;
    }
    const double per_ps = others / static_cast<double>((end - first).ps);
    over(first, end, [&](RequestSpell& s, std::int64_t ps) {
      s.decoding_ps += ps;
      s.tokens += per_ps * static_cast<double>(ps);
    });
  }

  // Calls each(spell, picoseconds of it) for what lies between `from` and `until`.
  template <class Each>
  void over(Time from, Time until, const Each& each) {
    while (from < until) {
      const Time next{(from.ps / width_.ps + 1) * width_.ps};
      const Time to = std::min(next, until);
      each(at(from), (to - from).ps);
      from = to;
    }
  }

  const Asked& asked_;
  Time width_;
  std::vector<RequestSpell> spells_;
};

}  // namespace

void write_requests(const std::vector<AskedOfJob>& all, core::OutputFile& file) {
  const bool jobs = names_jobs(all);
  const bool classes = std::ranges::any_of(
      all, [](const AskedOfJob& one) { return !one.asked.source->classes.empty(); });
  std::string out = jobs ? "job," : "";
  out += "request,arrival_ps,prompt_tokens,output_tokens,first_token_ps,per_token_ps,end_ps,"
         "restarts";
  if (jobs) out += ",keys_wait_ps,keys_transfer_ps,keys_exposed_ps";
  out += classes ? ",class\n" : "\n";
  for (const AskedOfJob& one : all) add_request_rows(one, classes, out);
  file.write(out);
  file.commit();
}

void write_requests_series(const std::vector<AskedOfJob>& all, Time width,
                           core::OutputFile& file) {
  std::string out = names_jobs(all) ? "job," : "";
  out += "from_ps,until_ps,arrived,first_tokens,done,output_tokens,waiting,decoding,"
         "first_token_ps,good\n";
  for (const AskedOfJob& one : all) RequestSeries(one.asked, width).print(one.job, out);
  file.write(out);
  file.commit();
}

}  // namespace exawarp::io
