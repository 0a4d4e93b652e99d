#!/usr/bin/env python3
"""Futures of one past, each against the run that knew of its change from the start.

    tests/campaign/forks.py EXAWARP [--study NAME] [--variants NAME] [--at "2 s"] [--set KEY=VALUE]

Simulates the study with a checkpoint at that simulated time, forks it, and simulates each future's
study.resolved.yaml from time 0, sequentially: digest and simulated time have to be equal. Exit
status 1 where they are not.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--study", default="llama3_70b_512")
    parser.add_argument("--variants", default="llama3_70b_512")
    parser.add_argument("--at", default="2 s")
    parser.add_argument("--set", action="append", default=[])
    arguments = parser.parse_args()
    program = arguments.program.resolve()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        def json_of(*words):
            done = subprocess.run([program, *words, "--json"], cwd=folder, check=True, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            return json.loads(done.stdout)

        json_of("run", arguments.study, *(w for s in arguments.set for w in ("--set", s)),
                "--checkpoint", "c", "--checkpoint-every", f"{arguments.at} simulated")
        first = min(pathlib.Path(folder, "c").glob("checkpoint-*"))
        report = json_of("fork", first, "--variants", arguments.variants)
        for future in report["futures"]:
            whole = json_of("run", f"{future['directory']}/study.resolved.yaml", "--out", "whole",
                            "--force", "--sync", "sequential", "--threads", "1")
            same = all(whole[key] == future[key] for key in ("digest", "simulated_time_ps"))
            failed += not same
            departs = future.get("departs", {"where": "nowhere", "at_ps": 0})
            print(f"{future['name']:<16} {future['digest']} {'ok' if same else 'FAILED'} "
                  f"{future['change_ps'] / 1e9:+.3f} ms, departs: {departs['where']} at "
                  f"{departs['at_ps'] / 1e9:.6f} ms", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
