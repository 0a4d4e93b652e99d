// What the page of `exawarp report` shows, gathered: results as they lie there, and pictures of
// runs, for which they are simulated again.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "io/life/workers.h"

namespace exawarp::io {

struct ReportOptions {
  bool pictures = true;         // simulate again for them
  double simulation_s = 8;      // host time that a run took at most to be simulated again as it was
  Notify notify = {};           // lines for the user
};

// {title, version, runs, sweeps} of results: directories with a summary.json, such files, and
// databases of sweeps and searches, *.db; each in the order given.
//
//   a run    {name, path, summary, study, pictures, note}: `summary` word for word, `study` as it
//            was resolved; `pictures` as pictures.h says; `note`: what there is to say of them
//   a sweep  {name, path, keys, measures: [{name, unit, more_is_better}], points: [{number, state,
//            values, figures, reason}]}
//
// Throws core::InputError for a path that is none of these, core::SystemError.
nlohmann::ordered_json report_data(const std::vector<std::string>& paths,
                                   const ReportOptions& options);

}  // namespace exawarp::io
