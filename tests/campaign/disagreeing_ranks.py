#!/usr/bin/env python3
"""Ranks of one mpirun that were started differently: one line names key and ranks, nobody hangs.

usage: disagreeing_ranks.py BINARY [--seed N] [--cases N | --seconds S | --case N] [--keep DIR]

A case starts two or three ranks as application contexts of mpirun, of which one has another seed,
file, option, subcommand or environment. What changes the answer, or what ranks wait for, ends
with 2 and a line that names the key and a rank. What may differ (threads, quiet) may
also end with 0, with the digest of equal ranks.
"""
import dataclasses
import os
import re

import campaign
import valid_inputs as valid
from campaign import Failure

TIMEOUT_S = 30
JITTER = "compute: {jitter: 0.05}\n"  # so that the seed matters
RUN = ["run", "study.yaml", "--out", "out", "--threads", "1", "--json"]
TRAFFIC = ["traffic", "traffic.yaml", "--threads", "1", "--json"]
PHOLD = ["phold", "--lps", "64", "--start-events", "3", "--remote", "0.5", "--end", "20",
         "--threads", "1", "--json"]
GOAL = ["goal", "s.goal", "--threads", "1", "--json"]


@dataclasses.dataclass
class Difference:
    """What one rank has otherwise: words of its command replaced or added, its environment."""
    names: str  # the line has to match this
    base: list = dataclasses.field(default_factory=lambda: RUN)
    replace: tuple = ()  # (word, by)
    add: tuple = ()
    env: dict = dataclasses.field(default_factory=dict)
    legal: bool = False  # may end with 0 and the same digest
    folder: str = "."  # where it is started

    def command(self):
        words = [dict([self.replace]).get(word, word) if self.replace else word
                 for word in self.base]
        return [*words, *self.add]


DIFFERENCES = [
    Difference("seed", add=("--seed", "2")),
    Difference("seed", base=PHOLD, add=("--seed", "2")),
    Difference("seed", base=TRAFFIC, add=("--seed", "2")),
    Difference("seed", add=("--set", "seed=2")),
    Difference("study|workload|size", replace=("study.yaml", "other.yaml")),
    Difference("study|bandwidth|fabric|system", replace=("study.yaml", "slower.yaml")),
    Difference("(?i)study|workload", replace=("graph.yaml", "other_graph.yaml"),
               base=[word.replace("study.yaml", "graph.yaml") for word in RUN]),
    Difference("(?i)study|workload", folder="machine"),  # files of one name and other contents
    Difference("(?i)workload|a.xwg", folder="machine",
               base=[word.replace("study.yaml", "graph.yaml") for word in RUN]),
    Difference("study|size|traffic", base=TRAFFIC, replace=("traffic.yaml", "other_traffic.yaml")),
    Difference("schedule|goal|file", base=GOAL, replace=("s.goal", "other.goal")),
    Difference("L|latency", base=GOAL, add=("--L", "1")),
    Difference("fidelity", add=("--set", "network.fidelity=analytical")),
    Difference("jitter", add=("--set", "compute.jitter=0.1")),
    Difference("end", base=PHOLD, replace=("20", "30")),
    Difference("lps", base=PHOLD, replace=("64", "128")),
    Difference("remote", base=PHOLD, replace=("0.5", "0.25")),
    Difference("stats", add=("--stats", "s.csv")),
    Difference("stats", base=PHOLD, add=("--stats", "s.csv")),
    Difference("counters", base=[*RUN, "--set", "network.fidelity=packet"],
               add=("--counters", "n.csv")),
    Difference("compare", add=("--compare-alone",)),
    Difference("sync", add=("--sync", "conservative")),
    Difference("sync", add=("--sync", "sequential")),
    Difference("window", add=("--window", "1 us"), legal=True),
    Difference("partitions", add=("--partitions", "3"), legal=True),
    Difference("placement", add=("--placement", "block")),
    Difference("audit", add=("--audit", "0.5"), legal=True),
    Difference("threads", replace=("1", "2"), legal=True),
    Difference("threads", base=PHOLD, replace=("1", "2"), legal=True),
    Difference("time.limit", add=("--time-limit", "100"), legal=True),
    Difference("out", replace=("out", "elsewhere"), legal=True),
    Difference("quiet|json", add=("--quiet",), legal=True),
    Difference("memory", add=("--ignore-memory",), legal=True),
    Difference("command|topology|run", base=["topology", "show", "study.yaml"]),
    Difference("command|phold|run", base=PHOLD),
    Difference("command|goal|run", base=GOAL),
    Difference("EXAWARP_EXCHANGE|exchange", env={"EXAWARP_EXCHANGE": "messages"}),
    Difference("EXAWARP_EXCHANGE|exchange", base=PHOLD, env={"EXAWARP_EXCHANGE": "messages"}),
    Difference("no_such|there is no file", replace=("study.yaml", "no_such.yaml")),
    Difference("no-such", add=("--no-such-option",)),
]


def write_inputs(case):
    files = valid.study(JITTER)
    files["traffic.yaml"] = ("study: traffic\ndevices: 8\nfabric: fabric.yaml\ntraffic: {pattern: "
                             "uniform, messages: 20, size: 64 KiB}\n")
    files["other_traffic.yaml"] = files["traffic.yaml"].replace("64 KiB", "128 KiB")
    files["other.yaml"] = files["study.yaml"].replace("workload.yaml", "other_workload.yaml")
    files["other_workload.yaml"] = valid.TRANSFORMER.replace("hidden: 256", "hidden: 512")
    files["slower.yaml"] = files["study.yaml"].replace("system.yaml", "slower_system.yaml")
    files["slower_system.yaml"] = valid.SYSTEM.replace("fabric.yaml", "slower_fabric.yaml")
    files["slower_fabric.yaml"] = files["fabric.yaml"].replace("100 Gb/s", "50 Gb/s")
    files["graph.yaml"] = files["study.yaml"].replace("workload.yaml", "a.xwg")
    files["other_graph.yaml"] = files["study.yaml"].replace("workload.yaml", "b.xwg")
    files["s.goal"] = valid.GOAL
    files["other.goal"] = valid.GOAL.replace("calc 100", "calc 200")
    for name, text in files.items():
        case.write(name, text)
    for spec, graph in [("workload.yaml", "a.xwg"), ("other_workload.yaml", "b.xwg")]:
        case.run("workload", "generate", spec, "-o", graph, allowed={0})
    for name in files:
        case.write(f"machine/{name}", files[name])
    case.write("machine/workload.yaml", files["other_workload.yaml"])
    case.write("machine/a.xwg", (case.folder / "b.xwg").read_bytes())


def mpirun(case, contexts):
    """Runs one rank of each context (environment, folder, words)."""
    words = [campaign.ROOT / "scripts" / "mpirun"]
    for index, (env, folder, context) in enumerate(contexts):
        words += [":"] * (index > 0) + ["-n", "1", "-wdir", case.folder / folder]
        words += ["env", *[f"{key}={value}" for key, value in env.items()]] if env else []
        words += [case.binary, *context]
    return case.run_unchecked(*words, address_space=None, timeout_s=TIMEOUT_S)


def check_refusal(difference, ran):
    lines = campaign.own_lines(ran.err)
    text = campaign.shorten("\n".join(lines))
    named = [line for line in lines if re.search(difference.names, line)]
    if not named:
        raise Failure(f"ranks differ in {difference.names}: the line does not name it\n  {text}")
    if not any("rank" in line for line in named) and not difference.names.startswith("no"):
        raise Failure(f"ranks differ in {difference.names}: the line names no rank\n  {text}")
    if len(lines) > 1:
        raise Failure(f"ranks differ in {difference.names}: {len(lines)} lines\n  {text}")


def try_case(case):
    difference = DIFFERENCES[case.number % len(DIFFERENCES)]
    write_inputs(case)
    ranks = case.random.choice([2, 2, 3])
    odd = case.random.randrange(ranks)
    first = RUN if difference.names.startswith("command") else difference.base
    contexts = [({}, ".", first)] * ranks
    contexts[odd] = (difference.env, difference.folder, difference.command())
    before = campaign.snapshot(case.folder)
    ran = mpirun(case, contexts)
    what = f"ranks differ in {difference.names}"
    if ran.timed_out:
        raise Failure(f"{what}: hang\n  {campaign.shorten(ran.err, 2000)}")
    if ran.code == 0 and difference.legal:
        if odd == 0 and "--quiet" in difference.add:
            return
        expected = case.run(*difference.base, allowed={0}).json()["digest"]
        digest = re.search(r'"digest": "(\w+)"', ran.out)
        if not digest or digest[1] != expected:
            raise Failure(f"{what}: exit code 0 with another digest")
        return
    if ran.code != 2:
        raise Failure(f"{what}: exit code {ran.code}\n  {campaign.shorten(ran.err, 2000)}")
    check_refusal(difference, ran)
    changed = campaign.difference(before, campaign.snapshot(case.folder))
    if changed:
        raise Failure(f"{what}: exit code 2 and files changed\n  {', '.join(changed)}")


if __name__ == "__main__":
    # mpirun would give ranks a second between telling them to end and ending them.
    os.environ["OMPI_MCA_odls_base_sigkill_timeout"] = "0"
    campaign.main("disagreeing_ranks", __doc__, try_case, cases=2 * len(DIFFERENCES))
