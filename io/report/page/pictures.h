// What a report draws of a run beyond its summary: a simulation with a timeline, and with counters
// of ports where there are packets, boiled down to what a page can show.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "io/report/results.h"

namespace exawarp::io {

// Numbers of a run's pictures, by the page's script (report.js):
//
//   fidelity, step_ps  of the simulation that they are of
//   pipeline  {end_ps, classes: [name], devices: [{name, doing, passes}]}: `doing` has a letter for
//             each equal part of the time, 'a' and the class that took most of it; a pass is
//             [phase, micro-batch or -1, from_ps, until_ps], computing one after the other
//   links     {width_ps, tiers: [{name, ports, mean, most, queue_ps, use}]}: over time, for each
//             `width_ps`, mean and greatest use of a tier's ports and the longest queue; `use`: of
//             each port over all of the time, or the greatest of several neighbours
//   power     {width_ps, watts}: of the cluster
//
// What the run has not is left out. Requires a finished run on rank 0, with a timeline.
nlohmann::ordered_json pictures_of(const RunReport& report);

}  // namespace exawarp::io
