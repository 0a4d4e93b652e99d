// Which flows are on which links, as a logical process that knows all of them keeps it.
#pragma once

#include <cstdint>

#include "model/network/flow/fair_shares.h"
#include "pdes/context.h"
#include "pdes/undo_vector.h"

namespace exawarp::model {

struct LinkFlows {
  pdes::UndoVector<FlowHop> hops;  // 1 << shift a flow
  pdes::UndoVector<FlowLink> links;
  std::uint32_t free = kNoFlow;  // first place without a flow; the next: `next` of its first hop

  void make_links(pdes::Context& ctx, std::uint32_t count) {
    links.reserve(ctx, count);
    for (std::uint32_t l = 0; l < count; ++l) links.push_back(ctx, {});
  }
  [[nodiscard]] FlowLists lists(std::uint32_t shift) const {
    return {links.begin(), hops.begin(), shift};
  }
  // For one flow more: the first place without one, or a new one behind all others.
  std::uint32_t take_place(pdes::Context& ctx, std::uint32_t shift) {
    if (free != kNoFlow) {
      const std::uint32_t flow = free;
      ctx.set(free, hops[flow << shift].next);
      return flow;
    }
    const auto flow = static_cast<std::uint32_t>(hops.size() >> shift);
    for (std::uint32_t h = 0; h < 1u << shift; ++h) hops.push_back(ctx, {});
    return flow;
  }
  // Of a flow that is on no link any more.
  void give_back(pdes::Context& ctx, std::uint32_t flow, std::uint32_t shift) {
    ctx.set(hops.at(flow << shift).next, free);
    ctx.set(free, flow);
  }
  // That `hop`, of a place without a flow, is on `link`.
  void join(pdes::Context& ctx, std::uint32_t hop, std::uint32_t link) {
    FlowLink& list = links.at(link);
    hops.assign(ctx, hop, {link, list.first, kNoFlowHop, 0});
    if (list.first != kNoFlowHop) ctx.set(hops.at(list.first).previous, hop);
    ctx.set(list, {hop, list.flows + 1});
  }
  // The flow leaves its links: calls each(link).
  template <class Each>
  void part(pdes::Context& ctx, std::uint32_t flow, std::uint32_t shift, Each&& each) {
    const std::uint32_t first = flow << shift;
    for (std::uint32_t place = first; place < first + (1u << shift); ++place) {
      const FlowHop hop = hops[place];
      if (hop.link == kNoLink) break;
      FlowLink& list = links.at(hop.link);
      if (hop.next != kNoFlowHop) ctx.set(hops.at(hop.next).previous, hop.previous);
      if (hop.previous != kNoFlowHop) ctx.set(hops.at(hop.previous).next, hop.next);
      ctx.set(list, {list.first == place ? hop.next : list.first, list.flows - 1});
      ctx.set(hops.at(place).link, kNoLink);
      each(hop.link);
    }
  }
  void describe(pdes::StateArchive& archive) {
    archive.kept(free);
    hops.describe(archive, [&](FlowHop& hop) { archive.kept(hop); });
    links.describe(archive, [&](FlowLink& link) { archive.kept(link); });
  }
};

}  // namespace exawarp::model
