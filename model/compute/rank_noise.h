// What the slowest of many replicas loses to noise.
//
// Replicas that reduce gradients in every step are as fast as the slowest of them. If the
// computations of a replica in a step take the mean times 1 + e, with e of mean 0 and independent
// between replicas, then all of n together take 1 + E[max of n e]. So every duration is stretched
// by that, in place of a draw for each. Nothing differs between devices, which may be folded
// (device/fold.h).
//
// E[max] = integral of g(z) n phi(z) Phi(z)^(n-1) dz, with g(z) the quantile of e at Phi(z). It
// grows as sqrt(2 ln n) deviations for a normal distribution (2.51 of 100, 3.25 of 1,024), with
// ln n for an exponential one.
#pragma once

#include <cstdint>

#include "core/time.h"
#include "model/variation.h"

namespace exawarp::model {

// Relative, in parts of 1e9. Distributions as in variation.h, the normal one not cut off. Requires
// 0 <= deviation <= deviation_max() and replicas >= 1.
std::int64_t slowest_lag_ppb(const VariationSpec& noise, std::uint32_t replicas);

// `duration`, longer by so much; core::kEndOfTime where it would be later.
core::Time lagged(core::Time duration, std::int64_t lag_ppb);

}  // namespace exawarp::model
