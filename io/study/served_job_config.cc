#include "io/study/served_job_config.h"

#include <fmt/format.h>

#include <limits>

#include "core/error.h"
#include "io/study/jobs_config.h"
#include "io/study/schema_sections.h"
#include "io/study/serving_memory.h"
#include "io/study/transformer_config.h"
#include "model/generate/spec.h"

namespace exawarp::io {
namespace {

using model::serving::Policy;
using model::serving::PoolLayout;

constexpr const char* kByFormula =
    "a batch takes what `scheduler.batch_time` says, not what its kernels were measured to take";

template <class S, class Layout>
std::vector<typename Keys<S>::Key> layout_keys(Layout layout) {
  using K = Keys<S>;
  return {K::integer("tensor", [layout](S& s) -> auto& { return layout(s).tensor; }, {1, 1024},
                     "devices that split each layer"),
          K::integer("attention_data", [layout](S& s) -> auto& { return layout(s).attention_data; },
                     {1, 1024},
                     "groups of these devices, each with requests of its own to attend to"),
          K::integer("pipeline", [layout](S& s) -> auto& { return layout(s).pipeline; },
                     {1, model::serving::kStagesMax}, "stages of a replica"),
          K::integer("replicas", [layout](S& s) -> auto& { return layout(s).replicas; },
                     {1, 1 << 16}, "of the model")};
}

// Replicas and stages are the layout's, so the scheduler's table has two keys too many. A file that
// a study resolves to has them, as it has all defaults.
void read_scheduler(const YamlSection& section, PoolConfig& out, const KeySchema& key) {
  const YamlSection scheduler = section.section(key.name);
  out.spec.replicas = out.layout.replicas;
  out.spec.stages = out.layout.pipeline;
  out.spec.blocks = 0;
  out.spec = serving_spec_keys().read(scheduler, std::move(out.spec));
  if (out.spec.replicas != out.layout.replicas || out.spec.stages != out.layout.pipeline) {
    const bool is_replicas = out.spec.replicas != out.layout.replicas;
    scheduler.fail(is_replicas ? "replicas" : "stages",
                   "is the layout's; expected replicas and pipeline beside scheduler");
  }
  if (!out.by_formula && out.spec.time != model::serving::BatchTime{}) {
    scheduler.fail("batch_time", "is given, but batches take what kernels were measured to take; "
                                 "expected by_formula: true beside scheduler, or none");
  }
}

const Keys<PoolConfig>& decode_keys() {
  using S = PoolConfig;
  using K = Keys<S>;
  static const K keys("jobs.serving.decode", "Replicas that decode what others prefilled.", [] {
    auto all = layout_keys<S>([](S& s) -> PoolLayout& { return s.layout; });
    all.push_back(K::flag("by_formula", &S::by_formula, kByFormula));
    all.push_back(K::custom("scheduler", {ValueShape::mapping(serving_spec_keys().schema())},
                            "of each replica; `policy`: `vllm`, `sarathi` or `vllm_v1`",
                            read_scheduler)
                      .required());
    all.push_back(K::custom("placement", placement_shapes(), "which devices they run on",
                            [](const YamlSection& section, S& out, const KeySchema& key) {
                              const JobConfig job = read_job_placement(section, key.name, {});
                              out.placement = job.placement;
                              out.seed_given = job.seed_given;
                              out.place = job.place;
                            })
                      .otherwise("`linear`"));
    all.push_back(K::choice("keys", &S::keys,
                            "how keys and values come: `whole`, once the prompt is done, or "
                            "`by_layer`, while it is computed"));
    all.push_back(K::integer("layers_per_message", &S::layers_per_message, {1, 1 << 16},
                             "of the stage that sends them")
                      .only_if("keys", {"by_layer"}));
    return all;
  }());
  return keys;
}

void check_decode(const YamlSection& section, const ServedJobConfig& job) {
  const YamlSection scheduler = section.section("scheduler");
  const Policy policy = job.decode->spec.policy;
  if (policy != Policy::vllm && policy != Policy::sarathi && policy != Policy::vllm_v1) {
    scheduler.fail("policy", fmt::format("\"{}\" cannot go on with what another pool has begun; "
                                         "expected vllm, sarathi or vllm_v1",
                                         core::name_of(policy)));
  }
  if (job.decode->spec.latency != job.pool.spec.latency) {
    scheduler.fail("latency", "is that of the job's own scheduler; expected it there alone");
  }
}

// Layer by layer, a replica counts tokens of messages (serving/handover.h).
void check_messages(const YamlSection& section, const ServedJobConfig& job) {
  const PoolConfig& decode = *job.decode;
  if (decode.keys == KeysMove::whole) return;
  const std::uint64_t messages =
      model::serving::kv_plan(job.model, job.pool.layout, decode.layout, decode.layers_of_message())
          .messages;
  const std::uint64_t most = model::serving::kKeyTokensMax / decode.spec.request_tokens_max;
  if (messages <= most) return;
  section.fail(
      "layers_per_message",
      fmt::format("\"{}\" makes {} messages for each part of a prompt; expected more "
                  "layers, for at most {} messages where a request has {} tokens",
                  decode.layers_per_message, messages, most, decode.spec.request_tokens_max));
}

void check_model(const YamlSection& section, const ServedJobConfig& job) {
  const auto check_pool = [&](const YamlSection& where, const PoolConfig& pool) {
    const std::int64_t experts = job.model.moe.experts;
    if (job.experts == Experts::exchange && experts % pool.layout.tensor != 0) {
      where.fail("tensor", fmt::format("\"{}\"; expected a divisor of the experts, {}",
                                       pool.layout.tensor, experts));
    }
    try {
      model::serving::check(iteration_of(job, pool));
    } catch (const model::SpecProblem& problem) {
      where.fail(problem.key, problem.text);
    }
    if (pool.layout.pipeline > job.model.layers) {
      where.fail("pipeline", fmt::format("\"{}\"; expected at most the layers of the model, {}",
                                         pool.layout.pipeline, job.model.layers));
    }
  };
  if (job.experts == Experts::exchange && job.model.moe.experts == 0) {
    section.fail("experts", "are exchanged, but the model has none; expected sum");
  }
  check_pool(section, job.pool);
  if (!job.decode) return;
  const YamlSection decode = section.section("decode");
  if (job.model.mamba.heads != 0) {
    section.fail("decode", "takes over keys and values, but no states of state-space layers, which "
                           "model.pattern has; expected one pool");
  }
  check_pool(decode, *job.decode);
  check_messages(decode, job);
}

const Keys<model::serving::ExpertExchange>& exchange_routing_keys() {
  using S = model::serving::ExpertExchange;
  using K = Keys<S>;
  static const K keys(
      "jobs.serving.routing", "How tokens come to experts: those of all layers alike.",
      {K::real("imbalance", &S::imbalance, {.min = 0, .max = 1},
               "experts' shares are drawn from 1 - imbalance to 1 + imbalance times the mean"),
       K::integer("seed", &S::seed, {.min = 0}, "of the imbalance")});
  return keys;
}

}  // namespace

model::serving::IterationSpec iteration_of(const ServedJobConfig& job, const PoolConfig& pool) {
  model::serving::IterationSpec spec;
  spec.model = job.model;
  spec.tensor = std::int64_t{pool.layout.tensor};
  spec.attention_data = std::int64_t{pool.layout.attention_data};
  spec.expert = job.experts == Experts::exchange ? spec.tensor : job.expert;
  spec.precision = job.precision;
  spec.cache_precision = job.cache_precision;
  spec.all_reduce = {.latency = core::Time{0},
                     .bytes_per_s = std::numeric_limits<std::int64_t>::max()};
  spec.host = job.host;
  return spec;
}

const Keys<ServedJobConfig>& served_job_keys() {
  using S = ServedJobConfig;
  using K = Keys<S>;
  static const K keys(
      "jobs.serving", "A language model that is served: docs/guide/serving_on_clusters.md.", [] {
        std::vector<K::Key> all{
            K::section("model", &S::model, model_keys(), "what is served: a decoder").required()};
        for (auto& key : layout_keys<S>([](S& s) -> PoolLayout& { return s.pool.layout; })) {
          all.push_back(std::move(key));
        }
        std::vector<K::Key> rest{
            K::choice("precision", &S::precision, "of the layers' products"),
            K::choice("cache_precision", &S::cache_precision,
                      "of keys and values, kept and sent: `bf16` or `fp8`"),
            K::choice("experts", &S::experts,
                      "behind those that devices share: a `sum` of all devices, or an `exchange`: "
                      "each of a pool's `tensor` devices has some, and tokens go there and back"),
            K::integer("expert", &S::expert, {1, 1024},
                       "parts that experts are dealt to: 1, or as many as `tensor`")
                .only_if("experts", {"sum"}),
            K::integer("exchanges", [](S& s) -> auto& { return s.exchange.count; }, {0, 4096},
                       "with experts and back, of a stage in an iteration, which share what its "
                       "layers' would carry")
                .otherwise("one a layer with experts")
                .only_if("experts", {"exchange"}),
            K::section("routing", &S::exchange, exchange_routing_keys(),
                       "how tokens come to experts")
                .only_if("experts", {"exchange"}),
            K::latency("host", &S::host, 0, "that an iteration waits for the host"),
            K::integer("all_reduces", &S::all_reduces, {0, 4096},
                       "of a stage in an iteration, which share what a layer's two would carry; "
                       "with `attention_data` also the gathers, and the scatters")
                .otherwise("two a layer, or one where `experts` are exchanged or attention is "
                           "data-parallel"),
            K::flag("by_formula", [](S& s) -> auto& { return s.pool.by_formula; }, kByFormula),
            K::custom("scheduler", {ValueShape::mapping(serving_spec_keys().schema())},
                      "of each replica, and their router",
                      [](const YamlSection& section, S& out, const KeySchema& key) {
                        read_scheduler(section, out.pool, key);
                      })
                .required(),
            K::custom("decode", {ValueShape::mapping(decode_keys().schema())},
                      "replicas that decode; those above compute prompts alone",
                      [](const YamlSection& section, S& out, const KeySchema& key) {
                        if (const auto inside = section.optional_section(key.name)) {
                          PoolConfig pool;
                          pool.spec.latency = out.pool.spec.latency;
                          out.decode = decode_keys().read(*inside, std::move(pool));
                          check_decode(*inside, out);
                        }
                      })
                .otherwise("none: the same replicas do both"),
            K::section("requests", &S::requests, request_source_keys(), "what is asked, and when")
                .required(),
            K::section("objectives", &S::objectives, request_objective_keys(),
                       "what a request is promised")};
        for (K::Key& key : rest) all.push_back(std::move(key));
        return all;
      }());
  return keys;
}

ServedJobConfig read_served_job(const YamlSection& section) {
  ServedJobConfig out = served_job_keys().read(section);
  out.exchange.on = out.experts == Experts::exchange;
  check_model(section, out);
  // Whole keys and values are handed over.
  if (!out.decode) choose_groups(out.model, section.where("scheduler"), out.pool.spec);
  check_request_source(out.requests, section.where("requests"));
  for (const RequestClass& c : out.requests.classes) {
    out.pool.spec.priorities.push_back(c.priority);
    if (out.decode) out.decode->spec.priorities.push_back(c.priority);
  }
  return out;
}

}  // namespace exawarp::io
