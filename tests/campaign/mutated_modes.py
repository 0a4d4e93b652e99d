#!/usr/bin/env python3
"""Mutated inputs in every mode: what one worker makes of them, more make of them, too.

usage: mutated_modes.py BINARY [--seed N] [--cases N | --seconds S | --case N] [--keep DIR]

A case changes one file of a valid study, traffic pattern, schedule, graph or table (mutation.py)
and simulates it sequentially, then in another mode: conservatively or optimistically, on threads,
partitions or two ranks under mpirun, some with the rollback audit. Both end with the same exit
code, the same digest, and, where the input is bad, the same line, and nobody hangs.
"""
import os
import re

import campaign
import mutated_inputs
from campaign import Failure

TIMEOUT_S = 60
SIMULATING = {"run", "traffic", "goal"}
MODES = [
    ["--sync", "optimistic", "--threads", "2"],
    ["--sync", "conservative", "--threads", "2"],
    ["--sync", "optimistic", "--threads", "1", "--partitions", "3"],
    ["--sync", "optimistic", "--threads", "2", "--partitions", "5", "--window", "1 ms"],
    ["--sync", "optimistic", "--threads", "2", "--audit", "0.3"],
    ["--threads", "1"],
]
RANKS = [1, 1, 1, 1, 1, 2]  # of each


def simulated_kinds(binary):
    return [kind for kind in mutated_inputs.kinds(binary)
            if any(command[0] in SIMULATING for command in kind.commands)]


def simulating(case, kind, first):
    """The command of the kind that simulates, without a mode; `first` is the file that it names."""
    words = next(list(command) for command in kind.commands if command[0] in SIMULATING)
    if kind.name == "xwg":
        first = "study.yaml"
    words = [first if word == "FILE" else word for word in words if word != "--json"]
    where = words.index("--threads")
    del words[where:where + 2]
    return [*words, "--json", *case.time_limit(*words[:1])]


def digest_of(ran):
    found = re.search(r'"digest": ?"(\w+)"', ran.out)
    return found and found[1]


def compare(alone, ran, mode):
    lines = campaign.own_lines(ran.err)
    if ran.timed_out:
        raise Failure(f"{mode}: hangs\n  {campaign.shorten(ran.err, 2000)}")
    if 4 in (alone.code, ran.code):  # what a host's time or memory ends, ends elsewhere by modes
        return
    if ran.code != alone.code:
        raise Failure(f"{mode}: exit code {ran.code}, sequentially {alone.code}\n  "
                      f"{campaign.shorten(alone.err)}\n  {campaign.shorten(ran.err, 2000)}")
    if ran.code == 2 and lines != alone.err.splitlines():
        raise Failure(f"{mode}: says something else\n  {campaign.shorten(alone.err)}\n  "
                      f"{campaign.shorten(chr(10).join(lines), 2000)}")
    if digest_of(ran) != digest_of(alone):
        raise Failure(f"{mode}: another digest\n  {digest_of(ran)}, {digest_of(alone)}")


def try_case(case):
    kind = case.random.choice(simulated_kinds(case.binary))
    first, _ = mutated_inputs.write_changed(case, kind)
    words = simulating(case, kind, first)
    alone = case.run(*words, "--sync", "sequential")
    before = campaign.snapshot(case.folder)
    which = case.random.randrange(len(MODES))
    words += [*MODES[which], *(["--force"] if "--out" in words else [])]
    mode = " ".join(MODES[which])
    if RANKS[which] > 1:
        mode += f" on {RANKS[which]} ranks"
        words = [campaign.ROOT / "scripts" / "mpirun", "-n", str(RANKS[which]), case.binary, *words]
    ran = case.run_unchecked(*words, timeout_s=TIMEOUT_S, address_space=None)
    compare(alone, ran, mode)
    if ran.code == 2 and campaign.difference(before, campaign.snapshot(case.folder)):
        raise Failure(f"{mode}: exit code 2 and files changed")


if __name__ == "__main__":
    # mpirun would give ranks a second between telling them to end and ending them.
    os.environ["OMPI_MCA_odls_base_sigkill_timeout"] = "0"
    campaign.main("mutated_modes", __doc__, try_case, cases=60)
