#include "io/report/packet_counters.h"

namespace exawarp::io {

std::vector<std::pair<std::string, std::uint64_t>> packet_counters(
    const model::PacketTotals& totals) {
  return {{"packet_hops", totals.packet_hops},
          {"packets_sent", totals.packets_sent},
          {"drops", totals.drops},
          {"unroutable", totals.lost},
          {"repeated", totals.repeated},
          {"marks", totals.marks},
          {"pauses", totals.pauses},
          {"deepest_queue_ps", static_cast<std::uint64_t>(totals.deepest_queue.ps)},
          {"busiest_port_bytes", totals.busiest_bytes}};
}

}  // namespace exawarp::io
