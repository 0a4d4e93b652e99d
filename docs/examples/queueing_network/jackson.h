// What theory says of the network: each station behaves, in its mean numbers, as a single M/M/1
// queue whose arrivals solve the traffic equations (J. R. Jackson: "Networks of waiting lines",
// Operations Research 5(4), 1957). The transfers are stations without waiting (any number of
// servers), with which the theorem still holds (Baskett, Chandy, Muntz, Palacios, 1975).
#pragma once

#include <vector>

#include "docs/examples/queueing_network/network.h"

namespace exawarp::examples {

struct StationTheory {
  double arrivals_per_s = 0;  // from outside and from other stations
  double load = 0;            // rho = arrivals * mean service time
  double customers = 0;       // rho / (1 - rho)
  double sojourn_s = 0;       // Little's law: customers / arrivals
  // Standard error of the mean number of customers in a run of one second; it falls with the
  // square root of the length. See jackson.cc.
  double customers_error_1s = 0;
};

struct NetworkTheory {
  std::vector<StationTheory> stations;
  double entries_per_s = 0;
  double sojourn_s = 0;  // of a customer in the network, transfers included
};

// Requires a network in which every station's load is below one.
NetworkTheory theory_of(const NetworkSpec& spec);

// The standard error of a station's mean number of customers in a run up to `end`.
double customers_error(const StationTheory& station, Time end);

}  // namespace exawarp::examples
