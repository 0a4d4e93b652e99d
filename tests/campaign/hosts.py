#!/usr/bin/env python3
"""Ranks on several "hosts" of this machine (scripts/hosts), and what is left when one of them dies.

    tests/campaign/hosts.py EXAWARP HOST_RELAY [--seed S] [--quick]

Whatever the delay between hosts and the ranks of each, a study has one digest. A rank that is
killed, a host that is off, a network that is cut, a daemon that is gone: all other ranks end
within 10 s, with an exit code that is not 0 and, but for the daemon, a line that says which rank on
which host died. Exit status 1 where that is not so; 77 where namespaces are not to be had.
"""
import argparse
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
STUDY = ROOT / "configs/studies/llama2_7b_64.yaml"
# Far longer than any case waits.
ENDLESS = ["phold", "--lps", "2000", "--start-events", "4", "--remote", "0.3", "--end", "1e6",
           "--threads", "1"]
END_S, TIMEOUT_S = 10, 60
HOST = "host-2"


class Fault(Exception):
    pass


def read(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8")
    except OSError:  # of a process that has ended
        return ""


def watches(process):
    """Whether it is a rank that would notice the death of another."""
    try:
        threads = os.listdir(f"/proc/{process}/task")
    except OSError:
        return False
    return any(read(f"/proc/{process}/task/{thread}/comm") == "peer_watch\n" for thread in threads)


def below(process):
    """The processes that it has started, and those that they have."""
    children = read(f"/proc/{process}/task/{process}/children").split()
    return [int(child) for child in children] + [p for c in children for p in below(int(c))]


def on_host(launcher, number):
    pids = subprocess.run(["ip", "netns", "pids", f"exawarp-{launcher.pid}-{number}"],
                          capture_output=True, text=True, check=False).stdout
    return [int(process) for process in pids.split()]


def rank_of(process):
    variables = read(f"/proc/{process}/environ").split("\0")
    return next((v.split("=")[1] for v in variables if v.startswith("OMPI_COMM_WORLD_RANK=")), None)


class Campaign:
    def __init__(self, arguments):
        self.program = str(arguments.program)
        self.is_quick = arguments.quick
        self.random = random.Random(arguments.seed)
        self.hosts = [str(ROOT / "scripts/hosts"), "--relay", str(arguments.relay)]

    def digest(self, launch):
        ran = subprocess.run([*launch, self.program, "run", str(STUDY), "--json", "--quiet",
                              "--threads", "1"], capture_output=True, text=True, check=False,
                             timeout=TIMEOUT_S)
        if ran.returncode != 0:
            raise Fault(f"exit code {ran.returncode}: {ran.stderr}")
        return json.loads(ran.stdout)["digest"]

    def one_digest(self, delay, ranks):
        if self.digest([*self.hosts, "--delay", delay, "-n", str(ranks)]) != self.digest([]):
            raise Fault("another digest than of one rank")

    def dies(self, launch, ranks, victim):
        """Starts an endless run, which victim(launcher) breaks; it returns what has to be said."""
        with tempfile.TemporaryFile("w+") as log:
            launcher = subprocess.Popen([*launch, self.program, *ENDLESS], stdout=log, stderr=log)
            try:
                deadline = time.monotonic() + TIMEOUT_S
                while sum(map(watches, below(launcher.pid))) < ranks:
                    if time.monotonic() > deadline or launcher.poll() is not None:
                        raise Fault("the ranks did not start")
                    time.sleep(0.05)
                time.sleep(self.random.uniform(0.3, 1.5))
                ranks_before = [p for p in below(launcher.pid) if watches(p)]
                begin = time.monotonic()
                expected = victim(launcher)
                code = launcher.wait(TIMEOUT_S)
                took_s = time.monotonic() - begin
            finally:
                launcher.terminate()
            log.seek(0)
            text = log.read()
        left = [p for p in ranks_before if watches(p)]
        if code == 0 or took_s > END_S or left or not re.search(expected, text):
            raise Fault(f"exit code {code} after {took_s:.1f} s, {len(left)} ranks left; expected "
                        f"{expected!r} in:\n{text}")


def cases(campaign):
    pick = campaign.random.choice
    two_by_two = [*campaign.hosts, "--delay", "20us", "-n", "2"]

    def kill_rank_of(processes):
        process = pick([p for p in processes if watches(p)])
        rank = rank_of(process)
        os.kill(process, signal.SIGKILL)
        return rank

    def local_rank(launcher):
        return f"rank {kill_rank_of(below(launcher.pid))} on \\S+ died; "

    def remote_rank(launcher):
        return f"rank {kill_rank_of(on_host(launcher, 2))} on {HOST} died; "

    def daemon(launcher):
        for process in on_host(launcher, 2):
            if read(f"/proc/{process}/comm") == "orted\n":
                os.kill(process, signal.SIGKILL)
        return HOST

    def cut(launcher):
        os.kill(launcher.pid, signal.SIGUSR1)
        return cut_text

    def off(launcher):
        os.kill(launcher.pid, signal.SIGUSR2)
        return cut_text

    cut_text = f"rank [23] on {HOST} and 1 more died, or is cut off: "
    if campaign.is_quick:
        yield "digest 100us 2", lambda: campaign.one_digest("100us", 2)
        yield f"rank of {HOST}", lambda: campaign.dies(two_by_two, 4, remote_rank)
        yield f"cut of {HOST}", lambda: campaign.dies(two_by_two, 4, cut)
        return
    for delay in ("0", "20us", "100us", "1ms"):
        for ranks in (1, 2):
            yield f"digest {delay} {ranks}", lambda d=delay, r=ranks: campaign.one_digest(d, r)
    local = [str(ROOT / "scripts/mpirun"), "-n", "3"]
    for number in range(3):
        yield f"rank killed {number}", lambda: campaign.dies(local, 3, local_rank)
    for name, victim in (("rank", remote_rank), ("daemon", daemon), ("cut", cut), ("off", off)):
        yield f"{name} of {HOST}", lambda v=victim: campaign.dies(two_by_two, 4, v)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("relay", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="three cases instead of fifteen")
    arguments = parser.parse_args()
    if os.geteuid() != 0 or not os.access("/dev/net/tun", os.W_OK):
        print("needs root and /dev/net/tun")
        return 77
    failed = 0
    for name, run in cases(Campaign(arguments)):
        begin = time.monotonic()
        try:
            run()
            verdict = "ok"
        except (Fault, subprocess.TimeoutExpired) as fault:
            failed += 1
            verdict = f"FAILED (--seed {arguments.seed}): {fault}"
        print(f"{name}: {verdict} [{time.monotonic() - begin:.1f} s]", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
