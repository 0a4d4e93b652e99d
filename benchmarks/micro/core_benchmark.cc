// What each event pays in core/: its contribution to the digest, and its random numbers.
#include <benchmark/benchmark.h>

#include "core/arena.h"
#include "core/digest.h"
#include "core/random.h"

namespace exawarp::core {
namespace {

void digest_of_an_event(benchmark::State& state) {
  Digest digest;
  std::uint64_t word = 1;
  for (auto _ : state) {
    Hasher hash;
    for (int i = 0; i < 7; ++i) hash.word(word++);
    digest.add(hash.value());
  }
  benchmark::DoNotOptimize(digest);
}
BENCHMARK(digest_of_an_event);

void random_draw(benchmark::State& state) {
  std::uint64_t draw = 0;
  std::uint64_t sum = 0;
  for (auto _ : state) sum += random_bits(7, draw++);
  benchmark::DoNotOptimize(sum);
}
BENCHMARK(random_draw);

void arena_of_a_million_states(benchmark::State& state) {
  for (auto _ : state) {
    Arena arena;
    for (int i = 0; i < 1'000'000; ++i) *static_cast<int*>(arena.allocate(128, 64)) = i;
    benchmark::DoNotOptimize(arena.bytes_mapped());
  }
}
BENCHMARK(arena_of_a_million_states)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace exawarp::core
