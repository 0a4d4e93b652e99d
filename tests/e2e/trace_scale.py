#!/usr/bin/env python3
"""trace_scale.py EXAWARP [--ranks N] [--small-ranks N] [--open-files N]

Exports a training step of Llama 2 7B's 32 layers (tensor 8, pipeline 2, data the rest, one
micro-batch) as Chakra traces of N ranks, imports them again, and holds both graphs against each
other; then the same for many ranks of four nodes. The program may open few files at a time. Prints
a table: seconds, and the peak resident memory of each step. Ends non-zero where anything differs.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

TRAINING = """transformer:
  model: {{name: m32, layers: 32, hidden: 4096, ffn: 11008, heads: 32, kv_heads: 8,
          vocabulary: 32000}}
  parallel: {{tensor: 8, pipeline: 2, data: {data}}}
  sequence_length: 4096
  global_batch_sequences: {data}
  micro_batch_sequences: 1
"""
SMALL = "microbenchmark: {{kind: collective, collective: all_reduce, devices: {ranks}, " \
        "bytes: 1 MiB, repeats: 4}}\n"


def run(program, arguments, open_files):
    """Returns (seconds, peak bytes, standard output)."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))
    start = time.monotonic()
    with subprocess.Popen([program] + arguments, stdout=subprocess.PIPE, text=True,
                          preexec_fn=limit) as process:
        out = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: exit code {process.returncode}\n{out}")
    return time.monotonic() - start, usage.ru_maxrss * 1024, out


def one_case(program, name, specification, open_files):
    with open("w.yaml", "w", encoding="utf-8") as file:
        file.write(specification)
    run(program, ["workload", "generate", "w.yaml", "-o", "g.xwg"], open_files)
    facts = json.loads(run(program, ["workload", "inspect", "g.xwg", "--json"], open_files)[2])
    nodes = int(sum(facts["total"]["nodes"].values()))
    export = run(program, ["workload", "export", "chakra", "g.xwg", "-o", "t"], open_files)
    size = sum(os.path.getsize(file) for file in os.listdir(".") if file.endswith(".et"))
    arguments = ["workload", "import", "chakra", "t", "-o", "t.xwg"]
    if os.path.exists("t.comm_groups.json"):
        arguments += ["--comm-groups", "t.comm_groups.json"]
    back = run(program, arguments, open_files)
    run(program, ["workload", "diff", "g.xwg", "t.xwg"], open_files)
    print(f"| {name} | {facts['devices']:,} | {nodes:,} | {size / 1e6:,.1f} MB | "
          f"{export[0]:.2f} s, {export[1] / 2**20:.0f} MiB | "
          f"{back[0]:.2f} s, {back[1] / 2**20:.0f} MiB |", flush=True)
    for file in os.listdir("."):
        os.remove(file)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--small-ranks", type=int, default=32768)
    parser.add_argument("--open-files", type=int, default=1024)
    a = parser.parse_args()
    program = os.path.abspath(a.program)
    print("| traces | ranks | nodes | size | export | import |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        one_case(program, "32 layers, TP 8, PP 2", TRAINING.format(data=a.ranks // 16),
                 a.open_files)
        one_case(program, "four all-reduces", SMALL.format(ranks=a.small_ranks), a.open_files)
        os.chdir("/")


if __name__ == "__main__":
    main()
