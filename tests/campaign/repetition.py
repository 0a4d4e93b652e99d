#!/usr/bin/env python3
"""Steps that repeat against the same steps simulated one by one.

    tests/campaign/repetition.py EXAWARP [--steps N] [--folded] [--set KEY=VALUE] [STUDY...]

Simulates each study with that many steps, with `repetition: auto` and without: every figure of the
two summaries has to be equal, sums of fractions but for rounding, save what the engine says of its
own work.
Exit status 1 where one is not. Without STUDY, those of configs/studies with steps that are not too
long.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

STUDIES = ["llama2_7b_8", "llama2_7b_64", "llama2_7b_64_dragonfly", "llama2_7b_64_torus",
           "llama3_70b_512", "llama3_8b_context_32", "llama3_8b_fsdp_64", "mixtral_8x7b_64",
           "resnet50_64", "dlrm_dcnv2_64"]
# The engine's and the host's, and what says that steps repeat.
APART = {"committed_events", "processed_events", "rolled_back_events", "rollbacks", "gvt_rounds",
         "events_per_s", "setup_s", "run_s", "peak_rss_bytes", "digest", "engine", "provenance",
         "placement_quality", "repetition", "partitions", "sync", "threads"}


def differences(a, b, apart=frozenset(APART), path=""):
    """Figures of two summaries that are not equal, but for what is under keys of `apart`."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted((a.keys() | b.keys()) - apart):
            yield from differences(a.get(key), b.get(key), apart, f"{path}.{key}")
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, pair in enumerate(zip(a, b)):
            yield from differences(*pair, apart, f"{path}[{i}]")
    elif isinstance(a, float) and isinstance(b, float):
        if abs(a - b) > 1e-9 * max(abs(a), abs(b)):
            yield f"{path}: {a} {b}"
    elif a != b:
        yield f"{path}: {a} {b}"


def told(head, different, tail=""):
    """Prints a line, with whether there are differences, and the first of these."""
    print(head, "FAILED" if different else "equal", tail, flush=True)
    for found in different[:5]:
        print("   ", found)
    return bool(different)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("studies", nargs="*", default=STUDIES)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--folded", action="store_true")
    parser.add_argument("--set", action="append", default=[])
    arguments = parser.parse_intermixed_args()
    program = arguments.program.resolve()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for study in arguments.studies:
            kind = {"resnet50_64": "resnet", "dlrm_dcnv2_64": "dlrm"}.get(study, "transformer")
            settings = [f"workload.{kind}.steps={arguments.steps}", *arguments.set]
            if arguments.folded:
                settings += ["network.fidelity=analytical", "fold=auto"]

            def simulated(repetition):
                words = [w for s in [*settings, f"repetition={repetition}"] for w in ("--set", s)]
                begin = time.monotonic()
                done = subprocess.run([program, "run", study, *words, "--json", "--force"],
                                      cwd=folder, check=True, text=True, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE)
                return json.loads(done.stdout), time.monotonic() - begin

            repeated, fast_s = simulated("auto")
            whole, slow_s = simulated("none")
            why_not = repeated["repetition"].get("why_not")
            failed += told(f"{study:<24} {slow_s:8.2f} s {fast_s:8.2f} s",
                           list(differences(repeated, whole)),
                           why_not or f"of {repeated['repetition']['simulated_steps']}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
