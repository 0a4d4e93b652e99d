// Messages that somebody listed, one by one: of which device, to which, how long, and when.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/time.h"

namespace exawarp::model {

struct ListedFlow {
  std::uint32_t source = 0, destination = 0;
  std::int64_t bytes = 0;
  core::Time start;  // when its source sends it, whatever became of those before
};

// By source and start; those of one source and start keep their order.
// Memory: 24 bytes a flow, and nothing for devices.
class FlowList {
 public:
  explicit FlowList(std::vector<ListedFlow> flows);

  [[nodiscard]] std::span<const ListedFlow> all() const { return flows_; }
  // Those that a device sends. O(log n).
  [[nodiscard]] std::span<const ListedFlow> of(core::DeviceId source) const;

 private:
  std::vector<ListedFlow> flows_;
};

}  // namespace exawarp::model
