#include "model/network/packet/flow_list.h"

#include <algorithm>
#include <utility>

namespace exawarp::model {

FlowList::FlowList(std::vector<ListedFlow> flows) : flows_(std::move(flows)) {
  std::ranges::stable_sort(
      flows_, {}, [](const ListedFlow& flow) { return std::pair(flow.source, flow.start); });
}

std::span<const ListedFlow> FlowList::of(core::DeviceId source) const {
  const auto found = std::ranges::equal_range(flows_, source.value, {}, &ListedFlow::source);
  return {found.begin(), found.end()};
}

}  // namespace exawarp::model
