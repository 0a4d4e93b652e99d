#!/usr/bin/env python3
"""One study in every mode: one digest, equal figures.

usage: digest_matrix.py BINARY STUDY [--expect-rollbacks] [--audit] [--short] [--set KEY=VALUE]...

Runs STUDY sequentially, then conservative and optimistic on {1, 2, 4} ranks x {1, 2, 4} threads
through mpirun, with several partition counts, both placements and a window far beyond the
lookahead, and compares the digest and every simulated figure of summary.json. --short: one or two
of each kind.
"""
import argparse
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Figures of the simulated system: whatever is not about how the run was made.
SIMULATED = ["devices", "switches", "simulated_time_ps", "iteration_time_ps", "tokens_per_s",
             "model_flops_utilisation", "tflops_per_device", "committed_events", "digest",
             "breakdown", "classes", "jobs"]


def run(binary, study, ranks, flags):
    command = [str(binary), "run", *study, "--json", *flags]
    if ranks > 1:
        command = [str(ROOT / "scripts" / "mpirun"), "-n", str(ranks), *command]
    with tempfile.TemporaryDirectory() as out:
        result = subprocess.run([*command, "--out", out], capture_output=True, text=True,
                                timeout=600, cwd=ROOT, check=False)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {result.returncode}\n{result.stderr}")
    return json.loads(result.stdout)


def short_cases():
    yield 1, ["--sync", "conservative", "--threads", "2"]
    for ranks, threads in [(1, 1), (1, 4), (2, 2), (4, 1)]:
        yield ranks, ["--threads", str(threads)]
    yield 2, ["--threads", "1", "--placement", "block", "--window", "5 ms"]


def cases():
    for sync, ranks, threads in itertools.product(["conservative", "optimistic"], [1, 2, 4],
                                                  [1, 2, 4]):
        yield ranks, ["--sync", sync, "--threads", str(threads)]
    for partitions, placement in itertools.product([1, 3, 8], ["block", "topology-aware"]):
        yield 1, ["--threads", "2", "--partitions", str(partitions), "--placement", placement]
    for placement in ["block", "topology-aware"]:
        yield 2, ["--threads", "2", "--placement", placement, "--window", "5 ms"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("study")
    parser.add_argument("--expect-rollbacks", action="store_true")
    parser.add_argument("--audit", action="store_true", help="and a run under the rollback audit")
    parser.add_argument("--short", action="store_true", help="one or two runs of each kind")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="replaces a key of the study, as that of `exawarp run`")
    args = parser.parse_args()
    study = [args.study] + [word for key in args.set for word in ("--set", key)]
    expected = run(args.binary, study, 1, ["--sync", "sequential"])
    todo = list(short_cases() if args.short else cases())
    if args.audit:
        todo.append((1, ["--threads", "2", "--placement", "block", "--audit", "0.2"]))
    differing = []
    rolled_back = 0
    for ranks, flags in todo:
        got = run(args.binary, study, ranks, flags)
        rolled_back += got["rolled_back_events"]
        wrong = [key for key in SIMULATED if got[key] != expected[key]]
        print(f"ranks {ranks} {' '.join(flags)}: {got['digest']} "
              f"{got['rolled_back_events']} rolled back", flush=True)
        if wrong:
            differing.append(f"ranks {ranks} {' '.join(flags)}: {', '.join(wrong)}")
    if differing:
        sys.exit("differs from the sequential run:\n" + "\n".join(differing))
    if args.expect_rollbacks and rolled_back == 0:
        sys.exit("nothing was rolled back: optimism was not tested")
    print(f"{len(todo)} runs equal the sequential one, {expected['digest']}")


if __name__ == "__main__":
    main()
