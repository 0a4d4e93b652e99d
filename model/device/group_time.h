// What a collective takes alone on the network among its members, all of which start together: the
// closed form of analytical fidelity.
//
// On equal links that is collective/cost.h. Elsewhere each message takes its own way:
//
//   ring, one lane   Chunk k of a member leaves after it has received chunk k - 1, and after chunk
//                    k - 1 has left. With c the cost of an edge (wire and travel) and w its wire, R
//                    steps end with the longest of all walks that go over m <= R edges one after
//                    the other and wait R - m times at one of them: sum of c + (R - m) max w.
//                    Exact; O(n) for each different w
//   else             its messages are carried out as devices at message fidelity do, once for all
//                    groups that are alike. Exact up to kGroupMessagesWhole messages. Above, where
//                    a turn by p positions changes no distance (whole nodes, whole leaves), members
//                    p apart do the same at the same time, and p of them stand for all, up to
//                    kGroupMessagesMax; exact but for messages that come at one time, which
//                    devices receive in the order of their senders' ids: 2 % at most where tested.
//                    Of rings what repeats is skipped (ring_run.h)
//   two trees        (double_tree, nvls_tree) carried out; above kGroupMessagesMax as
//                    large_trees.h says
//   above that       ring with lanes: as one lane, with the lanes of an interface one after the
//                    other; exchanges: phase by phase, the longest message of up to 16 members;
//                    trees: as on equal links, those between the first and the last member
#pragma once

#include <cstdint>

#include "core/time.h"
#include "model/collective/choice.h"
#include "model/device/group_network.h"

namespace exawarp::model {

// Messages that are carried out, 0.3 us each.
constexpr std::uint64_t kGroupMessagesWhole = std::uint64_t{1} << 16;
constexpr std::uint64_t kGroupMessagesMax = std::uint64_t{1} << 20;

// `choice`: its step and payload count, its start does not. `connection`: of lane 0, see
// Network::ends_of(). Requires c.members == group.members().
core::Time group_time(const Collective& c, const Choice& choice, std::uint32_t connection,
                      const GroupNetwork& group, std::uint64_t messages_max = kGroupMessagesMax);

}  // namespace exawarp::model
