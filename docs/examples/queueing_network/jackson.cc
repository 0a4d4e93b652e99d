#include "docs/examples/queueing_network/jackson.h"

#include <cmath>

#include "core/check.h"

namespace exawarp::examples {
namespace {

// arrivals(j) = entries(j) + sum over i of arrivals(i) * share of i's customers that go to j.
// Solved by putting the right side in for the left until nothing moves: customers leave, so the
// influence of a guess dies out.
std::vector<double> solve_traffic(const NetworkSpec& spec, const std::vector<double>& entries) {
  std::vector<double> arrivals = entries;
  for (int round = 0; round < 10'000; ++round) {
    std::vector<double> next = entries;
    for (std::size_t i = 0; i < arrivals.size(); ++i)
      for (const Route& route : spec.stations[i].routes)
        next[route.to] += arrivals[i] * route.permille / 1000.0;
    double moved = 0;
    for (std::size_t i = 0; i < arrivals.size(); ++i) moved += std::abs(next[i] - arrivals[i]);
    arrivals.swap(next);
    if (moved <= 1e-12 * arrivals.front()) break;
  }
  return arrivals;
}

// Whitt ("Planning queueing simulations", Management Science 35(11), 1989): the variance of an
// M/M/1 queue's mean number over a time T is, for large T, 2 rho (1 + rho) / (1 - rho)^4 over
// the number of mean service times in T. It allows for the run's dependence on itself.
double error_over_1s(double load, double service_s) {
  return std::sqrt(2 * load * (1 + load) * service_s) / ((1 - load) * (1 - load));
}

}  // namespace

NetworkTheory theory_of(const NetworkSpec& spec) {
  NetworkTheory network;
  std::vector<double> entries;
  for (const StationSpec& station : spec.stations) {
    const bool entered = station.entry_interval > Time{0};
    entries.push_back(entered ? 1 / core::to_seconds(station.entry_interval) : 0);
    network.entries_per_s += entries.back();
  }
  const std::vector<double> arrivals = solve_traffic(spec, entries);
  double present = 0;  // customers in the network, those in transfer included
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    const double service_s = core::to_seconds(spec.stations[i].service);
    const double load = arrivals[i] * service_s;
    EXAWARP_CHECK(load < 1, i, load);
    const double customers = load / (1 - load);
    network.stations.push_back({.arrivals_per_s = arrivals[i],
                                .load = load,
                                .customers = customers,
                                .sojourn_s = customers / arrivals[i],
                                .customers_error_1s = error_over_1s(load, service_s)});
    present += customers + (arrivals[i] - entries[i]) * core::to_seconds(spec.transfer);
  }
  network.sojourn_s = present / network.entries_per_s;
  return network;
}

double customers_error(const StationTheory& station, Time end) {
  return station.customers_error_1s / std::sqrt(core::to_seconds(end));
}

}  // namespace exawarp::examples
