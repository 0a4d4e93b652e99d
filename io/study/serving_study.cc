// The keys of a serving study.
#include "io/study/serving_study.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "io/study/file_kinds.h"
#include "io/study/profile_config.h"
#include "io/study/quantities.h"
#include "io/study/serving_memory.h"
#include "io/study/system_config.h"
#include "io/study/transformer_config.h"
#include "model/generate/spec.h"

namespace exawarp::io {
namespace {

using core::Dimension;
using model::serving::Arrivals;
using model::serving::Lengths;
using model::serving::LengthSpec;
using model::serving::Spec;

constexpr IntegerRange kTokens{1, kRecordedTokensMax};

const Keys<model::serving::BatchTime>& batch_time_keys() {
  using S = model::serving::BatchTime;
  using K = Keys<S>;
  static const K keys("serving.batch_time", "How long a batch takes, over all stages.",
                      {K::latency("base", &S::base, 0, "whatever it holds"),
                       K::latency("per_token", &S::per_token, 0, "for each token of the batch"),
                       K::latency("per_context", &S::per_context, 0,
                                  "for each token that a decoding request has so far"),
                       K::latency("per_pair_half", &S::per_pair_half, 0,
                                  "times n (n + 2 c): a prompt's n tokens behind c of its own")});
  return keys;
}

const Keys<model::serving::AllReduceCost>& all_reduce_keys() {
  using S = model::serving::AllReduceCost;
  using K = Keys<S>;
  static const K keys("serving.iteration.all_reduce", "What joins the parts of a layer.",
                      {K::latency("latency", &S::latency, 0, "of one, whatever its size"),
                       K::quantity("bandwidth", &S::bytes_per_s, {Dimension::bandwidth, 1},
                                   "at which a device sends")});
  return keys;
}

const Keys<IterationStudy>& iteration_keys() {
  using S = IterationStudy;
  using K = Keys<S>;
  static const K keys(
      "serving.iteration", "A model on devices whose kernels were measured.",
      {K::section("model", [](S & s) -> auto& { return s.spec.model; }, model_keys(),
                  "what is served: a decoder")
           .required(),
       K::section("accelerator", &S::accelerator, accelerator_keys(), "what computes").required(),
       K::integer("tensor", [](S & s) -> auto& { return s.spec.tensor; }, {1, 1024},
                  "devices that split each layer"),
       K::integer("expert", [](S & s) -> auto& { return s.spec.expert; }, {1, 1024},
                  "parts that experts are dealt to: 1, or as many as `tensor`"),
       K::integer("attention_data", [](S & s) -> auto& { return s.spec.attention_data; },
                  {1, 1024}, "groups of these devices, each with requests of its own to attend to"),
       K::choice("precision", [](S & s) -> auto& { return s.spec.precision; },
                 "of the layers' products"),
       K::choice("cache_precision", [](S & s) -> auto& { return s.spec.cache_precision; },
                 "of keys and values: `bf16` or `fp8`"),
       K::section("all_reduce", [](S & s) -> auto& { return s.spec.all_reduce; },
                  all_reduce_keys(), "what joins the parts of a layer"),
       K::latency("host", [](S & s) -> auto& { return s.spec.host; }, 0,
                  "that an iteration waits for the host")});
  return keys;
}

const Keys<model::serving::Swap>& swap_keys() {
  using S = model::serving::Swap;
  using K = Keys<S>;
  static const K keys(
      "serving.swap", "The way to host memory and back, with `preemption: swap`.",
      {K::integer("host_blocks", &S::host_blocks, {1, std::int64_t{1} << 31},
                  "of keys and values that the host has room for, a replica; who does not fit is "
                  "recomputed")
           .required(),
       K::quantity("token_bytes", &S::token_bytes, {Dimension::size, 1},
                   "keys and values of a token, of a replica's devices together")
           .required(),
       K::quantity("bandwidth", &S::bytes_per_s, {Dimension::bandwidth, 1},
                   "of the host links of a replica's devices together")
           .required()});
  return keys;
}

const Keys<model::serving::Speculation>& speculation_keys() {
  using S = model::serving::Speculation;
  using K = Keys<S>;
  static const K keys(
      "serving.speculation", "Speculative decoding, by a draft of some tokens for each decode.",
      {K::integer("tokens", &S::tokens, {0, model::serving::kDraftMax}, "of a draft; 0: none"),
       K::real("acceptance", &S::acceptance, {.min = 0, .max = 1},
               "probability that a token of a draft is accepted if those before it were"),
       K::latency("draft", &S::draft, 0, "that each token of a draft takes, for the whole batch")});
  return keys;
}

// The rest of a replica's keys: those of the rules of vLLM's V1.
std::vector<Keys<Spec>::Key> v1_keys() {
  using S = Spec;
  using K = Keys<S>;
  const std::vector<std::string> v1{"vllm_v1"};
  return {
      K::choice("order", &S::order,
                "who is first in the queue and loses its blocks last: who came first, or, with "
                "`priority`, the class whose priority is least")
          .only_if("policy", v1),
      K::flag("chunked_prefill", &S::chunked_prefill,
              "prompts are cut to what is left of `batch_tokens_max`")
          .only_if("policy", v1),
      K::flag("reserve_prompt", &S::reserve_prompt,
              "a request enters if its whole prompt has room; else if its first chunk has")
          .only_if("policy", v1),
      K::real("watermark", &S::watermark, {.min = 0, .max = 0.99},
              "share of the blocks that stays free when a request enters beside others")
          .only_if("policy", v1),
      K::flag("prefix_cache", &S::prefix_cache,
              "blocks are kept for requests that begin alike: docs/reference/serving.md")
          .only_if("policy", v1),
      K::flag("hybrid_cache", &S::hybrid_cache,
              "where `model.window` is said: layers that have it give back the blocks behind it; "
              "with a decode pool none does")
          .only_if("policy", v1),
      K::choice("preemption", &S::preemption, "what becomes of the blocks of who loses them")
          .only_if("policy", v1),
      K::section("swap", &S::swap, swap_keys(), "the way to host memory and back")
          .only_if("preemption", {"swap"}),
      K::section("speculation", &S::speculation, speculation_keys(), "drafts of several tokens")
          .only_if("policy", v1),
      K::integer("router_slack", &S::router_slack, {0, 1 << 20},
                 "waiting requests that a session's replica may have more than another before it "
                 "is passed over")
          .only_if("router", {"prefix"})};
}

std::vector<Keys<Spec>::Key> joined(std::vector<Keys<Spec>::Key> a,
                                    std::vector<Keys<Spec>::Key> b) {
  for (Keys<Spec>::Key& key : b) a.push_back(std::move(key));
  return a;
}

const Keys<Spec>& replica_keys() {
  using S = Spec;
  using K = Keys<S>;
  static const K keys(
      "serving.serving", "How requests are served: docs/reference/serving.md.",
      joined({K::integer("replicas", &S::replicas, {1, 1 << 20}, "that serve the model"),
       K::choice("router", &S::router, "which replica a request goes to"),
       K::latency("latency", &S::latency, 1, "from the router to a replica, and back"),
       K::choice("policy", &S::policy, "how a replica puts batches together"),
       K::integer("stages", &S::stages, {1, model::serving::kStagesMax},
                  "of a replica's pipeline"),
       K::integer("blocks", &S::blocks,
                  {1, static_cast<std::int64_t>(model::serving::kBlocksMax)},
                  "of keys and values that a replica has room for")
           .otherwise("what weights leave of memory, where model and accelerator are said; else to "
                      "be given"),
       K::integer("block_tokens", &S::block_tokens, {1, 1 << 16}, "of a block; `lightllm` needs 1"),
       K::integer("request_tokens_max", &S::request_tokens_max, {2, kRecordedTokensMax},
                  "prompt and output of a request"),
       K::integer("batch_tokens_max", &S::batch_tokens_max, kTokens,
                  "`vllm` and `lightllm`: of a batch of prompts; `vllm_v1`: of any batch"),
       K::integer("chunk_tokens", &S::chunk_tokens, kTokens, "`sarathi`: of a batch"),
       K::integer("batch_requests_max", &S::batch_requests_max,
                  {1, model::serving::kBatchRequestsMax}, "of a replica at once"),
       K::integer("reserved_requests_max", &S::reserved_requests_max,
                  {1, model::serving::kBatchRequestsMax},
                  "`orca` and `faster_transformer`: of a batch"),
       K::integer("decodes_between_prefills", &S::decodes_between_prefills, {0, 1 << 20},
                  "`lightllm`: batches of decodes before prompts are looked at again"),
       K::section("batch_time", &S::time, batch_time_keys(), "how long a batch takes")},
             v1_keys()));
  return keys;
}

const Keys<LengthSpec>& length_keys() {
  using S = LengthSpec;
  using K = Keys<S>;
  static const K keys(
      "serving.lengths", "How many tokens a request's prompt or output has.",
      {K::choice("lengths", &S::kind, "how they are drawn"),
       K::integer("tokens", &S::tokens, kTokens, "of each").only_if("lengths", {"fixed"}),
       K::integer("least", &S::least, kTokens, "of the least")
           .only_if("lengths", {"uniform", "zipf"}),
       K::integer("most", &S::most, kTokens, "of the most")
           .only_if("lengths", {"uniform", "zipf"}),
       K::real("exponent", &S::exponent, {.min = 0, .max = 10},
               "the k-th least has a weight of k to the power of minus this")
           .only_if("lengths", {"zipf"})});
  return keys;
}

const Keys<Objectives>& objective_keys() {
  using S = Objectives;
  using K = Keys<S>;
  static const K keys("serving.objectives",
                      "What a request is promised; those that get all of it are good.",
                      {K::latency("first_token", &S::first_token, 0, "after it came")
                           .otherwise("none"),
                       K::latency("per_token", &S::per_token, 0, "mean, after the first")
                           .otherwise("none"),
                       K::latency("end", &S::end, 0, "after it came").otherwise("none"),
                       K::real("share", &S::share, {.min = 0, .max = 1},
                               "of the requests, that `exawarp capacity` wants to get all of it")
                           .otherwise("0.99")});
  return keys;
}

const Keys<SessionSource>& session_keys() {
  using S = SessionSource;
  using K = Keys<S>;
  static const K keys(
      "serving.sessions", "Sessions of requests, each of which goes on where the last ended.",
      {K::integer("turns", &S::turns, {1, 1 << 16},
                  "requests of a session; a prompt is all that was said before, and what is drawn"),
       K::integer("shared_tokens", &S::shared_tokens, {0, kRecordedTokensMax},
                  "that the prompts of all sessions begin with"),
       K::quantity("gap", &S::gap, {Dimension::time, 0},
                   "mean, between two requests of a session; exponential"),
       K::flag("closed", &S::closed,
               "`gap` is what a user thinks: from the answer to a request until the next one; else "
               "from one request to the next, answered or not")});
  return keys;
}

std::optional<LengthSpec> lengths_at(const YamlSection& section, const std::string& key) {
  const auto inside = section.optional_section(key);
  if (!inside) return {};
  return length_keys().read(*inside);
}

const Keys<RequestClass>& class_keys() {
  using S = RequestClass;
  using K = Keys<S>;
  static const K keys(
      "serving.class", "A kind of request.",
      {K::text("name", &S::name, "its name").required(),
       K::real("share", &S::share, {.min = 1e-9, .max = 1e9},
               "over the sum of all shares: of the requests, or of the sessions"),
       K::integer("priority", &S::priority, {-1'000'000, 1'000'000},
                  "less is sooner, with `serving.order: priority`"),
       K::custom("prompt", {ValueShape::mapping(length_keys().schema())}, "tokens of a prompt",
                 [](const YamlSection& section, S& out, const KeySchema& key) {
                   out.prompt = lengths_at(section, key.name);
                 })
           .otherwise("`requests.prompt`"),
       K::custom("output", {ValueShape::mapping(length_keys().schema())}, "tokens of an answer",
                 [](const YamlSection& section, S& out, const KeySchema& key) {
                   out.output = lengths_at(section, key.name);
                 })
           .otherwise("`requests.output`"),
       K::section("objectives", &S::objectives, objective_keys(), "what it is promised")
           .otherwise("as all")});
  return keys;
}

void read_classes(const YamlSection& section, RequestSource& out, const KeySchema& key) {
  if (!section.has(key.name)) return;
  for (const YamlSection& inside : section.sections(key.name)) {
    out.classes.push_back(class_keys().read(inside));
    for (std::size_t i = 0; i + 1 < out.classes.size(); ++i) {
      if (out.classes[i].name != out.classes.back().name) continue;
      inside.fail("name", fmt::format("\"{}\" is the name of another class; expected one of its "
                                      "own",
                                      out.classes.back().name));
    }
  }
}

const Keys<RequestSource>& source_keys() {
  using S = RequestSource;
  using K = Keys<S>;
  static const K keys(
      "serving.requests", "What is asked, and when.",
      {K::custom("file", {ValueShape::text()}, "recorded requests",
                 [](const YamlSection& section, S& out, const KeySchema& key) {
                   if (section.has(key.name)) out.file = section.path(key.name);
                 })
           .otherwise("none: lengths are drawn"),
       K::choice("format", &S::format, "of the file"),
       K::choice("arrivals", [](S & s) -> auto& { return s.arrivals.kind; },
                 "when requests come: `trace` (as the file says), or drawn"),
       K::real("rate", [](S & s) -> auto& { return s.arrivals.rate; },
               {.min = 1e-6, .max = 1e9}, "requests per second, where arrivals are drawn"),
       K::real("variation", [](S & s) -> auto& { return s.arrivals.variation; },
               {.min = 0.01, .max = 100}, "of `gamma`: an interval's deviation over its mean"),
       K::real("time_scale", &S::time_scale, {.min = 0, .max = 1e6}, "on the file's times"),
       K::integer("count", &S::count, {0, kRecordedRequestsMax}, "of requests")
           .otherwise("as many as the file has"),
       K::flag("cut_long", &S::cut_long,
               "prompts are cut where a request has more than `request_tokens_max`"),
       K::integer("hash_tokens", &S::hash_tokens, kTokens, "of a hash id of `mooncake`")
           .only_if("format", {"mooncake"}),
       K::section("prompt", &S::prompt, length_keys(), "tokens of a prompt, without a file"),
       K::section("output", &S::output, length_keys(), "tokens of an answer, without a file"),
       K::section("sessions", &S::sessions, session_keys(),
                  "requests that continue each other, without a file"),
       K::custom("classes", {ValueShape::list_of(ValueShape::mapping(class_keys().schema()))},
                 "kinds of requests, drawn by their shares", read_classes)
           .otherwise("one, of all requests")});
  return keys;
}

IterationStudy read_iteration(const YamlSection& section) {
  IterationStudy out = iteration_keys().read(section);
  try {
    model::serving::check(out.spec);
  } catch (const model::SpecProblem& problem) {
    section.fail(problem.key, problem.text);
  }
  return out;
}

void check_lengths(const LengthSpec& lengths, const std::string& path) {
  if (lengths.kind == Lengths::fixed || lengths.most >= lengths.least) return;
  throw core::InputError(path, fmt::format("requests: most: \"{}\" is below least, {}; expected "
                                           "at least that",
                                           lengths.most, lengths.least));
}

// What the tables cannot say: how keys of the requests depend on each other.
void check_source(const RequestSource& source, const std::string& path) {
  const bool drawn = source.arrivals.kind != Arrivals::trace;
  if (source.file.empty() && !drawn) {
    throw core::InputError(path, "requests.arrivals: is `trace` without a file; expected "
                                 "requests.file, or arrivals: poisson, gamma or static");
  }
  if (source.file.empty() && source.count == 0) {
    throw core::InputError(path, "requests.count: is missing; expected how many are drawn");
  }
  if (!drawn && source.count != 0) {
    throw core::InputError(path, "requests.count: is given beside the file's own arrivals; "
                                 "expected arrivals that are drawn, or no count");
  }
  check_lengths(source.prompt, path);
  check_lengths(source.output, path);
  for (const RequestClass& c : source.classes) {
    if (c.prompt) check_lengths(*c.prompt, path);
    if (c.output) check_lengths(*c.output, path);
    if (!source.file.empty() && (c.prompt || c.output)) {
      throw core::InputError(path, fmt::format("requests.classes: \"{}\" has lengths beside a "
                                               "file's; expected none",
                                               c.name));
    }
  }
  if (!source.file.empty() && source.sessions.any()) {
    throw core::InputError(path, "requests.sessions: are drawn, and a file is given; expected one "
                                 "of the two");
  }
}

}  // namespace

Objectives objectives_of(const Objectives& all, const RequestSource& requests,
                         std::uint32_t class_id) {
  Objectives out = all;
  if (out.share == 0) out.share = kObjectiveShare;
  if (class_id >= requests.classes.size()) return out;
  const Objectives& own = requests.classes[class_id].objectives;
  if (own.first_token.ps != 0) out.first_token = own.first_token;
  if (own.per_token.ps != 0) out.per_token = own.per_token;
  if (own.end.ps != 0) out.end = own.end;
  if (own.share != 0) out.share = own.share;
  return out;
}

bool promises(const Objectives& all, const RequestSource& requests) {
  const auto promised = [](const RequestClass& c) { return c.objectives.any(); };
  return all.any() || std::ranges::any_of(requests.classes, promised);
}

const Keys<ServingStudy>& serving_study_keys() {
  using S = ServingStudy;
  using K = Keys<S>;
  static const K keys(
      "serving", "What `exawarp serve` simulates: a language model that is served.",
      {K::text("study", &S::name, "its name").required(), K::note("description"), K::note("source"),
       K::section("serving", &S::spec, replica_keys(), "how requests are served").required(),
       K::section("requests", &S::requests, source_keys(), "what is asked, and when").required(),
       K::custom("iteration", {ValueShape::mapping(iteration_keys().schema())},
                 "a batch's time by measured kernels, in place of `serving.batch_time`",
                 [](const YamlSection& section, S& out, const KeySchema& key) {
                   if (const auto inside = section.optional_section(key.name)) {
                     out.iteration = read_iteration(*inside);
                   }
                 })
           .otherwise("none"),
       K::custom("profile", {ValueShape::mapping(profile_keys().schema())},
                 "a batch's time by a profile of the model's operations, in place of both",
                 [](const YamlSection& section, S& out, const KeySchema& key) {
                   if (const auto inside = section.optional_section(key.name)) {
                     out.profile = profile_keys().read(*inside);
                   }
                 })
           .otherwise("none: `iteration`, or else `serving.batch_time`"),
       K::section("objectives", &S::objectives, objective_keys(), "what a request is promised"),
       K::integer("seed", &S::seed, {}, "of every random number")});
  return keys;
}

const Keys<Spec>& serving_spec_keys() { return replica_keys(); }
const Keys<RequestSource>& request_source_keys() { return source_keys(); }
const Keys<Objectives>& request_objective_keys() { return objective_keys(); }
void check_request_source(const RequestSource& source, const std::string& place) {
  check_source(source, place);
}

ServingStudy read_serving_study(const std::string& path,
                                const std::vector<std::string>& overrides) {
  YamlDocument document(path, overrides);
  const YamlSection root = document.root();
  expect_kind(FileKind::serving_study, root, path);
  ServingStudy out;
  out.file = path;
  out.spec.blocks = 0;
  out = serving_study_keys().read(root, std::move(out));
  document.finish();
  check_source(out.requests, path);
  check_profile(out, path);
  if (out.iteration) choose_groups(out.iteration->spec.model, path + ": serving", out.spec);
  if (out.spec.blocks == 0 && !out.iteration) {
    throw core::InputError(path, "serving.blocks: is missing; expected how many blocks of keys and "
                                 "values a replica has room for, or iteration");
  }
  if (out.spec.blocks == 0) {
    out.spec.blocks = blocks_that_fit(path + ": iteration", out.iteration->spec,
                                      out.iteration->accelerator, out.spec);
  }
  for (const RequestClass& c : out.requests.classes) out.spec.priorities.push_back(c.priority);
  out.settings = document.settings();
  out.resolved = document.resolved();
  return out;
}

}  // namespace exawarp::io
