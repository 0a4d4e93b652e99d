"""Runs the programs and reads what they print."""
import json
import os
import resource
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
YARDSTICK_SOURCE = ROOT / "benchmarks/yardstick/phold_baseline.cpp"
HANGS_AFTER_S = 3600


class ProgramFailed(Exception):
    """A program ended with a status other than 0, or printed what nobody can read."""


@dataclass(frozen=True)
class Programs:
    exawarp: Path
    yardstick: Path | None  # None: no figure is stated in it

    def command(self, ranks, *words):
        """exawarp with these words, on so many ranks."""
        start = [ROOT / "scripts/mpirun", "-n", ranks] if ranks > 1 else []
        return [*start, self.exawarp, *words]


def output_of(command):
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False, timeout=HANGS_AFTER_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ProgramFailed(str(error)) from error
    if done.returncode != 0:
        raise ProgramFailed(f"{' '.join(words)}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


def json_of(command):
    text = output_of(command)
    try:
        return json.loads(text)
    except ValueError as error:
        raise ProgramFailed(
            f"{' '.join(map(str, command))}: expected JSON, got: {text[:200]!r}") from error


def json_and_cpu_of(command):
    """What it prints, and `process_cpu_s`: its processor time from start to end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = json_of(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {**result, "process_cpu_s": (after.ru_utime - before.ru_utime) +
                                       (after.ru_stime - before.ru_stime)}


def build_exawarp():
    """The release build of this tree."""
    if subprocess.run([ROOT / "scripts/build", "release", "exawarp"], stdout=subprocess.DEVNULL,
                      check=False).returncode != 0:
        raise ProgramFailed("scripts/build release: failed")
    return ROOT / "build/release/exawarp"


def build_yardstick():
    """The yardstick, built with all that its compiler can do for this machine."""
    program = ROOT / "build/yardstick/phold_baseline"
    if not program.exists() or program.stat().st_mtime < YARDSTICK_SOURCE.stat().st_mtime:
        program.parent.mkdir(parents=True, exist_ok=True)
        output_of([os.environ.get("CXX", "c++"), "-O3", "-march=native", "-std=c++20",
                   YARDSTICK_SOURCE, "-o", program])
    return program
