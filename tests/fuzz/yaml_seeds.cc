// Seeds and words of the YAML files: studies, workloads, systems, synthetic traffic.
#include <sstream>

#include "tests/fuzz/seeds.h"
#include "tests/fuzz/targets.h"
#include "tests/support/small_study.h"

namespace exawarp::fuzz {
namespace {

std::string indented(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) out += "  " + line + "\n";
  return out;
}

// The study with its workload in place, in one text.
std::string whole_study() {
  const std::string study = tests::small_study();
  const std::string reference = "workload: workload.yaml\n";
  std::string out = study;
  return out.replace(study.find(reference), reference.size(),
                     "workload:\n" + indented(tests::small_workload()));
}

std::string overridden(std::string text, const std::vector<std::string>& overrides) {
  for (const std::string& one : overrides) text += kSeparator + one;
  return text;
}

// The text, which ends with the fat tree, on another network.
std::string on_topology(const std::string& text, const std::string& topology) {
  return text.substr(0, text.find("scale_out:")) + "topology: " + topology + "\n";
}

const char* const kLink = "link: {bandwidth: 25 GB/s, latency: 10 ns}, endpoint_latency: 1 us";
const char* const kSwitch = "switch_latency: 100 ns";

// Of 8 devices in nodes of 4; without its braces.
struct Family {
  const char* keys;
  bool has_switches;
};
constexpr Family kFamilies[] = {
    {"kind: single_switch, planes: 2", true},
    {"kind: ring", false},
    {"kind: fully_connected, forwarding_latency: 5 ns", false},
    {"kind: torus, dims: [2, 4]", false},
    {"kind: mesh, dims: [2, 2, 2]", false},
    {"kind: leaf_spine, devices_per_leaf: 4, oversubscription: 2, leaf_bundle: 2", true},
    {"kind: leaf_spine, radix: 4, leaves_per_device: 2, planes: 2", true},
    {"kind: fat_tree, devices_per_leaf: 2, leaves_per_pod: 2, spines_per_pod: 2, cores: 2, "
     "spine_bundle: 2",
     true},
    {"kind: rail_optimised, devices_per_leaf: 2, spines: 2, cross_rail: nvlink", true},
    {"kind: rail_only, devices_per_leaf: 2, spines: 1", true},
    {"kind: dragonfly, devices_per_router: 2, routers_per_group: 2, global_links_per_router: 1, "
     "groups: 2, arrangement: relative",
     true},
    {"kind: hyperx, dims: [2, 2], width: [1, 2], devices_per_switch: 2", true},
};

std::string text_of(const Family& family) {
  return std::string("{") + family.keys + ", " + (family.has_switches ? kSwitch : "") +
         (family.has_switches ? ", " : "") + kLink + "}";
}

const char* const kGraph =
    "{kind: graph, switch_latency: 100 ns, endpoint_latency: 1 us, graph: {devices: 8, "
    "switches: 2, link_kinds: {host: {bandwidth: 50 GB/s, latency: 1 ns}, trunk: {bandwidth: 25 "
    "GB/s, peak_bandwidth: 26 GB/s, latency: 1 us}}, links: [d0 s0 host, d1 s0 host, d2 s0 host, "
    "d3 s0 host, d4 s1 host, d5 s1 host, d6 s1 host, d7 s1 host, s0 s1 trunk 2]}}";
const char* const kProduct =
    "{kind: product, forwarding_latency: 1 ns, dimensions: {a: {devices: 4, kind: single_switch, "
    "link: {bandwidth: 50 GB/s, latency: 5 ns}, switch_latency: 2 ns, endpoint_latency: 1 us}, "
    "b: {devices: 2, kind: ring, link: {bandwidth: 50 GB/s, latency: 5 ns}, endpoint_latency: 1 "
    "us}}}";

std::vector<std::string> topologies() {
  std::vector<std::string> all{kGraph, kProduct};
  for (const Family& family : kFamilies) all.push_back(text_of(family));
  return all;
}

const char* const kFaults =
    "compute: {jitter: {distribution: lognormal, deviation: 0.1}}\n"
    "faults: {slow_links: [{links: [d0 s0, \"s0:1\"], factor: 2, until: 1 ms}],\n"
    "  slow_devices: [{devices: [7, 1-2], factor: 1.5, from: 1 us, until: 2 s}],\n"
    "  slow_switches: [{switches: [s0, 1-1], factor: 2}],\n"
    "  failed_links: [{share: 0.1, kind: leaf-spine, seed: 7, from: 200 us}],\n"
    "  failed_switches: [{share: 0.5, seed: 3, from: 10 us, until: 20 us}]}\n";
const char* const kLatencyJitter = "{latency_jitter: {mean: 1 us, distribution: uniform}}\n";

const char* const kLossless =
    "{packet_size: 4096 B, header_size: 48 B, flow_control: pfc, xoff: 128 KiB, xon: 96 KiB, "
    "commit_packets: 2, ecn: {kmin: 100 KiB, kmax: 400 KiB, pmax: 0.2}, transport: dcqcn, "
    "dcqcn: {cnp_interval: 50 us, gain_shift: 8, fast_recovery_steps: 5, least_rate: 1 MB/s, "
    "increase_bytes: 10 MB, additive_increase: 5 MB/s}, routing: spray, queue_pairs: 4}";
const char* const kLossy =
    "{cut_through: false, flow_control: none, buffer: 64 KiB, transport: window, window: "
    "{queueing_delay: 10 us, initial_packets: 16, beta: 0.8}, recovery: selective_repeat, "
    "ack_every: 4, retransmit_timeout: 100 us, control_size: 64 B, routing: deterministic, "
    "fast_forward: {error: 0.02}}";
const char* const kCredit =
    "{flow_control: credit, buffer: 64 KiB, routing: adaptive, ugal_bias: 64 KiB}";

const char* const kCollectives =
    "collectives: {first: {name: node, rules: [{algorithm: pat, across_nodes: false}]}, rules: [\n"
    "  {type: all_reduce, max_bytes: 768 KiB, max_group: 8, algorithm: direct, start: 6.8 us},\n"
    "  {type: all_reduce, algorithm: ring, hierarchical: true, across: halving, channels: 2,\n"
    "   both_ways: true, chunk: 64 KiB, payload: 0.9, step: {node: 1 us, scale_out: 2 us}},\n"
    "  {type: all_gather, min_group: 2, algorithm: bruck}, {algorithm: double_tree, "
    "type: broadcast}]}\n";

std::string jobs_study() {
  const std::string study = tests::small_study();
  const std::string reference = "workload: workload.yaml\n";
  std::string out = study;
  return out.replace(
      study.find(reference), reference.size(),
      "devices: 16\njobs:\n"
      "  - {name: one, placement: {kind: nodes, order: leaves, ranks: round_robin}, workload:\n"
      "      {microbenchmark: {kind: collective, collective: all_reduce, devices: 4, bytes: 1 "
      "MiB}}}\n"
      "  - {name: two, placement: {kind: random, seed: 7}, start: 2 us, workload:\n"
      "      {microbenchmark: {kind: ping_pong, bytes: 4 KiB, devices: 2}}}\n"
      "  - {name: three, placement: {devices: [15, 12-13]}, workload:\n"
      "      {microbenchmark: {kind: compute, flops: 1000, bytes_read: 1 KiB, devices: 3}}}\n"
      "background:\n"
      "  - {pattern: uniform, load: 0.2, size: web_search, until: 20 us}\n"
      "  - {pattern: hotspot, rate: 1 GB/s, size: {kind: pareto, min: 1 KiB, max: 1 MiB, alpha: "
      "1.1},\n     targets: [0, 3], hot_share: 0.3, gaps: even, fraction: 0.5, until: 10 us}\n"
      "  - {pattern: incast, load: 1, size: {kind: uniform, min: 1 B, max: 64 KiB}, devices: "
      "[0-5],\n     targets: [6], seed: 9, from: 1 us, until: 9 us}\n");
}

std::string spec_of(const std::string& model_and_rest) {
  return "transformer:\n  model: {" + model_and_rest;
}

}  // namespace

const char* const kMicrobenchmark =
    "microbenchmark: {kind: collective, collective: all_reduce, devices: 8, bytes: 1 MiB}\n";
const char* const kPingPong = "microbenchmark: {kind: ping_pong, bytes: 4 KiB, devices: 2}\n";

std::string small_system_text() {
  std::istringstream lines(tests::small_study());
  std::string out;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (inside && line.starts_with("  ")) out += line.substr(2) + "\n";
    if (line == "system:") inside = true;
  }
  return out;
}

std::vector<std::string> study_seeds() {
  const std::string study = whole_study();
  const std::string settings =
      "compute: {fidelity: roofline, jitter: 0.05}\nnetwork: {fidelity: message}\n"
      "placement: {method: block, partitions_per_rank: 4}\nseed: 7\nmemory: {ignore: true}\n"
      "point_to_point: {eager_max: 64 KiB}\n"
      "engine: {sync: optimistic, threads: 2, window: 10 us, memory: 1 GiB, audit: 0.5,\n"
      "  time_limit_s: 10}\n";
  std::vector<std::string> seeds{
      study,
      study + settings,
      overridden(study, {"system.accelerator.launch_latency=9 us",
                         "workload.transformer.parallel.data=4"}),
      overridden(study, {"compute.idle_share=simulated",
                         "system.accelerator.sustained_slowdown=[{idle: 0, slowdown: 1.2}, "
                         "{idle: 0.15, slowdown: 1.1}, {idle: 1, slowdown: 1}]"}),
      study + kFaults + "network: " + kLatencyJitter,
      study + kCollectives,
      study + "network: {fidelity: analytical}\n",
      jobs_study(),
  };
  const std::string small = overridden(
      study, {"workload={microbenchmark: {kind: collective, collective: all_reduce, devices: 8, "
              "bytes: 64 KiB}}"});
  for (const char* packet : {kLossless, kLossy, kCredit}) {
    seeds.push_back(overridden(small, {"network.fidelity=packet",
                                       "network.packet=" + std::string(packet),
                                       "network.inside_nodes=packet"}));
  }
  for (const std::string& topology : topologies()) {
    seeds.push_back(on_topology(study, topology));
  }
  return seeds;
}

std::vector<std::string> workload_spec_seeds() {
  const std::string small = tests::small_workload();
  const std::string parallel =
      "}\n  parallel: {tensor: 2, data: 2}\n  global_batch_sequences: 4\n  ";
  return {
      small, kMicrobenchmark, kPingPong,
      "microbenchmark: {kind: collective, collective: all_to_all, bytes: 1 MiB, repeats: 3,\n"
      "  mesh: {tensor: 4, data: 2}, along: [data]}\n",
      "microbenchmark: {kind: memory, place: host, bytes_read: 1 MiB, devices: 2}\n",
      "resnet: {global_batch: 8, devices: 2, blocks: [1, 2, 1, 1], image: 32, classes: 10, "
      "bucket: 1 MiB, steps: 2}\n",
      "inference: {model: {layers: 2, hidden: 8, ffn: 16, heads: 2, vocabulary: 10}, batch: 2,\n"
      "  parallel: {tensor: 2, pipeline: 2}, input_tokens: 5, output_tokens: 3,\n"
      "  cache_precision: fp8, request_overhead: 1 us}\n",
      "dlrm: {global_batch: 8, devices: 2, table_rows: [100, 50], vector_width: 8, "
      "bottom_mlp: [16, 8], top_mlp: [16, 1]}\n",
      "dlrm: {global_batch: 64, devices: 4, table_rows: [100, 50, 7], table_lookups: [1, 2, 30],\n"
      "  vector_width: 8, bottom_mlp: [8], top_mlp: [4, 1], interaction: cross, cross_layers: 2,\n"
      "  cross_rank: 16, precision: bf16, table_precision: fp16, dense_features: 5}\n",
      spec_of("name: v, family: vision, layers: 2, hidden: 64, ffn: 128, heads: 4, image: 32, "
              "patch: 8, classes: 10, gated_ffn: false") + parallel + "recompute: selective\n" +
          kSeparator + "transformer.parallel.sequence_parallel=false",
      spec_of("name: t, family: encoder_decoder, layers: 2, encoder_layers: 3, hidden: 64, ffn: "
              "128, heads: 4, head_dim: 8, vocabulary: 100, tied_embeddings: true") + parallel +
          "sequence_length: 16\n  encoder_sequence_length: 32\n",
      spec_of("name: d, layers: 3, hidden: 64, ffn: 128, heads: 4, vocabulary: 100, causal: false, "
              "mla: {query_rank: 16, key_value_rank: 8, nope_dim: 8, rope_dim: 4, value_dim: 8}, "
              "moe: {experts: 4, top_k: 2, ffn: 32, shared_ffn: 32, dense_layers: 1, every: 1}") +
          parallel + "sequence_length: 16\n  routing: {imbalance: 0.5, seed: 3, capacity_factor: "
          "1.5, pad: true}\n",
      spec_of("name: h, layers: 4, hidden: 64, ffn: 128, heads: 4, vocabulary: 100, pattern: "
              "\"ME*-\", predictions: 1, mamba: {heads: 4, head_dim: 8, state_dim: 8, groups: 2, "
              "convolution: 4, chunk: 8}, moe: {experts: 4, top_k: 2, ffn: 32, latent: 16}") +
          parallel + "sequence_length: 16\n  recompute: experts\n",
      small + "  schedule: {kind: 1f1b, virtual_stages: 2}\n",
      small + "  schedule: {kind: gpipe, first_stage_layers: 1}\n  flash_attention: false\n",
      small + "  schedule: {kind: interleaved, virtual_stages: 2, chunk_layers: [1, 1, 2, 0]}\n",
      small + "  schedule: {chunk_layers: [3, 1]}\n  recompute: {kind: full, layers: 1}\n"
          "  optimizer: {kind: sgd, gradient_norm: false}\n  gradient_reduction: micro_batch\n",
      small + "  storage: {bytes_per_sequence: 4 KiB, checkpoint_every: 2, checkpoint_wait: "
          "false}\n  steps: 3\n  precision: fp16\n  gemm_precision: fp8\n  parameter_precision: "
          "fp8\n  attention_precision: fp8\n",
      overridden(small + "  schedule: {kind: zb_h1}\n  recompute: full\n",
                 {"transformer.model.moe={experts: 4, top_k: 2, ffn: 128}",
                  "transformer.parallel.expert=2", "transformer.routing.imbalance=0.5"}),
      overridden(small + "  overlap: {tensor: pipelined, tensor_parts: 2, parameters: true}\n",
                 {"transformer.parallel.context=2", "transformer.parallel.sharding=fsdp",
                  "transformer.parallel.context_method=ulysses"}),
      overridden(small, {"transformer.parallel.sharding=zero3", "transformer.parallel.pipeline=1",
                         "transformer.parallel.data=4", "transformer.parallel.shard_group=2",
                         "transformer.parallel.prefetch_layers=2"}),
      overridden(small, {"transformer.parallel.order=[data, tensor, pipeline]"}),
  };
}

std::vector<std::string> system_seeds() {
  const std::string system = small_system_text();
  std::vector<std::string> seeds{system, overridden(system, {"fabric.node.devices=2"}),
                                 overridden(system, {"fabric.node.planes=2"})};
  for (const std::string& topology : topologies()) {
    seeds.push_back(on_topology(system, topology));
  }
  return seeds;
}

std::vector<std::string> traffic_seeds() {
  std::vector<std::string> seeds;
  const auto add = [&](const std::string& topology, const std::string& traffic,
                       const std::string& rest) {
    seeds.push_back("study: t\ndevices: 8\nfabric: {name: f, topology: " + topology +
                    "}\ntraffic: {size: 64 KiB, " + traffic + "}\n" + rest);
  };
  const std::string packet = "packet: ";
  add(text_of(kFamilies[0]), "pattern: incast, senders: 4", packet + kLossless + "\n");
  add(text_of(kFamilies[5]), "pattern: uniform, load: 0.3, messages: 20", packet + kLossy + "\n");
  add(text_of(kFamilies[7]), "pattern: permutation, start_spread: 1 us", packet + kCredit + "\n");
  add(text_of(kFamilies[10]), "pattern: all_to_all, concurrent: 2",
      "packet: {routing: ugal, ugal_bias: 1 KiB}\nseed: 3\nlatency_jitter: {mean: 1 us}\n"
      "faults: {failed_links: [{share: 0.2, from: 1 us, until: 9 us}]}\n");
  add(text_of(kFamilies[11]), "pattern: hotspot, hot_share: 0.2, messages: 9",
      "packet: {routing: valiant}\ncounters: {bucket: 1 us, buckets: 16}\n");
  add(kGraph, "pattern: shift, shift: 3", "");
  add(kProduct, "pattern: pairs, senders: 3", "");
  add(text_of(kFamilies[3]), "pattern: outcast", "packet: {routing: destination}\n");
  return seeds;
}

std::vector<std::string> study_words() {
  std::vector<std::string> words{
      ": ", "\n", "\n  ", "- ", "[", "]", "{", "}", "&a ", "*a", "!!int ", "---\n", "...\n", "#",
      "|", ">", "'", "\"", "\\x00", "? ", "<<: ", "~", "null", "-1", "0", "1e308", "nan",
      "9223372036854775807", "9223372036854775808", "0x7f", ".inf", "true", "/dev/null", "..",
      "\t", "\xef\xbb\xbf", "\xff\xfe", "1048576", "65536", std::string(1, kSeparator),
      "system.fabric=", "16777216 PB", "1 ps", "60 s", "[0-7]", "s0", "\"s0:1\"", "1 B",
      "schedule: {virtual_stages: 2}", "failed_links: [{links: [d0 s0]}]", "share: 1",
      "gradient_precision: fp8", "jitter: 0.25", "first_stage_layers: 1", "chunk_layers: [1, 3]",
      "recompute: {kind: full, layers: 2}", "fidelity: packet", "placement: random"};
  for (const char* key :
       {"kv_heads", "head_dim", "distribution", "microbenchmark", "engine", "cores", "planes",
        "peak_bandwidth", "radix", "oversubscription", "leaf_bundle", "leaves_per_device", "dims",
        "width", "forwarding_latency", "core_link", "jobs", "background", "devices", "targets",
        "fraction", "gaps", "packet", "buffer", "flow_control", "recovery", "routing", "ecn",
        "collectives", "algorithm", "hierarchical", "across", "both_ways", "channels", "chunk",
        "payload", "expert", "expert_tensor", "context", "shard_group", "sharding", "storage",
        "capacity_factor", "steps", "moe", "mla", "family", "table_rows", "bottom_mlp", "blocks",
        "mesh", "along", "senders", "concurrent", "one_by_one", "link_kinds", "links", "eager_max",
        "slow_devices", "failed_switches", "latency_jitter"}) {
    words.push_back(key + std::string(": "));
  }
  return words;
}

}  // namespace exawarp::fuzz
