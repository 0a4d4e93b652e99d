#include "io/report/printed_json.h"

#include <nlohmann/json.hpp>

namespace exawarp::io {

std::string printed(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace exawarp::io
