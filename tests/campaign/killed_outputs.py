#!/usr/bin/env python3
"""Kills, full disks and devices while the program writes: a file is old, absent or whole.

usage: killed_outputs.py BINARY [--seed N] [--cases N | --seconds S | --case N] [--keep DIR]

A case runs one command that writes, over files that were there or not, and sends SIGKILL, SIGTERM
or SIGINT at a random moment: within the time an undisturbed run takes, or just after something
changes in the folder. A simulation that SIGTERM or SIGINT stops may write partial results and end
with exit code 4. Each file is then what it was, or what the undisturbed run wrote;
where contents depend on the clock, it can be read to its end. SIGTERM and SIGINT leave no
temporary file. Other cases bound the size of files, or write to a full device: exit code 4 with
the reason, and what was there stays.
"""
import csv
import dataclasses
import functools
import io
import json
import os
import pathlib
import signal
import stat
import subprocess
import tempfile
import time

import campaign
import valid_inputs as valid
from campaign import Failure

OLD = b"what was there before\n" * 40
BIGGER = valid.TRANSFORMER.replace("layers: 4", "layers: 16").replace(
    "global_batch_sequences: 8", "global_batch_sequences: 64")
PACKETS = "network: {fidelity: packet, packet: {packet_size: 1 KiB}}\n"
BROADCAST = ("microbenchmark: {kind: collective, collective: all_to_all, devices: 8, "
             "bytes: 16 MiB}\n")


@dataclasses.dataclass
class Target:
    """A command that writes into out/; `timed`: what it writes depends on the clock."""
    command: list
    timed: bool = False


def inputs():
    files = valid.study(specification=BIGGER)
    packets = valid.study(PACKETS, BROADCAST)
    files["packets.yaml"] = packets["study.yaml"].replace("workload.yaml", "all.yaml")
    files["all.yaml"] = packets["workload.yaml"]
    return files


def targets():
    run = ["--threads", "1", "--quiet", "--out", "out", "--force", "--ignore-memory"]
    workload = ["workload"]
    return [
        Target([*workload, "generate", "workload.yaml", "-o", "out/w.xwg"]),
        Target([*workload, "export", "chakra", "w.xwg", "-o", "out/t"]),
        Target([*workload, "export", "json", "w.xwg", "-o", "out/t"]),
        Target([*workload, "export", "dot", "w.xwg", "-o", "out/g.dot"]),
        Target([*workload, "export", "graphml", "w.xwg", "-o", "out/g.xml"]),
        Target([*workload, "convert", "t.0.et", "-o", "out/c.json"]),
        Target([*workload, "import", "chakra", "t", "--comm-groups", "t.comm_groups.json", "-o",
                "out/i.xwg"]),
        Target([*workload, "inspect", "w.xwg", "--accelerator", "accelerator.yaml", "--timeline",
                "out/t.svg"]),
        Target(["topology", "show", "study.yaml", "-o", "out/t.svg"]),
        Target(["run", "study.yaml", *run, "--stats", "out/s.csv", "--stats-interval", "1 ms"],
               timed=True),
        Target(["run", "packets.yaml", *run, "--counters", "out/n.csv"], timed=True),
        Target(["phold", "--lps", "4096", "--start-events", "2", "--remote", "0.5", "--end", "64",
                "--stats", "out/s.csv", "--stats-interval", "1 ms"], timed=True),
    ]


@functools.cache
def undisturbed(binary):
    """The input files, and of each target what it writes and how long it takes."""
    with tempfile.TemporaryDirectory(prefix="exawarp-campaign-") as name:
        folder = pathlib.Path(name)
        for path, content in inputs().items():
            (folder / path).write_text(content)
        for words in (["generate", "workload.yaml", "-o", "w.xwg"],
                      ["export", "chakra", "w.xwg", "-o", "t"]):
            subprocess.run([binary, "workload", *words], cwd=folder, check=True,
                           capture_output=True)
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        written = []
        for target in targets():
            out = folder / "out"
            out.mkdir()
            started = time.monotonic()
            subprocess.run([binary, *target.command], cwd=folder, check=True, capture_output=True)
            seconds = time.monotonic() - started
            written.append(({path.name: path.read_bytes() for path in out.iterdir()}, seconds))
            for path in out.iterdir():
                path.unlink()
            out.rmdir()
        return files, written


def is_whole(name, content):
    """Of a file that depends on the clock: it can be read to its end."""
    text = content.decode()
    if name.endswith(".json"):
        return "digest" in json.loads(text)
    if name.endswith(".csv"):
        rows = list(csv.reader(io.StringIO(text)))
        return text.endswith("\n") and len({len(row) for row in rows}) == 1
    return text.endswith("\n") and "Results" in text


def check_file(path, old, whole, timed):
    content = path.read_bytes() if path.exists() else None
    if content in (old, whole):
        return
    if content is not None and timed:
        try:
            if is_whole(path.name, content):
                return
        except ValueError:
            pass
    what = "is gone" if content is None else f"has {len(content)} of {len(whole)} bytes"
    raise Failure(f"half a file: {path.suffix}\n  {path.name} {what}")


def prepare(case):
    """A random target with its inputs; what lay at each of its files, None where nothing did."""
    files, written = undisturbed(case.binary)
    for name, content in files.items():
        case.write(name, content)
    number = case.random.randrange(len(written))
    whole, seconds = written[number]
    out = case.folder / "out"
    out.mkdir()
    there = case.random.random() < 0.5
    if there:
        for name in whole:
            (out / name).write_bytes(OLD)
    return targets()[number], whole, dict.fromkeys(whole, OLD if there else None), seconds


def names_and_times(folder):
    return sorted((entry.name, entry.stat(follow_symlinks=False).st_mtime_ns,
                   entry.stat(follow_symlinks=False).st_size) for entry in os.scandir(folder))


def wait_for_moment(case, process, seconds):
    """Until a random moment of the run, or shortly after the output folder changes."""
    random, out = case.random, case.folder / "out"
    if random.random() < 0.3:
        time.sleep(random.uniform(0, 1.2 * seconds))
        return
    pause = random.choice([0, 0, random.uniform(0, 0.002), random.uniform(0, 0.02)])
    before = names_and_times(out)
    while process.poll() is None:
        try:
            if names_and_times(out) != before:
                break
        except FileNotFoundError:  # renamed between the listing and the question
            break
    time.sleep(pause)


def killed(case):
    target, whole, old, seconds = prepare(case)
    how = case.random.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
    command = campaign.limited([case.binary, *target.command], None)
    process = subprocess.Popen(command, cwd=case.folder, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, start_new_session=True)
    wait_for_moment(case, process, seconds)
    process.send_signal(how)
    try:
        _, err = process.communicate(timeout=campaign.TIMEOUT_S)
    except subprocess.TimeoutExpired:
        campaign.end_group(process)
        raise Failure(f"{how.name} does not end the run") from None
    case.ran.append(campaign.Ran(command, process.returncode, "", err.decode("utf-8", "replace"),
                                 0, False))
    asked = process.returncode == 4 and f"stopped by {how.name}".encode() in err  # and wrote all
    if not asked and process.returncode not in (0, -how, 128 + how):
        raise Failure(f"{how.name}: exit code {process.returncode}\n  {campaign.shorten(err)}")
    out = case.folder / "out"
    for name, content in whole.items():
        check_file(out / name, old[name], content, target.timed)
    left = {path.name for path in out.iterdir()} - set(whole)
    if left and how != signal.SIGKILL:
        raise Failure(f"{how.name} leaves a temporary file\n  {', '.join(sorted(left))}")


def check_full(case, ran):
    if ran.timed_out or ran.code != 4:
        raise Failure(f"no room: {'over time' if ran.timed_out else f'exit code {ran.code}'}"
                      f"\n  {campaign.shorten(ran.err)}")
    if "\n" in ran.err.strip() or ": " not in ran.err:
        raise Failure(f"no room, and not one line `place: reason`\n  {campaign.shorten(ran.err)}")
    campaign.check_characters(ran)


def no_room(case):
    """Files may not grow beyond less than the largest output takes."""
    target, whole, old, _ = prepare(case)
    largest = max(map(len, whole.values()))
    ran = case.run_unchecked(*target.command, address_space=None,
                             file_size=case.random.randrange(largest * 3 // 4))
    check_full(case, ran)
    out = case.folder / "out"
    for name, content in whole.items():
        check_file(out / name, old[name], content, target.timed)
    left = {path.name for path in out.iterdir()} - set(whole)
    if left:
        raise Failure(f"no room, and a temporary file is left\n  {', '.join(sorted(left))}")


def device(case):
    """A full device as the output: it stays what it is. A null device takes everything."""
    target, whole, _, _ = prepare(case)
    for path in (case.folder / "out").iterdir():
        path.unlink()
    if len(whole) > 1 and not any(word.startswith("out/") and word.split("/")[1] in whole
                                  for word in target.command):
        return  # a prefix of several files
    full = case.random.random() < 0.5
    name = next(word for word in target.command if word.startswith("out/"))
    node = case.folder / name
    try:
        os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(1, 7 if full else 3))
    except PermissionError:
        return  # devices are root's to make
    ran = case.run_unchecked(*target.command, address_space=None)
    if not stat.S_ISCHR(os.lstat(node).st_mode):
        raise Failure(f"a device is replaced by a file: {' '.join(target.command[:2])}")
    if full:
        check_full(case, ran)
    else:
        campaign.check_ran(ran, {0})


def try_case(case):
    case.random.choice([killed, killed, killed, killed, no_room, device])(case)


if __name__ == "__main__":
    campaign.main("killed_outputs", __doc__, try_case, cases=100)
