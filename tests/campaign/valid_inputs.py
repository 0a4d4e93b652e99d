"""Small valid inputs of every kind the program reads; the campaigns vary them.

Each input is a dictionary of file names to bytes; the first file is the one to name on the
command line. What the program writes itself (.xwg, traces) is made once by the program under test.
"""
import functools
import pathlib
import struct
import subprocess
import tempfile

from campaign import ROOT

SHARED = ROOT.parent / "shared" / "data"  # real traces; without them there are fewer inputs

ACCELERATOR = """name: chip
matrix_rate: {bf16: 100 TFLOP/s}
vector_rate: 10 TFLOP/s
memory_bandwidth: 1 TB/s
memory_capacity: 16 GB
host_bandwidth: 16 GB/s
launch_latency: 1 us
efficiency:
  other: {compute: 0.5, memory: 0.8}
sustained_slowdown: [{idle: 0, slowdown: 1.2}, {idle: 0.15, slowdown: 1.1}, {idle: 1, slowdown: 1}]
"""
FABRIC = """name: fabric
node:
  name: inside
  devices: 4
  bandwidth: 100 GB/s
  latency: 1 us
"""
SCALE_OUT = """scale_out:
  name: across
  bandwidth: 100 Gb/s
  endpoint_latency: 1 us
  switch_latency: 100 ns
  link_latency: 10 ns
  devices_per_leaf: 4
  leaves_per_pod: 2
  spines_per_pod: 2
"""
SYSTEM = "name: small\naccelerator: accelerator.yaml\nfabric: fabric.yaml\n"
TRANSFORMER = """transformer:
  model:
    name: tiny
    layers: 4
    hidden: 256
    ffn: 512
    heads: 8
    vocabulary: 1024
  parallel:
    tensor: 2
    pipeline: 2
    data: 2
  sequence_length: 128
  global_batch_sequences: 8
  gradient_buckets: 1
"""
LINK = "link: {bandwidth: 25 GB/s, latency: 10 ns}\n  endpoint_latency: 1 us\n"
SWITCH = "switch_latency: 100 ns\n  "
# Of 8 devices in nodes of 4.
TOPOLOGIES = [
    "kind: single_switch\n  planes: 2\n  " + SWITCH + LINK,
    "kind: ring\n  " + LINK,
    "kind: fully_connected\n  forwarding_latency: 5 ns\n  " + LINK,
    "kind: torus\n  dims: [2, 4]\n  " + LINK,
    "kind: mesh\n  dims: [2, 2, 2]\n  " + LINK,
    "kind: leaf_spine\n  devices_per_leaf: 4\n  oversubscription: 2\n  leaf_bundle: 2\n  "
    + SWITCH + LINK,
    "kind: leaf_spine\n  radix: 4\n  leaves_per_device: 2\n  planes: 2\n  " + SWITCH + LINK,
    "kind: fat_tree\n  devices_per_leaf: 2\n  leaves_per_pod: 2\n  spines_per_pod: 2\n  cores: 2\n"
    "  spine_bundle: 2\n  " + SWITCH + LINK,
    "kind: rail_optimised\n  devices_per_leaf: 2\n  spines: 2\n  cross_rail: nvlink\n  " + SWITCH
    + LINK,
    "kind: dragonfly\n  devices_per_router: 2\n  routers_per_group: 2\n"
    "  global_links_per_router: 1\n  groups: 2\n  arrangement: relative\n  " + SWITCH + LINK,
    "kind: hyperx\n  dims: [2, 2]\n  width: [1, 2]\n  devices_per_switch: 2\n  " + SWITCH + LINK,
    "kind: graph\n  switch_latency: 100 ns\n  endpoint_latency: 1 us\n  graph:\n    devices: 8\n"
    "    switches: 2\n    link_kinds:\n      host: {bandwidth: 50 GB/s, latency: 1 ns}\n"
    "      trunk: {bandwidth: 25 GB/s, peak_bandwidth: 26 GB/s, latency: 1 us}\n    links:\n"
    + "".join(f"      - d{device} s{device // 4} host\n" for device in range(8))
    + "      - s0 s1 trunk 2\n",
    "kind: product\n  forwarding_latency: 1 ns\n  dimensions:\n    a: {devices: 4, kind: "
    "single_switch, link: {bandwidth: 50 GB/s, latency: 5 ns}, switch_latency: 2 ns, "
    "endpoint_latency: 1 us}\n    b: {devices: 2, kind: ring, link: {bandwidth: 50 GB/s, "
    "latency: 5 ns}, endpoint_latency: 1 us}\n",
]
PACKETS = [
    "{packet_size: 4096 B, header_size: 48 B, flow_control: pfc, xoff: 128 KiB, xon: 96 KiB, "
    "commit_packets: 2, ecn: {kmin: 100 KiB, kmax: 400 KiB, pmax: 0.2}, transport: dcqcn, "
    "dcqcn: {cnp_interval: 50 us, gain_shift: 8, least_rate: 1 MB/s}, routing: spray, "
    "queue_pairs: 4}",
    "{cut_through: false, flow_control: none, buffer: 64 KiB, transport: window, window: "
    "{queueing_delay: 10 us, initial_packets: 16, beta: 0.8}, recovery: selective_repeat, "
    "ack_every: 4, retransmit_timeout: 100 us, control_size: 64 B, routing: deterministic, "
    "fast_forward: {error: 0.02}}",
    "{flow_control: credit, buffer: 64 KiB, routing: deterministic, ugal_bias: 64 KiB}",
    "{packet_size: 1 KiB, routing: adaptive}",
]
STUDY_ADDITIONS = [
    "",
    "compute: {fidelity: roofline, jitter: 0.05}\nnetwork: {fidelity: message}\nplacement: "
    "{method: block, partitions_per_rank: 4}\nseed: 7\nmemory: {ignore: true}\n"
    "point_to_point: {eager_max: 64 KiB}\nengine: {sync: optimistic, threads: 2, window: 10 us, "
    "memory: 1 GiB, audit: 0.5, time_limit_s: 10}\n",
    "compute: {jitter: {distribution: lognormal, deviation: 0.1}}\nfaults:\n"
    "  slow_links: [{share: 0.5, factor: 2, until: 1 ms}]\n"
    "  slow_devices: [{devices: [7, 1-2], factor: 1.5, from: 1 us, until: 2 s}]\n"
    "  slow_switches: [{switches: [s0, 1-1], factor: 2}]\n"
    "network: {latency_jitter: {mean: 1 us, distribution: uniform}}\n",
    "collectives:\n  rules:\n    - {type: all_reduce, max_bytes: 768 KiB, algorithm: direct, "
    "start: 6.8 us}\n    - {type: all_reduce, algorithm: ring, hierarchical: true, across: "
    "halving,\n       channels: 2, both_ways: true, chunk: 64 KiB, payload: 0.9,\n"
    "       step: {node: 1 us, scale_out: 2 us}}\n    - {type: all_gather, algorithm: bruck}\n",
    "network: {fidelity: analytical}\ndescription: \"a step\"\ncompute: {idle_share: 0.3}\n",
    "compute: {idle_share: simulated}\nfold: auto\n",
]
JOBS = """study: jobs
devices: 16
jobs:
  - name: one
    placement: {kind: nodes, order: leaves, ranks: round_robin}
    workload: {microbenchmark: {kind: collective, collective: all_reduce, devices: 4, bytes: 1 MiB}}
  - name: two
    placement: {kind: random, seed: 7}
    start: 2 us
    workload: {microbenchmark: {kind: ping_pong, bytes: 4 KiB, devices: 2}}
  - name: three
    placement: {devices: [15, 12-13]}
    workload: {microbenchmark: {kind: compute, flops: 1000, bytes_read: 1 KiB, devices: 3}}
background:
  - {pattern: uniform, load: 0.2, size: web_search, until: 20 us}
  - {pattern: incast, load: 1, size: {kind: uniform, min: 1 B, max: 64 KiB}, devices: [0-5],
     targets: [6], seed: 9, from: 1 us, until: 9 us}
system: system.yaml
"""
SPECIFICATIONS = [
    TRANSFORMER,
    TRANSFORMER + "  schedule: {kind: 1f1b, virtual_stages: 2}\n",
    TRANSFORMER + "  schedule: {kind: interleaved, virtual_stages: 2, chunk_layers: [1, 1, 2, 0]}\n"
    "  storage: {bytes_per_sequence: 4 KiB, checkpoint_every: 2}\n  steps: 3\n  precision: fp16\n",
    "microbenchmark: {kind: collective, collective: all_reduce, devices: 8, bytes: 1 MiB}\n",
    "microbenchmark: {kind: collective, collective: all_to_all, bytes: 1 MiB, repeats: 3,\n"
    "  mesh: {tensor: 4, data: 2}, along: [data]}\n",
    "microbenchmark: {kind: send, bytes: 4 KiB, devices: 2}\n",
    "microbenchmark: {kind: memory, place: host, bytes_read: 1 MiB, devices: 2}\n",
    "resnet: {global_batch: 8, devices: 2, blocks: [1, 2, 1, 1], image: 32, classes: 10, "
    "bucket: 1 MiB, steps: 2}\n",
    "dlrm: {global_batch: 64, devices: 4, table_rows: [100, 50, 7], table_lookups: [1, 2, 30],\n"
    "  vector_width: 8, bottom_mlp: [8], top_mlp: [4, 1], interaction: cross, cross_layers: 2,\n"
    "  cross_rank: 16, precision: bf16, table_precision: fp16, dense_features: 5}\n",
]
TRAFFIC = [
    "size: 64 KiB\n  pattern: incast\n  senders: 4\n",
    "size: 64 KiB\n  pattern: uniform\n  load: 0.3\n  messages: 20\n",
    "size: 64 KiB\n  pattern: permutation\n  start_spread: 1 us\n",
    "size: 64 KiB\n  pattern: all_to_all\n  concurrent: 2\n",
    "size: 64 KiB\n  pattern: all_to_all\n  concurrent: 4\n  one_by_one: true\n",
    "size: 64 KiB\n  pattern: hotspot\n  hot_share: 0.2\n  messages: 9\n",
    "size: 64 KiB\n  pattern: shift\n  shift: 3\n",
]
GOAL = """num_ranks 3
rank 0 { // first
l1: calc 100 cpu 0
l2: send 8b to 1 tag 3 cpu 0 nic 0
l2 requires l1
l3: recv 70000b from 2
l4: calc 5 cpu 1
l4 irequires l3 }
rank 1 { l1: recv 8b from 0 tag 3 /* any */
l2: send 16b to 2 tag 1
l2 requires l1 }
rank 2 { recv 16b from 1 tag 1
send 70000b to 0 }
"""
STABLEHLO_LOOP = """func.func @main(%v: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %trips = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %x = %v) : tensor<i32>, tensor<4xf32>
   cond {
    %p = stablehlo.compare LT, %i, %trips, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %n = stablehlo.add %i, %one : tensor<i32>
    %y = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %n, %y : tensor<i32>, tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}
"""
TEXT_WORKLOADS = [
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 checkpoints: 1 0 "
    "checkpoint_initiates: 1 1\n2\na -1 5 ALLREDUCE 64 5 NONE 0 5 ALLREDUCE 1048576 5\n"
    "b -1 5 NONE 0 5 ALLTOALL 8 5 REDUCESCATTER 32 5\n",
    "HYBRID_DLRM 1\n3\ne -1 5 ALLTOALL 64 5 ALLTOALL 64 5 NONE 0 1\n"
    "b\t-1\t5\tNONE\t0\t5\tNONE\t0\t5\tALLREDUCE\t32\t5\nt -1 5 NONE 0 5 NONE 0 5 NONE 0 5\n",
    "MICRO\n1\nc -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 1048576 5\n",
]
PYTORCH = """{"schema": "1.0.2-chakra.0.0.4", "pid": 1, "nodes": [
 {"id": 1, "name": "[pytorch|profiler|execution_trace|process]", "ctrl_deps": 1},
 {"id": 2, "name": "## process_group:init ##", "ctrl_deps": 1, "inputs": {"values":
  ["[{\\"pg_name\\": \\"0\\", \\"backend_id\\": 9, \\"ranks\\": []}]"], "shapes": [[]],
  "types": ["String"]}, "attrs": [{"name": "rf_id", "type": "uint64", "value": 1}]},
 {"id": 3, "name": "aten::mm", "ctrl_deps": 1, "inputs": {"values": [[1, 2, 0, 8, 4, "cuda:0"]]},
  "outputs": {"values": [[3, 4, 0, 8, 4, "cuda:0"]]}, "attrs": [
  {"name": "rf_id", "type": "uint64", "value": 2}, {"name": "tid", "type": "uint64", "value": 1}]},
 {"id": 5, "name": "record_param_comms", "ctrl_deps": 3, "inputs": {"values":
  [[[1, 4, 0, 8, 4, "cuda:0"]], 12, 9, 0, "all_gather", [], [], 2]}, "attrs": [
  {"name": "rf_id", "type": "uint64", "value": 3}, {"name": "tid", "type": "uint64", "value": 2}]}
]}"""
KINETO = """{"traceEvents": [
 {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1.5, "dur": 10,
  "args": {"External id": 4, "Record function id": 2}},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": 21,
  "dur": 1, "args": {"correlation": 7}},
 {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 12, "dur": 0.25,
  "args": {"External id": "4", "stream": 7}},
 {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllGather", "ts": 22, "dur": 3,
  "args": {"correlation": 7, "stream": 20}}]}"""
ASTRA_SYSTEM = """{"scheduling-policy": "LIFO", "endpoint-delay": 10,
 "active-chunks-per-dimension": 1, "preferred-dataset-splits": 4,
 "all-reduce-implementation": ["ring"], "all-gather-implementation": ["ring"],
 "reduce-scatter-implementation": ["ring"], "all-to-all-implementation": ["direct"],
 "collective-optimization": "localBWAware", "local-mem-bw": 1600,
 "roofline-enabled": 1, "peak-perf": 900}"""
ASTRA_NETWORK = "topology: [Ring]\nnpus_count: [4]\nbandwidth: [50.0]\nlatency: [500.0]\n"
ASTRA_MEMORY = """{"memory-type": "PER_NODE_MEMORY_EXPANSION", "num-nodes": 2,
 "num-npus-per-node": 2, "remote-mem-latency": 100, "remote-mem-bw": 50}"""


def indented(text, blanks=2):
    return "".join(" " * blanks + line + "\n" for line in text.splitlines())


def system_files(fabric):
    return {"system.yaml": SYSTEM, "accelerator.yaml": ACCELERATOR, "fabric.yaml": fabric}


def topology_fabric(topology):
    return FABRIC + "topology:\n  " + topology


def study(additions="", specification=TRANSFORMER, fabric=FABRIC + SCALE_OUT):
    text = "study: tiny\nworkload: workload.yaml\nsystem: system.yaml\n" + additions
    return {"study.yaml": text, "workload.yaml": specification, **system_files(fabric)}


def studies():
    inputs = [study(additions) for additions in STUDY_ADDITIONS]
    inputs.append({"study.yaml": JOBS, **system_files(FABRIC + SCALE_OUT)})
    for topology, packet in zip(TOPOLOGIES, PACKETS * 5):
        additions = "network:\n  fidelity: packet\n  inside_nodes: packet\n  packet: " + packet
        inputs.append(study(additions + "\n", SPECIFICATIONS[3].replace("1 MiB", "64 KiB"),
                            topology_fabric(topology)))
    return inputs


def topology_studies():
    return [study(fabric=topology_fabric(topology)) for topology in TOPOLOGIES]


def traffic_studies():
    inputs = []
    for index, topology in enumerate(TOPOLOGIES):
        text = ("study: traffic\ndevices: 8\nfabric: fabric.yaml\npacket: "
                f"{PACKETS[index % len(PACKETS)]}\ntraffic:\n  {TRAFFIC[index % len(TRAFFIC)]}")
        if index % 3 == 1:
            text += ("seed: 3\nlatency_jitter: {mean: 1 us}\n"
                     "counters: {bucket: 1 us, buckets: 16}\n"
                     "faults: {failed_links: [{share: 0.2, from: 1 us, until: 9 us}]}\n")
        inputs.append({"study.yaml": text, "fabric.yaml": topology_fabric(topology)})
    return inputs


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def field(number, value):
    """A protobuf field: an integer as a varint, bytes and text with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


COMPUTE, SEND, RECEIVE, COLLECTIVE = 4, 5, 6, 7  # io/formats/chakra/chakra.proto: NodeType


def trace(nodes):
    """An execution trace of nodes (type, attributes), each after the one before it."""
    records = [field(1, "0.0.4")]
    for identifier, (kind, attributes) in enumerate(nodes):
        record = field(1, identifier) + field(2, f"n{identifier}") + field(3, kind)
        if identifier > 0:
            record += field(5, identifier - 1)
        for name, value in attributes.items():
            number = 27 if isinstance(value, bool) else 9  # bool_val, int64_val
            record += field(10, field(1, name) + field(number, int(value)))
        records.append(record)
    return b"".join(varint(len(record)) + record for record in records)


def astra_set_up(nodes=None, ranks=4, system=ASTRA_SYSTEM, network=ASTRA_NETWORK):
    nodes = nodes or [(COMPUTE, {"is_cpu_op": False, "num_ops": 1000, "tensor_size": 4096}),
                      (COLLECTIVE, {"is_cpu_op": False, "comm_type": 0, "comm_size": 65536})]
    files = {"system.json": system, "network.yml": network, "memory.json": ASTRA_MEMORY}
    return {**files, **{f"trace.{rank}.et": trace(nodes) for rank in range(ranks)}}


def goals():
    golden = ROOT / "tests" / "golden" / "goal"
    binary = struct.pack("<3Q", 0, 0, 0)  # no golden files: the header of nothing
    if (golden / "ring_chained_8.bin").exists():
        binary = (golden / "ring_chained_8.bin").read_bytes()
    ring = "".join(f"rank {rank} {{\nl1: send 100b to {(rank + 1) % 4} tag 0\n"
                   f"l2: recv 100b from {(rank + 3) % 4} tag 0\nl3: calc 7\nl3 requires l2\n}}\n"
                   for rank in range(4))
    return [{"s.goal": GOAL}, {"s.goal": "num_ranks 4\n" + ring}, {"s.bin": binary}]


def stablehlo_modules():
    golden = ROOT / "tests" / "golden" / "stablehlo"
    inputs = [{"m.mlir": STABLEHLO_LOOP}]
    for folder in [golden, SHARED / "stablehlo" / "openxla"]:
        for path in sorted(folder.glob("*.mlir")):
            if path.stat().st_size < 20_000:
                inputs.append({"m.mlir": path.read_bytes()})
    return inputs


def text_workloads():
    real = sorted((SHARED / "chakra_real" / "text_workloads").glob("*.txt"))
    return ([{"w.txt": text} for text in TEXT_WORKLOADS]
            + [{"w.txt": path.read_bytes()} for path in real if path.stat().st_size < 20_000])


@functools.cache
def written_by_the_program(binary):
    """Workloads and traces of every specification: (.xwg inputs, .et inputs, .json inputs)."""
    graphs, binaries, texts = [], [], []
    with tempfile.TemporaryDirectory(prefix="exawarp-campaign-") as name:
        folder = pathlib.Path(name)
        for specification in SPECIFICATIONS:
            (folder / "w.yaml").write_text(specification)
            for words in [["generate", "w.yaml", "-o", "w.xwg"],
                          ["export", "chakra", "w.xwg", "-o", "t"],
                          ["export", "json", "w.xwg", "-o", "t"]]:
                subprocess.run([binary, "workload", *words], cwd=folder, check=True,
                               capture_output=True)
            graphs.append({"w.xwg": (folder / "w.xwg").read_bytes()})
            for inputs, suffix in [(binaries, "et"), (texts, "json")]:
                groups = folder / "t.comm_groups.json"
                inputs.append({**{path.name: path.read_bytes()
                                  for path in sorted(folder.glob(f"t.[0-9]*.{suffix}"))},
                               "groups.json": groups.read_bytes() if groups.exists() else b"{}"})
            for path in folder.iterdir():
                path.unlink()
    custom = SHARED / "chakra_real" / "astra_custom_ring_allreduce_8"
    if custom.exists():
        binaries.append({f"t.{path.name.split('.')[1]}.et": path.read_bytes()
                         for path in sorted(custom.glob("*.et"))} | {"groups.json": b"{}"})
    return graphs, binaries, texts
