// Max-min fair shares of links: the rates that flows get which share them.
//
// A flow is a list of links. No link carries more than its capacity, and no flow could have more
// but at the expense of one that has less: each has a link that is full and on which no other flow
// has more (Bertsekas and Gallager, Data Networks, 2nd ed., section 6.5.2). There is exactly one
// such set of rates. It is found by progressive filling: of all links the one with the least equal
// share gives its flows that share, for good, and what is left of the others is shared by who is
// left.
//
// Rates are whole numbers of a unit that the caller chooses. A share is rounded down to one, so
// that a link is never overfull, and short of full by less than a unit a flow.
//
// Flows are solved part by part: a part is the flows that share links with each other, directly or
// by others. The rates of a part depend on it alone, not on what came before or on what order its
// flows are listed in.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace exawarp::model {

inline constexpr std::uint32_t kNoFlow = 0xffffffffu;
inline constexpr std::uint32_t kNoLink = 0xffffffffu;
inline constexpr std::uint32_t kNoFlowHop = 0xffffffffu;

// A link's flows, as a list of their hops.
struct FlowLink {
  std::uint32_t first = kNoFlowHop;
  std::uint32_t flows = 0;
};

// That a flow crosses a link. Flow f has the hops [f << shift, (f + 1) << shift), in order of its
// way; those behind its last have kNoLink.
struct FlowHop {
  std::uint32_t link = kNoLink;
  std::uint32_t next = kNoFlowHop;      // of the link's list
  std::uint32_t previous = kNoFlowHop;
  std::uint32_t unused = 0;
};

// Flows and links as they lie in somebody's memory.
struct FlowLists {
  const FlowLink* links;
  const FlowHop* hops;
  std::uint32_t shift;

  [[nodiscard]] std::uint32_t flow_of(std::uint32_t hop) const { return hop >> shift; }
  [[nodiscard]] std::span<const FlowHop> hops_of(std::uint32_t flow) const {
    return {hops + (std::size_t{flow} << shift), std::size_t{1} << shift};
  }
};

// Owner: one caller at a time; it holds nothing but scratch and the capacities.
// Cost:  memory grows to the largest part seen. A part of h hops and m links takes
//        O(h + m log m) and a step of the heap for each time that a link's share has risen.
class FairShares {
 public:
  // In units of rate, by link; each at least 1.
  explicit FairShares(std::vector<std::uint64_t> capacities);

  // From now on no link has been looked at.
  void begin();
  [[nodiscard]] bool has_seen(std::uint32_t link) const {
    return links_seen_[link].stamp >= first_stamp_;
  }

  // Finds the part that the flows on `link` are of, and has seen its links.
  void gather(const FlowLists& lists, std::uint32_t link);
  // Has not seen the links of the part gathered last.
  void forget();
  // The flows of the part gathered last.
  [[nodiscard]] std::span<const std::uint32_t> flows() const { return flows_; }

  // Gives each of them its share. Requires gather(), and no change of the lists since.
  void solve(const FlowLists& lists);
  // The share of one of them, at least 1, where a capacity is not less than its flows.
  [[nodiscard]] std::uint64_t rate_of(std::uint32_t flow) const { return flows_seen_[flow].rate; }

  [[nodiscard]] std::uint64_t capacity(std::uint32_t link) const { return capacities_[link]; }

 private:
  struct SeenLink {
    std::uint64_t stamp = 0;  // of the part it was found in
    std::uint64_t left = 0;   // of its capacity
    std::uint64_t flows = 0;  // without a share
  };
  struct SeenFlow {
    std::uint64_t stamp = 0;
    std::uint64_t rate = 0;  // 0: none yet
  };
  struct Candidate {
    std::uint64_t share;
    std::uint32_t link;
  };
  // A heap has the least share on top; of equal ones the lowest link.
  struct IsLater {
    bool operator()(const Candidate& a, const Candidate& b) const {
      return a.share != b.share ? a.share > b.share : a.link > b.link;
    }
  };

  void see_flow(const FlowLists& lists, std::uint32_t flow);
  void solve_one(const FlowLists& lists);
  std::size_t fill(const FlowLists& lists, std::uint32_t link, std::uint64_t share);

  std::vector<std::uint64_t> capacities_;
  std::vector<SeenLink> links_seen_;  // by link
  std::vector<SeenFlow> flows_seen_;  // by flow
  std::vector<std::uint32_t> links_;  // of the part
  std::vector<std::uint32_t> flows_;
  std::vector<Candidate> heap_;
  std::uint64_t stamp_ = 0;
  std::uint64_t first_stamp_ = 1;
};

}  // namespace exawarp::model
