// Runs the example network and prints each station's means next to the closed form.
//
//   queueing_network [--sync sequential|conservative|optimistic] [--threads N]
//                    [--milliseconds N] [--seed N]
#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "docs/examples/queueing_network/jackson.h"
#include "partition/block.h"
#include "pdes/engine.h"
#include "pdes/transport.h"

namespace exawarp::examples {
namespace {

struct Arguments {
  pdes::Sync sync = pdes::Sync::optimistic;
  std::uint32_t threads = 1;
  Time end{100'000'000'000};
  std::uint64_t seed = 1;
};

std::optional<pdes::Sync> sync_of(std::string_view word) {
  if (word == "sequential") return pdes::Sync::sequential;
  if (word == "conservative") return pdes::Sync::conservative;
  if (word == "optimistic") return pdes::Sync::optimistic;
  return {};
}

std::uint32_t number_of(std::string_view option, std::string_view word) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || value == 0 || value > 1'000'000)
    throw core::InputError(
        fmt::format("{}: \"{}\"; expected a number from 1 to 1000000", option, word));
  return value;
}

Arguments read_arguments(std::span<char*> words) {
  Arguments arguments;
  for (std::size_t i = 1; i < words.size(); i += 2) {
    const std::string_view option = words[i];
    const std::string_view word = i + 1 < words.size() ? words[i + 1] : "";
    if (option == "--sync" && sync_of(word))
      arguments.sync = *sync_of(word);
    else if (option == "--threads")
      arguments.threads = number_of(option, word);
    else if (option == "--milliseconds")
      arguments.end = Time{1'000'000'000} * number_of(option, word);
    else if (option == "--seed")
      arguments.seed = number_of(option, word);
    else
      throw core::InputError(
          fmt::format("\"{} {}\"; expected --sync sequential|conservative|"
                      "optimistic, --threads N, --milliseconds N or --seed N",
                      option, word));
  }
  return arguments;
}

void print_stations(const pdes::Engine& engine, const NetworkTheory& theory, Time end) {
  fmt::print("station   load   customers  rho/(1-rho)  errors   sojourn ns  closed form\n");
  engine.visit([&](LpId lp, const void* state) {
    const StationMeans means = means_of(*static_cast<const Station::State*>(state), end);
    const StationTheory& expected = theory.stations[lp.value];
    const double off = (means.customers - expected.customers) / customers_error(expected, end);
    fmt::print("{:7} {:6.3f} {:11.4f} {:12.4f} {:7.1f} {:12.1f} {:12.1f}\n", lp.value,
               expected.load, means.customers, expected.customers, off, means.sojourn_s * 1e9,
               expected.sojourn_s * 1e9);
  });
}

void run(const Arguments& arguments) {
  const Network network(example_network());
  const auto stations = static_cast<std::uint32_t>(network.spec().stations.size());
  const core::Placement placement = partition::place_in_blocks(
      {.atoms = stations, .partitions_per_rank = std::min(stations, 2 * arguments.threads)});
  Departures departures(placement.partitions());
  const auto transport = pdes::make_single_transport();
  pdes::Engine engine(network, placement,
                      {.sync = arguments.sync,
                       .threads = arguments.threads,
                       .seed = arguments.seed,
                       .end = arguments.end},
                      *transport, &departures);
  const pdes::RunResult result = engine.run();

  const NetworkTheory theory = theory_of(network.spec());
  print_stations(engine, theory, arguments.end);
  const Departures::Sum left = departures.total();
  const double mean_ps = static_cast<double>(left.time_ps) / static_cast<double>(left.customers);
  fmt::print("{} customers left after {:.1f} ns in the mean; closed form {:.1f} ns\n",
             left.customers, mean_ps / 1e3, theory.sojourn_s * 1e9);
  fmt::print("{} events in {:.2f} s, efficiency {:.1f} %, digest {}\n",
             result.total.committed_events(), result.run_s, 100 * result.total.efficiency(),
             to_hex(result.digest));
}

}  // namespace
}  // namespace exawarp::examples

int main(int count, char** words) {
  try {
    exawarp::examples::run(
        exawarp::examples::read_arguments({words, static_cast<std::size_t>(count)}));
    return 0;
  } catch (const exawarp::core::InputError& error) {
    fmt::print(stderr, "queueing_network: {}\n", error.what());
    return 2;
  }
}
