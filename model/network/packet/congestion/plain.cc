// No congestion control: packets leave at the line's rate, as many as flow control and recovery
// allow.
#include "model/network/packet/congestion_control.h"

namespace exawarp::model::congestion {

CongestionAlgorithm plain() {
  return {.name = "plain",
          .meaning = "sends at the line's rate",
          .place = 0,
          .make = [](const ParameterValues&) -> std::unique_ptr<const CongestionControl> {
            return std::make_unique<const CongestionControl>(CongestionTraits{});
          }};
}

}  // namespace exawarp::model::congestion
