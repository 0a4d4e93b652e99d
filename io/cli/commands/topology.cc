#include "io/cli/commands/topology.h"

#include <memory>
#include <optional>
#include <ostream>

#include "core/error.h"
#include "core/output_file.h"
#include "io/life/agreement.h"
#include "io/report/topology_dot.h"
#include "io/report/topology_facts.h"
#include "io/report/topology_links.h"
#include "io/report/topology_svg.h"
#include "io/study/find_config.h"
#include "io/study/in_file.h"
#include "io/study/study_cluster.h"
#include "io/study/suggest.h"
#include "io/study/traffic_study.h"

namespace exawarp::io {
namespace {

std::unique_ptr<model::Topology> topology_of(const TopologyArguments& a) {
  const std::string file = find_config(a.study_file, kNetworkFolders);
  if (is_traffic_study(file, a.overrides)) {
    const TrafficStudy study = read_traffic_study(file, a.overrides);
    return model::make_topology(study.fabric, study.devices);
  }
  const Study study = read_study(file, a.overrides);
  return model::make_topology(study.system.fabric, devices_of(study, load_jobs(study)));
}

void show(const TopologyArguments& a, const Console& console) {
  const bool svg = a.output.ends_with(".svg"), dot = a.output.ends_with(".dot");
  if (!a.output.empty() && !svg && !dot) {
    throw core::InputError("--output",
                           in_quotes(a.output) + " is no picture; expected .svg or .dot");
  }
  if (dot && !a.load.empty()) {
    throw core::InputError("--load", "needs a picture with colours; expected -o FILE.svg");
  }
  const std::unique_ptr<model::Topology> topology =
      in_file(a.study_file, [&] { return topology_of(a); });
  std::optional<LinkLoads> loads;
  if (!a.load.empty()) loads.emplace(a.load, *topology);
  if (svg) return core::write_file(a.output, svg_of(*topology, loads ? &*loads : nullptr));
  if (dot) return core::write_file(a.output, dot_of(*topology, a.output));
  if (a.links) return print_links(*topology, console.out);
  const TopologyFacts facts = facts_of(*topology);
  console.out << (a.json ? topology_json(facts) : printable(topology_text(facts))) << std::flush;
}

}  // namespace

int show_topology(const TopologyArguments& a, const Console& console, pdes::Transport& transport) {
  agree(transport, [&] {
    if (transport.rank().value == 0) show(a, console);
  });
  return kDone;
}

}  // namespace exawarp::io
