#!/usr/bin/env python3
"""A host that leaves the network without a word ends the ranks of all others within 10 s.

usage: lost_host_test.py BINARY

Two hosts are network namespaces on a bridge, with host names of their own; mpirun starts its daemon
on the second as it would through ssh. Open MPI takes them for machines: their ranks have no memory
in common. Exit code 77, skipped, where namespaces can't be made (needs root and iproute2).
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MPIRUN = ROOT / "scripts" / "mpirun"
NAME = f"xw{os.getpid()}"  # of an interface, with two characters more: 15 at most
HOSTS = ("a", "b")
PHOLD = ["phold", "--lps", "1024", "--start-events", "4", "--remote", "0.5", "--threads", "1",
         "--json", "--end"]
PATIENCE_S = 60
SKIPPED = 77


def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, capture_output=True, text=True).stdout


def set_up():
    ip("link", "add", NAME, "type", "bridge")
    ip("link", "set", NAME, "up")
    for number, host in enumerate(HOSTS, 1):
        space = NAME + host
        ip("netns", "add", space)
        ip("link", "add", space, "type", "veth", "peer", "name", "net0", "netns", space)
        ip("link", "set", space, "master", NAME, "up")
        ip("-n", space, "address", "add", f"10.97.0.{number}/24", "dev", "net0")
        ip("-n", space, "link", "set", "net0", "up")
        ip("-n", space, "link", "set", "lo", "up")


def pids():
    return [int(pid) for host in HOSTS for pid in ip("netns", "pids", NAME + host,
                                                     check=False).split()]


def tear_down():
    for pid in pids():
        os.kill(pid, 9)
    for host in HOSTS:
        ip("link", "delete", NAME + host, check=False)
        ip("netns", "delete", NAME + host, check=False)
    ip("link", "delete", NAME, check=False)


def on(host):
    """What starts a line of the shell on a host."""
    return ["ip", "netns", "exec", NAME + host, "unshare", "--uts", "sh", "-c",
            f'hostname host-{host}; eval "$0"']


def write_agent(folder):
    """What mpirun calls in the place of ssh: agent HOST WORD..."""
    agent = folder / "agent"
    words = " ".join(f"'{word}'" for word in on("b"))
    agent.write_text(f'#!/bin/sh\nshift\nexec {words} "$*"\n')
    agent.chmod(0o755)
    return agent


def start(agent, *words):
    line = " ".join(f"'{word}'" for word in
                    [MPIRUN, "--mca", "plm_rsh_agent", agent, "--host", "host-a,host-b",
                     "-n", 2, *words])
    return subprocess.Popen([*on("a"), "exec " + line], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def expect(what, condition, output=""):
    if not condition:
        sys.exit(f"not so: {what}\n{output}")


def check_digest(binary, agent):
    """Ranks of two hosts meet, and get what one alone gets."""
    alone = json.loads(subprocess.run([binary, *PHOLD, "50"], check=True, text=True,
                                      capture_output=True).stdout)
    process = start(agent, binary, *PHOLD, "50")
    out, err = process.communicate(timeout=PATIENCE_S)
    expect("two hosts finish", process.returncode == 0, err)
    both = json.loads(out)
    expect("two hosts have two ranks", both["ranks"] == 2, out)
    expect("two hosts get the digest of one", both["digest"] == alone["digest"], out)


def check_cut(binary, agent):
    process = start(agent, binary, *PHOLD, "1000000000")
    end = time.monotonic() + PATIENCE_S
    while busy_ranks(binary) < 2:
        expect("both ranks start", time.monotonic() < end and process.poll() is None)
        time.sleep(0.01)
    for pid in pids():
        maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
        expect("ranks of two hosts have no boards in common", "/dev/shm/osc" not in maps)
    ip("link", "set", NAME + "b", "nomaster")
    began = time.monotonic()
    _, err = process.communicate(timeout=PATIENCE_S)
    took = time.monotonic() - began
    expect(f"a lost host ends the job within 10 s, not {took:.1f}", took < 10, err)
    expect("a lost host is a failure", process.returncode != 0, err)
    expect("a lost host is named", "host-b" in err, err)
    while pids():  # those on the lost host find out by themselves
        expect("nothing is left on either host", time.monotonic() < began + 10)
        time.sleep(0.01)
    print(f"ended after {took:.1f} s with exit code {process.returncode}:\n{err}")


def busy_ranks(binary):
    """Ranks that have used half a second of a processor: they are at work."""
    busy = 0
    for pid in pids():
        try:
            words = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            program = os.readlink(f"/proc/{pid}/exe")
        except OSError:
            continue
        ticks = int(words[11]) + int(words[12])
        busy += program == os.path.realpath(binary) and ticks * 2 > os.sysconf("SC_CLK_TCK")
    return busy


def main():
    binary = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        try:
            try:
                set_up()
            except (OSError, subprocess.CalledProcessError) as reason:
                print(f"no namespaces here: {getattr(reason, 'stderr', reason)}")
                sys.exit(SKIPPED)
            agent = write_agent(pathlib.Path(folder))
            check_digest(binary, agent)
            check_cut(binary, agent)
        finally:
            tear_down()


if __name__ == "__main__":
    main()
