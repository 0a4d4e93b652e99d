#include "io/commands/topology.h"

#include <memory>
#include <ostream>

#include "core/error.h"
#include "io/agreement.h"
#include "io/results.h"
#include "io/study_cluster.h"
#include "io/suggest.h"
#include "io/topology_dot.h"
#include "io/topology_facts.h"
#include "io/topology_svg.h"

namespace exawarp::io {
namespace {

void show(const TopologyArguments& a, const Console& console) {
  const bool svg = a.output.ends_with(".svg"), dot = a.output.ends_with(".dot");
  if (!a.output.empty() && !svg && !dot) {
    throw core::InputError("--output",
                           in_quotes(a.output) + " is no picture; expected .svg or .dot");
  }
  const Study study = read_study(a.study_file, a.overrides);
  const std::unique_ptr<model::Topology> topology =
      model::make_topology(study.system.fabric, devices_of(study, load_jobs(study)));
  if (svg) return write_atomically(a.output, svg_of(*topology));
  if (dot) return write_atomically(a.output, dot_of(*topology, a.output));
  const TopologyFacts facts = facts_of(*topology);
  console.out << (a.json ? topology_json(facts) : topology_text(facts)) << std::flush;
}

}  // namespace

int show_topology(const TopologyArguments& a, const Console& console,
                  pdes::Transport& transport) {
  agree(transport, [&] {
    if (transport.rank().value == 0) show(a, console);
  });
  return kDone;
}

}  // namespace exawarp::io
