"""What the figures were taken on: machine, compiler, commit."""
import datetime
import os
import platform
import re
import resource
import subprocess
import time
from pathlib import Path

from table.programs import ROOT


def first_line_of(command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, check=False)
    except OSError:
        return ""
    return done.stdout.split("\n", 1)[0].strip()


def processor():
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def caches():
    """E.g. "L1d 48K, L2 1024K, L3 32768K for 2 cores"; empty where the system does not say."""
    texts = []
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind, level, size, users = ((index / name).read_text(encoding="utf-8").strip()
                                    for name in ("type", "level", "size", "shared_cpu_list"))
        if kind == "Instruction":
            continue
        count = 0
        for part in users.split(","):
            first, _, last = part.partition("-")
            count += int(last or first) - int(first) + 1
        shared = f" for {count} processors" if count > 1 else ""
        texts.append(f"L{level}{'d' if kind == 'Data' else ''} {size}{shared}")
    return ", ".join(texts)


def compiler(build):
    """Of the build that the measured program comes from."""
    cache = build / "CMakeCache.txt"
    name = os.environ.get("CXX", "c++")
    if cache.exists():
        found = re.search(r"(?m)^CMAKE_CXX_COMPILER:\w+=(.*)$", cache.read_text(encoding="utf-8"))
        name = found.group(1) if found else name
    return first_line_of([name, "--version"]) or "unknown"


def commit():
    return first_line_of(["git", "-C", str(ROOT), "describe", "--always", "--dirty"]) or "unknown"


def processors_busy(seconds=2.0):
    """How many processors other work takes, on average over so long. Unlike the load average it
    does not remember the build that went before."""
    def ticks():
        first = Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0]
        user, nice, system, idle, iowait, irq, softirq, steal = map(int, first.split()[1:9])
        busy = user + nice + system + irq + softirq + steal
        return busy, busy + idle + iowait
    before = ticks()
    time.sleep(seconds)
    busy, whole = (now - then for now, then in zip(ticks(), before))
    return os.cpu_count() * busy / max(1, whole)


def busy_seconds():
    """Processor time, ever: of the whole machine, and of this process and its children."""
    first = Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0]
    user, nice, system, _, _, irq, softirq = map(int, first.split()[1:8])
    mine = sum(sum(resource.getrusage(who)[:2])
               for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK"), mine


def head_lines(program, busy):
    """`busy`: processors that other work takes, before anything is measured."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    yield f"- Commit {commit()}, {datetime.date.today()}; {compiler(program.parent)}"
    parts = [processor(), f"{len(os.sched_getaffinity(0))} cores usable", caches(),
             f"{pages / 2**30:.0f} GiB"]
    yield f"- {', '.join(filter(None, parts))}; Linux {platform.release()}"
    warning = "" if busy < 0.2 else ": **do not quote this table**"
    yield f"- Other work on the machine when it began: {busy:.2f} processors{warning}"
