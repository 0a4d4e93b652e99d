// Requests that are drawn: sessions that continue themselves, classes by their shares.
#include "io/life/serving_requests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/error.h"

namespace exawarp::tests {
namespace {

using namespace io;
using namespace model::serving;

ServingStudy study_of(std::uint64_t count) {
  ServingStudy study;
  study.spec.request_tokens_max = 4096;
  study.requests.count = count;
  study.requests.arrivals = {.kind = Arrivals::poisson, .rate = 10};
  study.requests.prompt = {.kind = Lengths::uniform, .least = 5, .most = 50};
  study.requests.output = {.kind = Lengths::uniform, .least = 3, .most = 30};
  study.seed = 4;
  return study;
}

Spec requests_of(const ServingStudy& study) {
  Spec spec = study.spec;
  add_requests(study, spec);
  return spec;
}

TEST(ServingRequests, AreThoseThatWereDrawnOneByOne) {
  const ServingStudy study = study_of(100);
  const Spec spec = requests_of(study);
  const auto at = draw_arrivals(study.requests.arrivals, 100, 4);
  const auto prompt = draw_lengths(study.requests.prompt, 100, LengthOf::prompt, 4);
  ASSERT_EQ(spec.requests.size(), 100u);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(spec.requests[i].arrival.ps, at[i].ps);
    EXPECT_EQ(spec.requests[i].prefill, prompt[i]);
  }
  EXPECT_TRUE(spec.prefixes.of.empty());
}

TEST(ServingRequests, ComeBeforeTheEndOfTime) {
  ServingStudy study = study_of(100);
  study.requests.arrivals.rate = 1e-5;
  EXPECT_THROW(requests_of(study), core::InputError);
}

TEST(ServingRequests, OfASessionGoOnWhereTheLastEnded) {
  ServingStudy study = study_of(998);
  study.requests.sessions = {.turns = 5, .shared_tokens = 100};
  const Spec spec = requests_of(study);
  ASSERT_EQ(spec.requests.size(), 998u);
  ASSERT_EQ(spec.prefixes.of.size(), 998u);
  std::map<std::uint32_t, std::uint32_t> turns;
  for (std::size_t i = 0; i < spec.requests.size(); ++i) {
    const Request& r = spec.requests[i];
    const Prefix& prefix = spec.prefixes.of[i];
    EXPECT_GE(r.arrival, spec.requests[i == 0 ? 0 : i - 1].arrival);
    ++turns[prefix.session];
    if (prefix.parent == 0) {
      EXPECT_EQ(turns[prefix.session], 1u);
      EXPECT_GE(r.prefill, 105u);
      continue;
    }
    ASSERT_LE(prefix.parent, i);
    const Request& before = spec.requests[prefix.parent - 1];
    EXPECT_EQ(spec.prefixes.of[prefix.parent - 1].session, prefix.session);
    EXPECT_GE(r.prefill, before.prefill + before.decode + 5);
    EXPECT_LE(r.prefill, before.prefill + before.decode + 50);
  }
  EXPECT_EQ(turns.size(), 200u);  // the last one is cut
  Spec enough = spec;
  enough.blocks = 1000;
  EXPECT_NO_THROW(check(enough));
}

TEST(ServingRequests, OfAClosedLoopWaitForTheAnswerBefore) {
  ServingStudy study = study_of(98);
  study.requests.sessions = {.turns = 5};
  EXPECT_TRUE(requests_of(study).turns.empty());
  study.requests.sessions.closed = true;
  const Spec spec = requests_of(study);
  ASSERT_EQ(spec.turns.size(), 98u);
  std::uint32_t first = 0;
  for (std::size_t i = 0; i < 98; ++i) {
    first += spec.turns[i].waits == 0 ? 1 : 0;
    const std::uint32_t next = spec.turns[i].next;
    if (next == 0) continue;
    ASSERT_GT(next, i + 1);
    EXPECT_EQ(spec.turns[next - 1].waits, 1u);
    EXPECT_EQ(spec.prefixes.of[next - 1].parent, i + 1);
    EXPECT_EQ(spec.requests[next - 1].arrival - spec.requests[i].arrival, spec.turns[i].think);
  }
  EXPECT_EQ(first, 20u);
  Spec enough = spec;
  enough.blocks = 1000;
  EXPECT_NO_THROW(check(enough));
  enough.turns[0].next = 1;  // itself
  EXPECT_THROW(check(enough), core::InputError);
  enough = spec;
  enough.blocks = 1000;
  enough.turns[0].waits = 1;  // for nobody
  EXPECT_THROW(check(enough), core::InputError);
}

TEST(ServingRequests, ThatWouldBeTooLongBeginASessionAnew) {
  ServingStudy study = study_of(200);
  study.spec.request_tokens_max = 200;
  study.requests.sessions = {.turns = 50};
  const Spec spec = requests_of(study);
  for (const Request& r : spec.requests) EXPECT_LE(r.prefill + r.decode, 200u);
  const auto begins = [](const Prefix& p) { return p.parent == 0; };
  EXPECT_GT(std::ranges::count_if(spec.prefixes.of, begins), 20);
}

TEST(ServingRequests, AreOfClassesByTheirShares) {
  ServingStudy study = study_of(9'000);
  study.requests.classes.resize(2);
  study.requests.classes[0].share = 2;
  study.requests.classes[1].output = LengthSpec{.tokens = 77};
  Spec spec = requests_of(study);
  const auto is_b = [](const Request& r) { return r.class_id == 1; };
  // Four deviations of a binomial.
  EXPECT_NEAR(static_cast<double>(std::ranges::count_if(spec.requests, is_b)), 3'000, 4 * 44.7);
  for (const Request& r : spec.requests) EXPECT_EQ(r.decode == 77, is_b(r));
  study.requests.sessions.turns = 3;
  spec = requests_of(study);
  for (std::size_t i = 0; i < spec.requests.size(); ++i) {
    const std::uint32_t parent = spec.prefixes.of[i].parent;
    if (parent == 0) continue;
    EXPECT_EQ(spec.requests[i].class_id, spec.requests[parent - 1].class_id);
  }
}

}  // namespace
}  // namespace exawarp::tests
