// Progressive filling, one bottleneck after another.
//
// A heap has the links of the part by their equal shares. When a link has given its flows their
// share, the shares of the links that these cross too can only rise: with r left for n flows, and
// s <= floor(r / n) taken by one of them, floor((r - s) / (n - 1)) >= floor(r / n). So a share in
// the heap is never above the true one, and the top is looked at again before it is believed.
//
// Example: links A (10 units) and B (4), flows on A, on A and B, and on B. B's share is 2, A's 5:
// both flows on B get 2, and the first one the 8 that are left of A.
#include "model/network/flow/fair_shares.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace exawarp::model {

FairShares::FairShares(std::vector<std::uint64_t> capacities)
    : capacities_(std::move(capacities)), links_seen_(capacities_.size()) {}

void FairShares::begin() { first_stamp_ = stamp_ + 1; }

void FairShares::gather(const FlowLists& lists, std::uint32_t link) {
  ++stamp_;
  links_.clear();
  flows_.clear();
  links_.push_back(link);
  links_seen_[link].stamp = stamp_;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const FlowLink& of = lists.links[links_[i]];
    for (std::uint32_t h = of.first; h != kNoFlowHop; h = lists.hops[h].next) {
      see_flow(lists, lists.flow_of(h));
    }
  }
}

void FairShares::see_flow(const FlowLists& lists, std::uint32_t flow) {
  if (flow >= flows_seen_.size()) flows_seen_.resize(std::max<std::size_t>(64, 2 * flow));
  SeenFlow& seen = flows_seen_[flow];
  if (seen.stamp == stamp_) return;
  seen = {stamp_, 0};
  flows_.push_back(flow);
  for (const FlowHop& hop : lists.hops_of(flow)) {
    if (hop.link == kNoLink) break;
    SeenLink& link = links_seen_[hop.link];
    if (link.stamp == stamp_) continue;
    link.stamp = stamp_;
    links_.push_back(hop.link);
  }
}

void FairShares::forget() {
  for (const std::uint32_t link : links_) links_seen_[link].stamp = 0;
}

void FairShares::solve(const FlowLists& lists) {
  if (flows_.empty()) return;
  if (flows_.size() == 1) return solve_one(lists);
  heap_.clear();
  for (const std::uint32_t link : links_) {
    SeenLink& seen = links_seen_[link];
    seen.left = capacities_[link];
    seen.flows = lists.links[link].flows;
    heap_.push_back({seen.left / seen.flows, link});
  }
  std::make_heap(heap_.begin(), heap_.end(), IsLater{});
  for (std::size_t without = flows_.size(); without != 0;) {
    EXAWARP_CHECK(!heap_.empty(), without);
    const Candidate top = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), IsLater{});
    const SeenLink& seen = links_seen_[top.link];
    const std::uint64_t share = seen.flows == 0 ? 0 : seen.left / seen.flows;
    if (seen.flows == 0) {
      heap_.pop_back();
    } else if (share > top.share) {
      heap_.back().share = share;
      std::push_heap(heap_.begin(), heap_.end(), IsLater{});
    } else {
      heap_.pop_back();
      without -= fill(lists, top.link, share);
    }
  }
}

void FairShares::solve_one([[maybe_unused]] const FlowLists& lists) {
  std::uint64_t least = ~std::uint64_t{0};
  for (const std::uint32_t link : links_) least = std::min(least, capacities_[link]);
  EXAWARP_DCHECK(lists.links[links_.front()].flows == 1);
  flows_seen_[flows_.front()].rate = least;
}

// Gives the flows of `link` that have none the share; returns how many these are.
std::size_t FairShares::fill(const FlowLists& lists, std::uint32_t link, std::uint64_t share) {
  std::size_t filled = 0;
  for (std::uint32_t h = lists.links[link].first; h != kNoFlowHop; h = lists.hops[h].next) {
    SeenFlow& flow = flows_seen_[lists.flow_of(h)];
    if (flow.rate != 0) continue;
    flow.rate = std::max<std::uint64_t>(1, share);
    ++filled;
    for (const FlowHop& hop : lists.hops_of(lists.flow_of(h))) {
      if (hop.link == kNoLink) break;
      SeenLink& other = links_seen_[hop.link];
      other.left -= std::min(share, other.left);
      --other.flows;
    }
  }
  return filled;
}

}  // namespace exawarp::model
