#!/usr/bin/env python3
"""Runs that are ended at random moments and gone on with elsewhere: the digest is the same.

usage: restarts.py BINARY [--seed N] [--cases N | --seconds S | --case N] [--keep DIR]

EXAWARP_RESTARTS=NAME,... in the environment chooses what is simulated (SIMULATIONS below).

A case runs one simulation with checkpoints and ends it: by SIGTERM, SIGINT or SIGUSR1, by a time
limit, by SIGKILL of one rank, or by files that may not grow any further. It goes on from what is
there, on other ranks, threads and partitions and in another mode, and may be ended again a few
times; the last restart runs to the end. Where nothing whole had been written yet, it starts anew.
The digest equals that of a run that nobody disturbed.
"""
import functools
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import campaign
import valid_inputs as valid
from campaign import Failure

MPIRUN = campaign.ROOT / "scripts/mpirun"
SMALL = valid.TRANSFORMER.replace("layers: 4", "layers: 32").replace(
    "global_batch_sequences: 8", "global_batch_sequences: 256")
GOAL_RANKS, GOAL_ROUNDS = 16, 400
STUDIES = campaign.ROOT / "configs/studies"


def goal_schedule():
    """A ring of messages with something to compute in between."""
    lines = [f"num_ranks {GOAL_RANKS}"]
    for rank in range(GOAL_RANKS):
        lines.append(f"rank {rank} {{")
        before = None
        for n in range(GOAL_ROUNDS):
            lines.append(f"s{n}: send {64 + rank}b to {(rank + 1) % GOAL_RANKS} tag {n}")
            lines.append(f"r{n}: recv {64 + (rank - 1) % GOAL_RANKS}b from "
                         f"{(rank - 1) % GOAL_RANKS} tag {n}")
            lines.append(f"c{n}: calc {500 + 37 * rank}")
            lines.append(f"c{n} requires r{n}")
            if before is not None:
                lines.append(f"s{n} requires c{before}")
            before = n
        lines.append("}")
    return "\n".join(lines) + "\n"


# The small ones are for every day; those of configs/ take minutes for some cases.
SIMULATIONS = {
    "study": ["run", "study.yaml"],
    "phold": ["phold", "--lps", "2048", "--start-events", "2", "--remote", "0.5", "--end", "60"],
    "goal": ["goal", "ring.goal"],
    "training_4k": ["run", str(campaign.ROOT / "benchmarks/studies/llama3_405b_4k_1f1b.yaml")],
    "packets_512": ["run", str(STUDIES / "llama3_70b_512_faults.yaml"), "--set",
                    "network.packet.transport=dcqcn", "--set",
                    "network.packet.packet_size=4 MiB", "--set",
                    "network.packet.ecn={kmin: 8 MB, kmax: 32 MB}"],
    "phold_large": ["phold", "--lps", "65536", "--start-events", "4", "--remote", "0.5", "--end",
                    "80"],
}
SMALL_ONES = "study,phold,goal"


def quiet(command):
    return [*command, "--json", *(["--out", "out", "--force"] if command[0] == "run" else [])]


@functools.cache
def undisturbed(binary, name):
    with tempfile.TemporaryDirectory(prefix="exawarp-campaign-") as folder:
        prepare(pathlib.Path(folder))
        started = time.monotonic()
        ran = campaign.run_command([binary, *quiet(SIMULATIONS[name])], folder, timeout_s=600)
        if ran.code != 0:
            sys.exit(f"restarts.py: {name}: {ran.err}")
        return ran.json()["digest"], time.monotonic() - started


def prepare(folder):
    for path, content in valid.study(specification=SMALL).items():
        (folder / path).write_text(content)
    (folder / "ring.goal").write_text(goal_schedule())


def random_mode(random):
    """Ranks, and the options of each."""
    ranks = random.choice([1, 1, 2, 2, 3])
    sync = random.choice(["optimistic", "optimistic", "conservative", "sequential"])
    if sync == "sequential":
        ranks = 1
    options = ["--sync", sync]
    if sync != "sequential":
        threads = random.randint(1, 2)
        options += ["--threads", str(threads), "--partitions", str(threads * random.randint(1, 3))]
    return ranks, options


def ranks_below(process):
    """Process numbers of the ranks: children of the mpirun, or the program itself."""
    found = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True)
    return [int(word) for word in found.stdout.split()] or [process.pid]


def end(process, how, random):
    target = process.pid
    below = ranks_below(process)
    if how == signal.SIGKILL:
        target = random.choice(below)
    elif len(below) > 1:
        target = random.choice([process.pid, *below])
    try:
        os.kill(target, how)
    except ProcessLookupError:
        pass


def disturbed(case, command, how, ranks, seconds):
    """Runs the command until something ends it; its exit code and what it said."""
    limits = []
    if how == "time":
        command = [*command, "--time-limit", f"{case.random.uniform(0.02, seconds):.3f}"]
    if how == "room":
        limits = ["prlimit", f"--fsize={case.random.randrange(2_000, 60_000)}", "--"]
    words = [*map(str, command)]
    if ranks > 1:
        words = [str(MPIRUN), "-n", str(ranks), *limits, *words]
    else:
        words = [*limits, *words]
    process = subprocess.Popen(words, cwd=case.folder, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True,
                               stdin=subprocess.DEVNULL)
    if isinstance(how, signal.Signals):
        time.sleep(case.random.uniform(0, 1.2 * seconds) + (0.4 if ranks > 1 else 0))
        end(process, how, case.random)
    try:
        out, err = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        campaign.end_group(process)
        raise Failure(f"{how} does not end the run: {' '.join(words)}") from None
    ran = campaign.Ran(words, process.returncode, out.decode("utf-8", "replace"),
                       err.decode("utf-8", "replace"), 0, False)
    case.ran.append(ran)
    return ran


def check_end(how, ran, ranks):
    """What the exit code may be; mpirun's own is 1 where a signal ends it before its ranks."""
    if "internal fault" in ran.err or "CHECK" in ran.err:
        raise Failure(f"{how}: a fault\n  {campaign.shorten(ran.err)}")
    if how == "time" and ran.code not in (0, 4, 75):  # 4: before the simulation began
        raise Failure(f"time limit: exit code {ran.code}\n  {campaign.shorten(ran.err)}")
    if isinstance(how, signal.Signals) and ran.code not in (0, 75, -how, 128 + how,
                                                                 *([1] if ranks > 1 else [])):
        raise Failure(f"{how.name}: exit code {ran.code}\n  {campaign.shorten(ran.err)}")
    if how == "room" and ran.code not in (0, 4):
        raise Failure(f"no room: exit code {ran.code}\n  {campaign.shorten(ran.err)}")
    if how == signal.SIGKILL and ran.code == 75:
        raise Failure("a killed rank, and exit code 75")


def try_case(case):
    random = case.random
    names = os.environ.get("EXAWARP_RESTARTS", SMALL_ONES).split(",")
    prepare(case.folder)
    name = random.choice(names)
    digest, seconds = undisturbed(case.binary, name)
    start = SIMULATIONS[name]
    every = f"{max(0.01, seconds / random.choice([3, 6, 12])):.3f} s"
    for _ in range(random.choice([1, 1, 2, 3])):
        ranks, options = random_mode(random)
        how = random.choice([signal.SIGTERM, signal.SIGTERM, signal.SIGINT, signal.SIGUSR1,
                             signal.SIGKILL, signal.SIGKILL, "time", "time", "room"])
        if how == "room":
            ranks = 1  # what several share would have no room, either
        whole = sorted((case.folder / "c").glob("checkpoint-*"))
        what = [start[0], "--restart", "c"] if whole else start
        ran = disturbed(case, [case.binary, *quiet(what), *options, "--checkpoint", "c",
                               "--checkpoint-every", every], how, ranks, seconds)
        check_end(how, ran, ranks)
        if ran.code == 0 and ran.json()["digest"] != digest:
            raise Failure(f"another digest: {name}")
    whole = sorted((case.folder / "c").glob("checkpoint-*"))
    ranks, options = random_mode(random)
    what = [start[0], "--restart", "c"] if whole else start
    words = [case.binary, *quiet(what), *options]
    if ranks > 1:
        words = [MPIRUN, "-n", ranks, *words]
    ran = campaign.run_command([*map(str, words)], case.folder, timeout_s=600)
    case.ran.append(ran)
    if ran.code != 0:
        raise Failure(f"the restart: exit code {ran.code}\n  {campaign.shorten(ran.err)}")
    if ran.json()["digest"] != digest:
        raise Failure(f"another digest after a restart: {name}")


if __name__ == "__main__":
    campaign.main("restarts", __doc__, try_case, cases=100)
