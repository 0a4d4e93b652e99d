#!/usr/bin/env python3
"""Mutated inputs on two ranks: what one rank says of them, both say, once, and nobody hangs.

usage: mutated_ranks.py BINARY [--seed N] [--cases N | --seconds S | --case N] [--keep DIR]

A case changes one file of a valid study, traffic pattern, schedule, graph or table (mutation.py)
and simulates it by one rank, then by two under mpirun. Both end with the same exit code, the same
digest, and, where the input is bad, the same line.
"""
import os
import re

import campaign
import mutated_inputs
from campaign import Failure

TIMEOUT_S = 60
SIMULATING = {"run", "traffic", "goal"}


def simulated_kinds(binary):
    return [kind for kind in mutated_inputs.kinds(binary)
            if any(command[0] in SIMULATING for command in kind.commands)]


def simulating(case, kind, first):
    """The command of the kind that simulates; `first` is the file that it names."""
    words = next(list(command) for command in kind.commands if command[0] in SIMULATING)
    if kind.name == "xwg":
        first = "study.yaml"
    words = [first if word == "FILE" else word for word in words if word != "--json"]
    return [*words, "--json", *case.time_limit(*words[:1])]


def digest_of(ran):
    found = re.search(r'"digest": ?"(\w+)"', ran.out)
    return found and found[1]


def try_case(case):
    kind = case.random.choice(simulated_kinds(case.binary))
    first, _ = mutated_inputs.write_changed(case, kind)
    words = simulating(case, kind, first)
    alone = case.run(*words)
    before = campaign.snapshot(case.folder)
    if "--out" in words:
        words.append("--force")
    ran = case.run_unchecked(campaign.ROOT / "scripts" / "mpirun", "-n", "2", case.binary, *words,
                             address_space=None, timeout_s=TIMEOUT_S)
    lines = campaign.own_lines(ran.err)
    if ran.timed_out:
        raise Failure(f"two ranks hang\n  {campaign.shorten(ran.err, 2000)}")
    if 4 in (alone.code, ran.code):  # what a host's time or memory ends, ends elsewhere by ranks
        return
    if ran.code != alone.code:
        raise Failure(f"exit code {alone.code} alone and {ran.code} on two ranks\n  "
                      f"{campaign.shorten(alone.err)}\n  {campaign.shorten(ran.err, 2000)}")
    if ran.code == 2 and lines != alone.err.splitlines():
        raise Failure(f"two ranks say something else\n  {campaign.shorten(alone.err)}\n  "
                      f"{campaign.shorten(chr(10).join(lines), 2000)}")
    if ran.code == 2 and campaign.difference(before, campaign.snapshot(case.folder)):
        raise Failure("exit code 2 on two ranks and files changed")
    if digest_of(ran) != digest_of(alone):
        raise Failure(f"two ranks have another digest\n  {digest_of(alone)}, {digest_of(ran)}")


if __name__ == "__main__":
    # mpirun would give ranks a second between telling them to end and ending them.
    os.environ["OMPI_MCA_odls_base_sigkill_timeout"] = "0"
    campaign.main("mutated_ranks", __doc__, try_case, cases=40)
