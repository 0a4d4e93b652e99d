#!/usr/bin/env python3
"""Writes cases.csv, times.csv and trace.csv from Vidur's results (README.md).

    make.py FOLDER   # with expected.json and mini_conv128.csv
"""
import json
import pathlib
import shutil
import sys


def argument(words, name, default):
    return words[words.index(name) + 1] if name in words else default


def main():
    source = pathlib.Path(sys.argv[1])
    here = pathlib.Path(__file__).parent
    shutil.copyfile(source / "mini_conv128.csv", here / "trace.csv")
    (here / "trace.csv").chmod(0o644)
    expected = json.loads((source / "expected.json").read_text())
    cases = ["case,policy,scale,replicas,stages,chunk,blocks,reserved,batches,restarts"]
    times = ["case,request,first_token_s,end_s,restarts"]
    for name, case in expected.items():
        if name.startswith("_") or case["mode"] != "formula":
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


main()
