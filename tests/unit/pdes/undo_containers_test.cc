// Queue, heap and table against the standard ones, with rollbacks and audits from a storm of
// events.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <type_traits>

#include "core/digest.h"
#include "pdes/undo_heap.h"
#include "pdes/undo_ring.h"
#include "pdes/undo_table.h"
#include "pdes/undo_vector.h"
#include "tests/support/run_matrix.h"

namespace exawarp::tests {
namespace {

using namespace pdes;

struct Entry {
  std::uint64_t key = 0;
  std::uint64_t value = 0;
};

// Every event pushes, pops, inserts, changes or erases, as its number says, and sends one
// elsewhere.
class Containers final : public Model {
 public:
  struct State {
    UndoRing<std::uint64_t> ring;
    UndoTable<Entry> table;
    UndoVector<std::uint64_t> heap;
    std::uint64_t handled = 0;
    std::uint64_t wrong = 0;
  };
  static constexpr std::uint32_t kLps = 16;
  static constexpr std::uint64_t kKeys = 40;

  [[nodiscard]] std::span<const LpType> types() const override { return {&type_, 1}; }
  [[nodiscard]] std::span<const LpRange> ranges() const override { return {&range_, 1}; }
  [[nodiscard]] Time lookahead() const override { return Time{10}; }
  void initialise(LpId lp, void*, Context& ctx) const override {
    ctx.send(lp, Time{10}, 0, std::uint64_t{core::mix64(lp.value)});
  }

  static void handle(State& s, const Event& event, Context& ctx) {
    const auto bits = event.as<std::uint64_t>();
    if (bits % 3 != 0) {
      s.ring.push_back(ctx, bits);
    } else if (!s.ring.empty()) {
      s.ring.pop_front(ctx);
    }
    const std::uint64_t key = (bits >> 8) % kKeys;
    Entry* entry = s.table.find(key);
    if (entry == nullptr) {
      s.table.insert(ctx, {key, bits});
    } else if (bits % 5 < 2) {
      ctx.set(entry->value, bits);
    } else {
      s.table.erase(ctx, entry);
      if (s.table.find(key) != nullptr) ctx.add(s.wrong, 1u);
    }
    if (s.heap.empty() || bits % 7 < 4) {
      heap_push(s.heap, ctx, bits % 50, std::less<>{});
    } else {
      heap_erase(s.heap, ctx, static_cast<std::uint32_t>((bits >> 4) % s.heap.size()),
                 std::less<>{});
    }
    for (std::uint32_t i = 1; i < s.heap.size(); ++i) {
      if (s.heap[i] < s.heap[(i - 1) / 2]) ctx.add(s.wrong, 1u);
    }
    ctx.check(s.wrong == 0, "a container does not hold what it should");
    ctx.add(s.handled, 1u);
    if (s.handled > 400) return;
    const LpId to{static_cast<std::uint32_t>((bits >> 20) % kLps)};
    ctx.send(to, Time{static_cast<std::int64_t>(10 + (bits >> 30) % 90)}, 0,
             core::mix64(bits + 1));
  }

  static void describe(State& s, StateArchive& archive) {
    archive.word(s.handled);
    archive.word(s.wrong);
    s.ring.describe(archive, [&](std::uint64_t& value) { archive.word(value); });
    s.heap.describe(archive, [&](std::uint64_t& value) { archive.word(value); });
    std::uint32_t seen = 0;
    s.table.describe(archive, [&](Entry& e) {
      archive.bytes(&e);
      ++seen;
    });
    archive.digest_word(seen == s.table.size() ? 0 : 1);
  }

 private:
  LpType type_ = make_lp_type<Containers>("containers");
  LpRange range_{LpId{0}, kLps, 0};
};

TEST(UndoContainers, SurviveRollbacksAndAudits) {
  const Containers model;
  const tests::MatrixModel matrix{.model = &model, .placer = tests::blocks_of(Containers::kLps, 0)};
  const RunResult expected = tests::run_case(matrix, {});
  EXPECT_GT(expected.total.committed_events(), 3'000u);
  for (const std::uint32_t partitions : {2u, 5u}) {
    const RunResult result = tests::run_case(matrix, {.sync = Sync::optimistic,
                                                     .threads = 2,
                                                     .partitions_per_rank = partitions,
                                                     .window = Time{500},
                                                     .audit_probability = 0.3});
    EXPECT_EQ(result.digest, expected.digest);
    EXPECT_GT(result.total.rolled_back_events, 0u);
    EXPECT_GT(result.total.audited_events, 100u);
  }
}

template <class T>
concept DescribedAsBytes = std::has_unique_object_representations_v<T>;

struct HeadWithRing {
  std::uint64_t count;
  UndoRing<std::uint64_t> ring;
};
static_assert(DescribedAsBytes<Entry>);
static_assert(!DescribedAsBytes<UndoVector<Entry>>);
static_assert(!DescribedAsBytes<UndoTable<Entry>>);
static_assert(!DescribedAsBytes<HeadWithRing>, "whoever has an address in it is described");

// One LP that replays random operations on std::deque and std::map too, and compares after each.
class Reference final : public Model {
 public:
  struct State {
    UndoRing<std::uint64_t> ring;
    UndoTable<Entry> table;
    UndoVector<std::uint64_t> heap;
  };
  [[nodiscard]] std::span<const LpType> types() const override { return {&type_, 1}; }
  [[nodiscard]] std::span<const LpRange> ranges() const override { return {&range_, 1}; }
  [[nodiscard]] Time lookahead() const override { return Time{1}; }
  void initialise(LpId lp, void*, Context& ctx) const override { ctx.send(lp, Time{1}, 0); }

  static void change_heap(State& s, std::multiset<std::uint64_t>& set, std::uint64_t bits,
                          bool growing, Context& ctx) {
    const std::uint64_t value = (bits >> 8) % 1'000;
    const auto remove = [&](std::uint64_t of) { set.erase(set.find(of)); };
    if (s.heap.empty() || bits % 8 < (growing ? 5u : 2u)) {
      heap_push(s.heap, ctx, value, std::less<>{});
      set.insert(value);
    } else if (bits % 8 == 5) {
      remove(s.heap[0]);
      heap_replace_first(s.heap, ctx, value, std::less<>{});
      set.insert(value);
    } else if (bits % 8 == 6) {
      remove(s.heap[0]);
      ctx.set(s.heap.at(0), s.heap[0] + value);
      set.insert(s.heap[0]);
      heap_sink_first(s.heap, ctx, std::less<>{});
    } else {
      const auto i = static_cast<std::uint32_t>((bits >> 20) % s.heap.size());
      remove(s.heap[i]);
      heap_erase(s.heap, ctx, i, std::less<>{});
    }
    ASSERT_EQ(s.heap.size(), set.size());
    if (!set.empty()) {
      ASSERT_EQ(s.heap[0], *set.begin());
    }
  }

  static void handle(State& s, const Event&, Context& ctx) {
    std::multiset<std::uint64_t> set;
    std::deque<std::uint64_t> queue;
    std::map<std::uint64_t, std::uint64_t> map;
    for (std::uint64_t step = 0; step < 5'000; ++step) {
      const std::uint64_t bits = core::random_bits(7, step);
      const bool growing = (step / 700) % 2 == 0;
      if (bits % 8 < (growing ? 6u : 2u)) {
        s.ring.push_back(ctx, bits);
        queue.push_back(bits);
      } else if (!queue.empty()) {
        EXPECT_EQ(s.ring.front(), queue.front());
        s.ring.pop_front(ctx);
        queue.pop_front();
      }
      change_heap(s, set, bits, growing, ctx);
      const std::uint64_t key = (bits >> 16) % 300;
      Entry* entry = s.table.find(key);
      ASSERT_EQ(entry != nullptr, map.contains(key));
      if (entry == nullptr && growing) {
        s.table.insert(ctx, {key, bits});
        map[key] = bits;
      } else if (entry != nullptr) {
        ASSERT_EQ(entry->value, map[key]);
        s.table.erase(ctx, entry);
        map.erase(key);
      }
      ASSERT_EQ(s.ring.size(), queue.size());
      ASSERT_EQ(s.table.size(), map.size());
    }
    while (!set.empty()) {
      ASSERT_EQ(s.heap[0], *set.begin());
      heap_erase(s.heap, ctx, 0, std::less<>{});
      set.erase(set.begin());
    }
    for (const auto& [key, value] : map) {
      ASSERT_NE(s.table.find(key), nullptr);
      EXPECT_EQ(s.table.find(key)->value, value);
    }
  }
  static void describe(State& s, StateArchive& archive) {
    s.ring.describe(archive, [&](std::uint64_t& value) { archive.word(value); });
    s.heap.describe(archive, [&](std::uint64_t& value) { archive.word(value); });
    s.table.describe(archive, [&](Entry& e) { archive.bytes(&e); });
  }

 private:
  LpType type_ = make_lp_type<Reference>("reference");
  LpRange range_{LpId{0}, 1, 0};
};

TEST(UndoContainers, BehaveAsTheStandardOnes) {
  const Reference model;
  const tests::MatrixModel matrix{.model = &model, .placer = tests::blocks_of(1, 0)};
  EXPECT_EQ(tests::run_case(matrix, {}).total.committed_events(), 1u);
}

}  // namespace
}  // namespace exawarp::tests
