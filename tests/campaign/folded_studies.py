#!/usr/bin/env python3
"""Studies folded against the same studies with every device simulated.

    tests/campaign/folded_studies.py EXAWARP [--seconds S] [--set KEY=VALUE] [STUDY...]

Simulates each study at fidelity `analytical` with `fold: auto` and with `fold: none`: every figure
of the two summaries has to be equal, sums of fractions but for rounding, save what the engine says
of its own work. A study that is not folded has to say why, or to be refused by the key that
forbids it. Exit status 1 where that does not hold. Without STUDY: all of configs/studies. One whose
devices take longer than S seconds of host time (600) together is compared with nothing, and said
to be so.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

from repetition import APART, differences, told

STUDIES = pathlib.Path(__file__).resolve().parents[2] / "configs" / "studies"
# What a fold says of itself; the other resolves its own `fold`.
FOLD_APART = frozenset(APART | {"fold"})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("studies", nargs="*",
                        default=sorted(path.stem for path in STUDIES.glob("*.yaml")))
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--set", action="append", default=[])
    arguments = parser.parse_intermixed_args()
    program = arguments.program.resolve()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for study in arguments.studies:
            def simulated(fold):
                settings = [f"fold={fold}", "network.fidelity=analytical", *arguments.set]
                words = [w for setting in settings for w in ("--set", setting)]
                begin = time.monotonic()
                done = subprocess.run([program, "run", study, *words, "--json", "--force",
                                       "--time-limit", str(arguments.seconds)],
                                      cwd=folder, check=False, text=True, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE)
                return done, time.monotonic() - begin

            done, fast_s = simulated("auto")
            if done.returncode == 2:
                print(f"{study:<32} refused: {done.stderr.strip()}", flush=True)
                continue
            folded = json.loads(done.stdout)
            why_not = folded["fold"].get("why_not")
            if why_not is not None:
                failed += not why_not
                print(f"{study:<32} not folded: {why_not}", flush=True)
                continue
            done, slow_s = simulated("none")
            if done.returncode != 0:
                print(f"{study:<32} folded {fast_s:.2f} s; device by device: exit code "
                      f"{done.returncode} after {slow_s:.0f} s", flush=True)
                failed += done.returncode != 4
                continue
            failed += told(f"{study:<32} {folded['devices']:6} devices, "
                           f"{folded['fold']['simulated_devices']:4} simulated, {slow_s:8.2f} s, "
                           f"{fast_s:6.2f} s",
                           list(differences(folded, json.loads(done.stdout), FOLD_APART)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
