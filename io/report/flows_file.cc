#include "io/report/flows_file.h"

#include <string>

#include "io/report/append.h"

namespace exawarp::io {

void write_flows(const model::FlowTimes& flows, core::OutputFile& file) {
  constexpr std::size_t kBufferBytes = 1 << 20;
  std::string out = "source,destination,bytes,start_ps,end_ps\n";
  for (const model::FlowTimes::Flow& f : flows.flows()) {
    append(out, "{},{},{},{},{}\n", f.source, f.destination, f.bytes, (f.finished - f.took).ps,
           f.finished.ps);
    if (out.size() < kBufferBytes) continue;
    file.write(out);
    out.clear();
  }
  file.write(out);
  file.commit();
}

}  // namespace exawarp::io
