// What a workload asks of the links of its fabric, beside what it asks of devices' interfaces.
//
// Fidelities `analytical` and `message` know interfaces alone. Where links behind them are fewer
// than what is sent at once, as with leaves that have less bandwidth upwards than downwards, or
// where messages of a torus pass other devices' links, collectives take up to so many times longer
// as the busiest link has more to carry than the busiest interface. That much can be told from the
// programs, without simulating a link.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/device/time_class.h"

namespace exawarp::model {

// Of all messages of one kind of communication across nodes, in a whole run.
struct LinkLoad {
  TimeClass kind = TimeClass::other;
  double interface_s = 0;  // what the busiest interface is kept by them; > 0
  double link_s = 0;       // the busiest link, where ways share evenly (even_spread.h)
  std::string link;        // that one's ends, "s3 to s17"

  [[nodiscard]] double times() const { return link_s / interface_s; }
};

// By kind, those with messages across nodes. Of links as they are without faults; what the network
// combines on its way is left out. Empty where nothing need be told: links are simulated (`flow`,
// `packet`), or the fabric is a fat tree of whole tiers; and where nothing is: jobs that serve,
// programs of more than kLoadMessagesMax different messages, networks of more links than
// kLoadLinksMax.
std::vector<LinkLoad> link_loads(const Cluster& cluster);
constexpr std::uint64_t kLoadMessagesMax = std::uint64_t{1} << 21;
constexpr std::uint64_t kLoadLinksMax = std::uint64_t{1} << 20;  // full-duplex

}  // namespace exawarp::model
