"""Small valid inputs of what surrounds a run: serving, sweeps, searches, futures, results, tables.

As in valid_inputs.py: dictionaries of file names to bytes, the file to name on the command line
first. Names of the program's configs are taken from configs/.
"""
import functools
import pathlib
import subprocess
import tempfile

import valid_inputs as valid
from campaign import ROOT

CONFIGS = ROOT / "configs"
MODEL = "{name: small, layers: 2, hidden: 64, ffn: 128, heads: 4, vocabulary: 100}"
SERVING = [
    """study: loads
serving: {policy: vllm, replicas: 2, blocks: 100, request_tokens_max: 128, batch_tokens_max: 512}
requests: {arrivals: poisson, rate: 10, count: 50, prompt: {tokens: 60}, output: {tokens: 8}}
objectives: {end: 200 ms}
""",
    """study: chat
serving:
  replicas: 4
  router: prefix
  policy: vllm_v1
  order: priority
  batch_tokens_max: 256
  prefix_cache: true
  speculation: {tokens: 3, acceptance: 0.7, draft: "1 ms"}
  request_tokens_max: 1024
  blocks: 800
requests:
  arrivals: poisson
  rate: 12
  count: 60
  prompt: {lengths: uniform, least: 16, most: 40}
  output: {lengths: zipf, least: 2, most: 51, exponent: 0.6}
  sessions: {turns: 3, shared_tokens: 64, gap: "20 s"}
  classes:
    - {name: chat, share: 4, priority: 0}
    - name: batch
      priority: 1
      objectives: {first_token: "30 s", per_token: "200 ms"}
objectives: {first_token: "1 s", per_token: "60 ms"}
""",
]
REQUESTS = "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,374,44\n4.314579,396,109\n"
FILED = """study: filed
serving: {policy: sarathi, blocks: 7424}
requests: {file: requests.csv, time_scale: 0.3, cut_long: true}
objectives: {first_token: "1 s", per_token: "50 ms"}
"""
SERVED = """study: served
jobs:
  - {name: training, workload: workload.yaml}
  - name: chat
    serving:
      model: MODEL
      tensor: 2
      replicas: 1
      by_formula: true
      scheduler: {policy: vllm, blocks: 40, request_tokens_max: 128, batch_requests_max: 8,
                  latency: 1 us, batch_time: {base: 20 us, per_token: 100 ns}}
      decode:
        tensor: 4
        pipeline: 1
        replicas: 1
        scheduler: {policy: sarathi, blocks: 40, request_tokens_max: 128, batch_requests_max: 8}
        placement: nodes
      requests: {arrivals: poisson, rate: 10000, count: 12, prompt: {tokens: 60},
                 output: {tokens: 5}}
      objectives: {first_token: 1 s}
system: system.yaml
""".replace("MODEL", MODEL)
SWEEPS = [
    """sweep: grid
study: study.yaml
set: [seed=3]
over:
  workload.transformer.parallel.tensor: [1, 2, 4]
  workload.transformer.parallel.data: {from: 1, to: 4, factor: 2}
  network.fidelity: [analytical, message]
where:
  - tensor * pipeline * data = devices
  - divides(data, global_batch_sequences)
""",
    """sweep: drawn
study: study.yaml
over:
  seed: {from: 1, to: 9}
  compute.jitter: [0.01, 0.1]
how: random
samples: 5
seed: 2
""",
]
SEARCH = """search: layouts
study: study.yaml
devices: [8]
over:
  tensor: [1, 2, 4]
  pipeline: [1, 2]
  micro_batch_sequences: [1, 2]
  recompute: [none, full]
where:
  - tensor * pipeline <= 8
best: 2
"""
FORK = """fork: futures
futures:
  - name: slow
    set: ["faults.slow_devices=[{devices: [7], factor: 1.2}]"]
  - {name: noise, set: ["compute.jitter=0.02", "network.latency_jitter={mean: 5 us}"]}
"""
ROWS = """family,row,system,model,tensor,global_batch,sequence,settings,measured_s
wide,a,h100_hgx_roce400,gpt3_125m,4,8,1024,model.layers=2;model.hidden=1024,0.01
wide,b,h100_hgx_roce400,gpt3_125m,2,8,1024,flash_attention=false;dropout=true,0.02
tall,c,a100_hgx_hdr200,gpt3_125m,4,8,1024,model.layers=4,0.03
"""
KERNELS = """name,operation,m,n,k,batch,heads,kv_heads,head_dim,s,type,time_us,watts
a,gemm,64,128,256,,,,,,bf16,3.5,300
a,gemm,64,128,256,,,,,,bf16,4.5,300
b,mm,64,128,512,2,,,,,fp16,7,300
c,prefill,,,,3,8,2,128,1024,bf16,50,300
d,norm,,,,,,,,,bf16,1,300
"""
PROFILE = """{"schemaVersion": 1, "traceEvents": [
 {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 9, "args": {"External id": 1,
  "Input Dims": [[32, 64], [64, 16]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}},
 {"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 5.5, "args": {"External id": 1}},
 {"ph": "i", "name": "end"}]}"""
COCOSSIM = "processing Matmul 256 512 1024\nPHASE: 0, Cycles: 9, Jobs finished: 1/1\nCycles 3760\n"
ACCEL_SIM = """kernel_name = gemm_x
kernel_launch_uid = 1
gpu_sim_cycle = 1410
kernel_name = y
kernel_launch_uid = 2
gpu_sim_cycle = 2820
"""
ARRAY = """[general]
run_name = x
[architecture_presets]
ArrayHeight:    32
ArrayWidth:     16
IfmapSramSzkB:    1
FilterSramSzkB:   1
OfmapSramSzkB:    1
Bandwidth : 10
Dataflow : os
[run_presets]
InterfaceBandwidth: USER
"""
LAYERS = [
    "Layer, M, N, K,\nfirst, 200, 64, 1000,\n",
    "Layer name,IFMAP Height,IFMAP Width,Filter Height,Filter Width,Channels,Num Filter,Strides,\n"
    "Conv1,224,224,7,7,3,64,2,\nDP2,9,8,3,3,2,1,1,\n",
    "M,N,K,dataflow,rows,cols,total_cycles\n32,32,32,os,32,32,93\n",
]
OPERATORS = """OperatorID,OperatorName,Operator_input,Operator_output,Operator_cudatime,\
Operator_cudatimenooverlap,InputSize,OutputSize,gpuid,stage,tpflag
1,aten::conv2d,[4; 6; 8],[14],2673,2671,[19267584; 1728; 64],[411041792],0,forward,1
2,aten::relu_,[14],[14],1083,1083,[411041792],[411041792],0,forward,0
"""
TENSORS = """Index,TensorID,TensorShape,TensorNumElement,TensorEachByte,TensorType,TensorStorgeid,gpuid
0,4,"[128, 3, 224, 224]",19267584,4,input,5,0
1,6,"[64, 3, 3, 3]",1728,4,weight,7,0
2,8,[64],64,4,bias=None,9,0
3,14,"[128, 64, 224, 224]",411041792,4,intermediate,15,0
"""
TABLE = (b"exawarp-kernels 1\noperation gemm\ntype bfloat16\naxis m 16 4096\naxis n 16 4096\n"
         b"axis k 16 4096\nscale 0 0.0001\ncells\n" + b"\0" * 14 + b"\xff\xa0")


def with_study(name, text, additions=""):
    """A companion of the small study: the file, and the study's own files."""
    return {name: text, **valid.study(additions)}


def served_studies():
    served = valid.study()
    served["study.yaml"] = SERVED
    return [served]


def serving_studies():
    return [*({"s.yaml": text} for text in SERVING), {"s.yaml": FILED, "requests.csv": REQUESTS}]


def kernel_times():
    """By the option that names their format."""
    return {"csv": {"times": KERNELS}, "pytorch": {"times.json": PROFILE},
            "cocossim": {"times": COCOSSIM},
            "accel-sim": {"times": ACCEL_SIM,
                          "shapes.csv": "uid,m,n,k,type\n2,64,64,64,fp16\ngemm_x,32,64,64,fp16\n"}}


def tabled_studies():
    study = valid.study()
    study["accelerator.yaml"] += "tables: .\n"
    return [{**study, "gemm_bfloat16.xkt": TABLE}]


@functools.cache
def left_by_runs(binary):
    """What runs leave: (results to compare, a checkpoint with its futures, a database)."""
    with tempfile.TemporaryDirectory(prefix="exawarp-campaign-") as name:
        folder = pathlib.Path(name)

        def run(*words):
            subprocess.run([binary, *words], cwd=folder, check=True, capture_output=True)

        def files(under):
            return {str(path.relative_to(folder)): path.read_bytes()
                    for path in sorted((folder / under).rglob("*")) if path.is_file()}

        for file, text in with_study("sweep.yaml", SWEEPS[0]).items():
            (folder / file).write_text(text)
        run("run", "study.yaml", "--out", "a", "--threads", "1", "--ignore-memory", "--checkpoint",
            "c", "--checkpoint-every", "50 us simulated")
        run("run", "study.yaml", "--out", "b", "--threads", "1", "--ignore-memory", "--seed", "9")
        run("sweep", "sweep.yaml", "-o", "s.db", "--jobs", "1")
        results = {"a/summary.json": files("a")["a/summary.json"], **files("a"), **files("b")}
        futures = {"fork.yaml": FORK.encode(), **files("c"), **{
            file: text.encode() for file, text in valid.study().items()}}
        return [results], [futures], [{"s.db": (folder / "s.db").read_bytes()}]


def validation_rows():
    return [{"mine.csv": ROWS}]
