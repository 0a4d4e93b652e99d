#include "io/report/port_counters_file.h"

#include "io/report/append.h"
#include "io/report/results.h"

namespace exawarp::io {
namespace {

std::string csv_of(const model::PacketNetwork& network, const model::PortCounters& counters) {
  const model::Topology& t = network.topology();
  std::string out =
      "vertex,port,peer,peer_port,link,from_ps,until_ps,bytes,packets,utilisation,"
      "queue_peak_bytes,queue_peak_ps,marks,drops,pauses\n";
  const std::int64_t width = counters.width().ps;
  for (const model::PortCounters::Row& row : counters.rows()) {
    const model::VertexId v = network.vertex_of(row.lp);
    const model::Link link = t.link(v, row.port);
    const model::LinkKind& kind = t.link_kinds()[link.kind];
    const model::PortCounters::Bucket& b = row.bucket;
    __extension__ using Wide = __int128;
    const auto queue_bytes =
        static_cast<std::int64_t>(static_cast<Wide>(b.queue_peak_ps) * kind.bandwidth_bytes_per_s /
                                  core::kPicosecondsPerSecond);
    append(out, "{},{},{},{},{},{},{},{},{},{:.6f},{},{},{},{},{}\n", vertex_name(t, v), row.port,
           vertex_name(t, link.peer), link.peer_port, kind.name, row.index * width,
           (row.index + 1) * width, b.bytes, b.packets,
           static_cast<double>(b.busy_ps) / static_cast<double>(width), queue_bytes,
           b.queue_peak_ps, b.marks, b.drops, b.pauses);
  }
  return out;
}

}  // namespace

void write_port_counters(const model::PacketNetwork& network, const model::PortCounters& counters,
                         core::OutputFile& file) {
  file.write(csv_of(network, counters));
  file.commit();
}

}  // namespace exawarp::io
