// An open network of queues: customers enter, are served at one station after another, and leave.
//
// Each station is a logical process with one server and a queue, first in, first out. Service
// times, and the times between customers from outside, are exponential; after service a customer
// goes on to a station drawn from its routes, which takes a fixed transfer time, or leaves.
// Jackson (1957) gives the mean number of customers at each station in closed form (jackson.h),
// so the model shows that its answer is right, not only that all modes agree.
//
// Simultaneous events: two customers that reach a station in the same picosecond queue in the
// order of the stations they come from. With times of about 10^6 ps this is too rare to matter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pdes/context.h"
#include "pdes/emission.h"
#include "pdes/logical_process.h"
#include "pdes/undo_vector.h"

namespace exawarp::examples {

using core::LpId;
using core::Time;

struct Route {
  std::uint32_t to = 0;        // station
  std::uint32_t permille = 0;  // of the customers served
};

struct StationSpec {
  Time entry_interval{0};     // mean time between customers from outside; 0: none
  Time service{1};            // mean
  std::vector<Route> routes;  // together at most 1000 permille; the rest leave
};

struct NetworkSpec {
  std::vector<StationSpec> stations;
  Time transfer{1};  // from any station to any, itself included
};

// Twelve stations of different load, with loops.
NetworkSpec example_network();

struct Customer {
  Time entered;  // the network
  Time arrived;  // at this station
};

// The logical process.
struct Station {
  // 48 bytes: with the engine's header one cache line.
  struct State {
    pdes::UndoVector<Customer> customers;  // the first is being served, the others wait
    std::uint64_t served = 0;
    std::uint64_t sojourn_ps = 0;  // time at this station, summed over the customers served
    std::uint64_t area_ps = 0;     // customers present times time, up to `changed`
    Time changed;                  // when their number changed last
  };
  static_assert(sizeof(State) == 48);

  static void handle(State& s, const pdes::Event& event, pdes::Context& ctx);
  static void describe(State& s, pdes::StateArchive& archive);
};

// What a station says of itself, averaged over a run.
struct StationMeans {
  double customers = 0;
  double sojourn_s = 0;
  std::uint64_t served = 0;
};
StationMeans means_of(const Station::State& s, Time end);

// The model: stations and how they are joined. Station i is logical process i.
class Network : public pdes::Model {
 public:
  // Requires what the comments of NetworkSpec say, at least one station, and transfer >= 1 ps.
  explicit Network(NetworkSpec spec);

  [[nodiscard]] std::span<const pdes::LpType> types() const override { return {&type_, 1}; }
  [[nodiscard]] std::span<const pdes::LpRange> ranges() const override { return {&range_, 1}; }
  [[nodiscard]] Time lookahead() const override { return spec_.transfer; }
  void initialise(LpId lp, void* state, pdes::Context& ctx) const override;

  [[nodiscard]] const NetworkSpec& spec() const { return spec_; }

 private:
  NetworkSpec spec_;
  pdes::LpType type_;
  pdes::LpRange range_;
};

// The one channel of output: a customer left; value a is the time it spent in the network, in ps.
constexpr std::uint32_t kLeftChannel = 1;

// Adds up the customers that left.
// Thread safety: partitions deliver at the same time, each into a sum of its own.
class Departures final : public pdes::EmissionSink {
 public:
  explicit Departures(std::uint32_t partitions) : sums_(partitions) {}
  void deliver(core::PartitionId partition, const pdes::Emission& emission) override;

  struct Sum {
    std::uint64_t customers = 0;
    std::uint64_t time_ps = 0;
    friend bool operator==(const Sum&, const Sum&) = default;
  };
  // Call after the run. Integers, so the order of partitions does not matter.
  [[nodiscard]] Sum total() const;

 private:
  std::vector<Sum> sums_;
};

}  // namespace exawarp::examples
