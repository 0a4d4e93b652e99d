// Serving language models: what is asked, how a replica answers, and who takes which request.
//
// A request has P prompt tokens and asks for Q. A replica computes in batches: a batch takes some
// prompt tokens of some requests, and one token each of requests whose prompt is done. Keys and
// values of all tokens so far lie in blocks of a pool, which is what limits the requests at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/names.h"
#include "core/time.h"
#include "model/serving/prefix.h"

namespace exawarp::model::serving {

struct Request {
  core::Time arrival;         // >= 0
  std::uint32_t prefill = 1;  // prompt tokens, >= 1
  std::uint32_t decode = 1;   // tokens to generate, >= 1; the first comes with the prompt's end
  std::uint32_t class_id = 0;  // index into Spec::priorities

  friend bool operator==(const Request&, const Request&) = default;
};

// Of a request of a closed loop: what comes once it is answered.
struct Turn {
  std::uint32_t next = 0;   // the request that does, plus 1; 0: none
  std::uint32_t waits = 0;  // 1: this one comes so itself, whatever its `arrival`
  core::Time think;         // from the answer until the next one comes
};

enum class Policy { vllm, sarathi, orca, lightllm, faster_transformer, vllm_v1 };
inline constexpr core::Named<Policy> kPolicyNames[] = {
    {"vllm", Policy::vllm},
    {"sarathi", Policy::sarathi},
    {"orca", Policy::orca},
    {"lightllm", Policy::lightllm},
    {"faster_transformer", Policy::faster_transformer},
    {"vllm_v1", Policy::vllm_v1}};
constexpr std::span<const core::Named<Policy>> names_of(Policy) { return kPolicyNames; }
static_assert(core::names_each(kPolicyNames));

// Who is first in a queue of vllm_v1, and who loses its blocks last.
enum class Order { first_come, priority };
inline constexpr core::Named<Order> kOrderNames[] = {{"first_come", Order::first_come},
                                                     {"priority", Order::priority}};
constexpr std::span<const core::Named<Order>> names_of(Order) { return kOrderNames; }
static_assert(core::names_each(kOrderNames));

// What becomes of the blocks of a request that vllm_v1 preempts.
enum class Preemption { recompute, swap };
inline constexpr core::Named<Preemption> kPreemptionNames[] = {
    {"recompute", Preemption::recompute}, {"swap", Preemption::swap}};
constexpr std::span<const core::Named<Preemption>> names_of(Preemption) {
  return kPreemptionNames;
}
static_assert(core::names_each(kPreemptionNames));

enum class Router { round_robin, random, least_outstanding, prefix };
inline constexpr core::Named<Router> kRouterNames[] = {
    {"round_robin", Router::round_robin},
    {"random", Router::random},
    {"least_outstanding", Router::least_outstanding},
    {"prefix", Router::prefix}};
constexpr std::span<const core::Named<Router>> names_of(Router) { return kRouterNames; }
static_assert(core::names_each(kRouterNames));
// Whether the router counts the requests that wait at each replica.
constexpr bool hears_of_queues(Router r) {
  return r == Router::least_outstanding || r == Router::prefix;
}

// Time of a batch: base + per_token a token of it + per_context a token that each decoding request
// has so far + per_pair_half * n (n + 2 c) for each prompt's n tokens behind c of its own. A stage
// of a pipeline takes an equal share of it, rounded down to a picosecond. The defaults are the
// formula that Vidur's published schedules were recorded with.
struct BatchTime {
  core::Time base{5'000'000'000};
  core::Time per_token{50'000'000};
  core::Time per_context{100'000};
  core::Time per_pair_half{10'000};

  friend bool operator==(const BatchTime&, const BatchTime&) = default;
};

class IterationTime;
class ProfileTime;
struct OnDevices;

// To host memory and back, where preemption is `swap`.
struct Swap {
  std::uint32_t host_blocks = 0;  // room there; who does not fit is recomputed
  std::int64_t token_bytes = 1;   // keys and values of a token, of a replica's devices together
  std::int64_t bytes_per_s = 1;   // of a replica's host links together, > 0
};

// Of each decode of vllm_v1: a draft of so many tokens more, each of which is accepted with this
// probability if those before it were (Leviathan et al. 2023, arXiv:2211.17192).
struct Speculation {
  std::uint32_t tokens = 0;  // 0: none; at most kDraftMax
  double acceptance = 0.7;   // 0 to 1
  core::Time draft;          // that each token of a draft takes, for the whole batch
};

// Layers of attention in groups of as many layers each, which have blocks of their own. Those whose
// layers look through a window give back what lies behind it.
struct CacheGroups {
  std::uint32_t full = 1;  // whose layers see all tokens
  std::uint32_t windowed = 0;
  std::uint32_t window = 0;  // tokens that a query sees there at most, its own among them
  // Of a block of tokens: as many as a request holds that has no window behind it.
  [[nodiscard]] constexpr std::uint32_t all() const { return full + windowed; }

  friend bool operator==(const CacheGroups&, const CacheGroups&) = default;
};

struct Spec {
  std::vector<Request> requests;  // in order of arrival
  Prefixes prefixes;              // of the requests
  // By request; empty: each comes at its `arrival`. `arrival` is then when it would come if answers
  // took no time, and orders the requests alone.
  std::vector<Turn> turns = {};
  std::vector<std::int32_t> priorities = {};  // by class, lower ones first; none: all are equal
  std::uint32_t replicas = 1;     // >= 1
  Router router = Router::round_robin;
  core::Time latency{1'000'000};  // from router to replica and back, >= 1 ps
  Policy policy = Policy::vllm;
  std::uint32_t stages = 1;                     // of a replica's pipeline, 1 to kStagesMax
  std::uint32_t blocks = 1;                     // of a replica's pool, each of a group of layers
  std::uint32_t block_tokens = 16;              // lightllm: 1
  std::uint32_t request_tokens_max = 4096;      // P + Q of a request
  std::uint32_t batch_tokens_max = 4096;  // vllm, lightllm: of a batch of prompts; vllm_v1: of any
  std::uint32_t chunk_tokens = 512;             // sarathi: of a batch
  std::uint32_t batch_requests_max = 128;       // 1 to kBatchRequestsMax; over all stages
  std::uint32_t reserved_requests_max = 128;    // orca, faster_transformer: of a batch
  std::uint32_t decodes_between_prefills = 10;  // lightllm
  // Of vllm_v1:
  Order order = Order::first_come;
  bool chunked_prefill = true;  // prompts are cut to what is left of batch_tokens_max
  bool reserve_prompt = true;   // a request enters if its whole prompt has room, not a chunk of it
  double watermark = 0;         // of the blocks, left free when a request enters beside others
  bool prefix_cache = false;
  bool hybrid_cache = true;  // asks for `groups` that follow from a model with windows
  CacheGroups groups = {};
  Preemption preemption = Preemption::recompute;
  Swap swap = {};
  Speculation speculation = {};
  std::uint32_t router_slack = 8;  // Router::prefix: waiting requests that a replica may have more
  BatchTime time;
  // Measured kernels in place of `time` (iteration_time.h); a stage takes an equal share as well.
  // Null: `time`.
  std::shared_ptr<const IterationTime> iteration = {};
  // Or a profile of the model (profile_time.h), by whose rules stages take their shares.
  std::shared_ptr<const ProfileTime> profile = {};
  // Devices of a cluster, which compute the batches (on_devices.h). Null: a batch takes its time.
  std::shared_ptr<const OnDevices> devices = {};
  // Once a prompt is computed, a replica of another pool decodes (handover.h).
  bool hands_over = false;
  // There, and of the pool that decodes: keys and values go layer by layer, behind the computation.
  bool keys_by_layer = false;

  // Of so many tokens, in one group.
  [[nodiscard]] constexpr std::uint32_t blocks_for(std::uint64_t tokens) const {
    return static_cast<std::uint32_t>((tokens + block_tokens - 1) / block_tokens);
  }
};

constexpr std::uint32_t kStagesMax = 64;
constexpr std::uint32_t kBatchRequestsMax = 1024;
constexpr std::uint64_t kBlocksMax = std::uint64_t{1} << 31;  // of a pool
constexpr std::uint32_t kDraftMax = 64;
constexpr core::Time kBatchTimeMin{2};  // of a batch in a stage

// Throws core::InputError, without a place, where a field is out of range, or where a request could
// never be served.
void check(const Spec& spec);

// Requests at random, by `seed`: the n-th depends on nothing but seed and n.
struct Uniform {
  std::uint32_t least = 1;
  std::uint32_t most = 1;
};
struct PoissonSpec {
  std::uint32_t requests = 1;
  core::Time mean_interval{1'000'000'000'000};
  Uniform prefill;
  Uniform decode;
};
[[nodiscard]] std::vector<Request> poisson_requests(const PoissonSpec& spec, std::uint64_t seed);

}  // namespace exawarp::model::serving
