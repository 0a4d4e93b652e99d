// What a collective takes alone on an alpha-beta network: n equal, full-duplex interfaces, a
// message of b bytes occupies its sender's and its receiver's for w(b) = max(1 ps, ceil(b / rate))
// and takes the latency a in between; all members start together; combining takes no time.
// With L = ceil(log2 n), K lanes, s the bytes of a block of a lane (collective.h):
//
//   ring        all-reduce, barrier: R = 2(n-1) rounds; reduce-scatter, all-gather: R = n-1
//               max(K w(s), a + w(s)) + K w(s) + a                                 exact
//               broadcast, reduce (chain): (n-1) (a + w) + (K-1) w   exact; through nodes or more
//   halving     sum over d = 1, 2, 4 .. below n of a + w(min(d, n - d) s); all-reduce: twice exact
//   doubling    L (a + w)                                                                exact
//   tree        broadcast, reduce: L (a + w); all-reduce, barrier: 2 L (a + w);
//               gather, scatter: sum of a + w(m s), m = ceil(n/2), ceil(m/2) .. 1        exact
//   double_tree no formula: its messages are carried out (double_tree_time.h). Near 2h (a + w) +
//               (2K-1) w for an all-reduce, (h+1) (a + w) + (K-1) w for broadcast and reduce, h the
//               depth of a tree, 0.4 to 1.7 times     exact; above 2^20 messages within 10 %
//   direct      a + (n-1) w(s); all-reduce, barrier: twice                               exact
//   bruck       all-gather: sum of a + w(min(2^i, n - 2^i) s); all-to-all: of a + w(m_i s), m_i =
//               how many of 1 .. n-1 have bit i; barrier: L (a + w)                      exact
//   pairwise    sum over partners of a + w                                               exact
//   in_network  w(in) + 2 h a, h the depth of a tree of 16 children a switch; in = B + ceil(B/n)
//               for an all-reduce of B, else the longer of what goes in and what comes out  exact
//
// All-to-all by sizes: exact where they depend on the distance alone, else the sum of the largest
// member. Sources: Thakur, Rabenseifner, Gropp, IJHPCA 2005; Patarasuk, Yuan, JPDC 2009; Bruck et
// al., TPDS 1997; Sanders, Speck, Traeff, Parallel Computing 2009; for n no power of two Bar-Noy,
// Kipnis, Schieber, Parallel Processing Letters 1993 (doubling) and Traeff, arXiv 2410.14234
// (halving).
#pragma once

#include "core/time.h"
#include "model/collective/collective.h"
#include "model/collective/ring.h"

namespace exawarp::model {

// The time w(bytes) on one interface.
core::Time wire_time(std::int64_t bytes, const StepCost& cost);

// Requires can_run(c.type, c.algorithm). Cost: O(log n), but O(n) for pairwise and direct by
// sizes, and for double_tree that of its messages, unless its thread has just asked for the same.
core::Time collective_time(const Collective& c, const StepCost& cost);

// Messages that all members send in all; a notice of in_network is one. Cost: O(log n).
std::uint64_t collective_messages(const Collective& c);

}  // namespace exawarp::model
