#include "model/network/packet/flow_list.h"

#include <algorithm>
#include <utility>

namespace exawarp::model {

FlowList::FlowList(std::vector<ListedFlow> flows) : flows_(std::move(flows)) {
  std::ranges::stable_sort(
      flows_, {}, [](const ListedFlow& flow) { return std::pair(flow.source, flow.start); });
}

std::span<const ListedFlow> FlowList::of(core::DeviceId source) const {
  const auto first = std::ranges::lower_bound(flows_, source.value, {}, &ListedFlow::source);
  const auto last = std::ranges::upper_bound(flows_, source.value, {}, &ListedFlow::source);
  return {first, last};
}

}  // namespace exawarp::model
