#!/usr/bin/env python3
"""Writes the tables of this folder, and configs/serving/a30_qwen2_7b, from Vidur's results and
profiles (README.md).

    make.py FOLDER   # with expected.json, mini_conv128.csv and compute/
"""
import csv
import json
import pathlib
import shutil
import sys


def argument(words, name, default):
    return words[words.index(name) + 1] if name in words else default


OPERATIONS = {
    "mlp": ["attn_pre_proj", "attn_post_proj", "attn_rope", "input_layernorm",
            "post_attention_layernorm", "add", "mlp_up_proj", "mlp_act", "mlp_down_proj"],
    "attention": ["attn_kv_cache_save", "attn_prefill", "attn_decode"]}
KEYS = {
    "mlp": ["num_tokens", "num_tensor_parallel_workers", "n_embd"],
    "attention": ["num_tensor_parallel_workers", "n_embd", "n_q_head", "n_kv_head", "block_size",
                  "batch_size", "prefill_chunk_size", "kv_cache_size"]}
STATISTICS = ["makespan_s", "num_batches", "total_restarts"]


def short(text):
    return f"{float(text):.6g}" if text else ""


def write_profile(source, target, kind):
    times = [f"time_stats.{operation}.median" for operation in OPERATIONS[kind]]
    rows = [",".join(times + KEYS[kind])]
    with source.open() as file:
        for row in csv.DictReader(file):
            rows.append(",".join([short(row[name]) for name in times] +
                                 [row[name] for name in KEYS[kind]]))
    target.write_text("\n".join(rows) + "\n")


def forest_row(name, case):
    words = case["args"]
    row = [name, argument(words, "--replica_scheduler_config_type", ""),
           argument(words, "--sarathi_scheduler_config_chunk_size", "512"), case["num_blocks"],
           case["max_batch_size"]] + [case[key] for key in STATISTICS]
    for measure in ("ttft_s", "e2e_s", "tpot_s"):
        row += [f"{case[measure][key]:.6f}" for key in ("p50", "p90", "p99", "mean")]
    return ",".join(str(field) for field in row)


def main():
    source = pathlib.Path(sys.argv[1])
    here = pathlib.Path(__file__).parent
    shutil.copyfile(source / "mini_conv128.csv", here / "trace.csv")
    (here / "trace.csv").chmod(0o644)
    expected = json.loads((source / "expected.json").read_text())
    cases = ["case,policy,scale,replicas,stages,chunk,blocks,reserved,batches,restarts"]
    times = ["case,request,first_token_s,end_s,restarts"]
    forests = ["case,policy,chunk,blocks,reserved," + ",".join(STATISTICS) + "," +
               ",".join(f"{measure}_{key}" for measure in ("ttft", "e2e", "tpot")
                        for key in ("p50", "p90", "p99", "mean"))]
    for name, case in expected.items():
        if name.startswith("_"):
            continue
        if case["mode"] == "rf":
            forests.append(forest_row(name, case))
            continue
        words = case["args"]
        prefix = "--trace_request_generator_config_"
        row = [name, argument(words, "--replica_scheduler_config_type", ""),
               argument(words, prefix + "time_scale_factor", "1"),
               argument(words, "--cluster_config_num_replicas", "1"),
               argument(words, "--replica_config_num_pipeline_stages", "1"),
               argument(words, "--sarathi_scheduler_config_chunk_size", "512"),
               case["num_blocks"], case["max_batch_size"], case["num_batches"],
               case["total_restarts"]]
        cases.append(",".join(str(field) for field in row))
        for r in case["requests"]:
            times.append(f"{name},{r['id']},{r['ttft']:.9f},{r['e2e']:.9f},{r['restarts']}")
    (here / "cases.csv").write_text("\n".join(cases) + "\n")
    (here / "times.csv").write_text("\n".join(times) + "\n")
    (here / "forests.csv").write_text("\n".join(forests) + "\n")
    profiles = source / "compute" / "a30_Qwen-2-7B"
    target = here.parents[2] / "configs" / "serving" / "a30_qwen2_7b"
    for kind in KEYS:
        write_profile(profiles / f"{kind}.csv", target / f"{kind}.csv", kind)


main()
