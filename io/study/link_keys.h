// The keys of what carries bytes: links of topologies and graphs, nodes, fat trees.
#pragma once

#include <functional>
#include <string>

#include "io/study/keys.h"
#include "model/topology/topology.h"

namespace exawarp::io {

// `bandwidth`, which goes to `at`.
template <class Spec, class Ref>
typename Keys<Spec>::Key bandwidth_key(Ref at) {
  return Keys<Spec>::quantity("bandwidth", at, {core::Dimension::bandwidth, 1},
                              "what transfers achieve")
      .required();
}

// `peak_bandwidth`, for the reader of the file: it bounds what is at `at`.
template <class Spec, class Ref>
typename Keys<Spec>::Key peak_bandwidth_key(Ref at) {
  return Keys<Spec>::custom(
             "peak_bandwidth", {ValueShape::quantity(core::Dimension::bandwidth, 1)},
             "line rate, which bounds `bandwidth`",
             [at](const YamlSection& section, Spec& spec, const KeySchema& key) {
               const std::int64_t achieved = std::invoke(at, spec);
               const std::int64_t peak =
                   section.quantity(key.name, core::Dimension::bandwidth, 1, achieved);
               if (achieved <= peak) return;
               section.fail("bandwidth",
                            "is above peak_bandwidth; expected what transfers achieve");
             })
      .otherwise("`bandwidth`");
}

// All of a link but its name.
const Keys<model::LinkKind>& link_kind_keys();

}  // namespace exawarp::io
