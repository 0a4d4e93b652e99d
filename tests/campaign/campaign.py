"""What the campaigns share: the program under limits, cases from a seed, verdicts, the report.

A campaign is a function that tries one numbered case. All that a case draws comes from
`case.random`, which depends on the seed, the campaign and the number alone, so

    tests/campaign/NAME.py BINARY --seed S --case N [--keep DIR]

repeats any case of any run; --keep leaves its files, commands and output in DIR/N. Without
--case, cases run side by side until --cases or --seconds are over. The report counts exit
codes and names, for each kind of failure, how often it was seen, one example, and the commands
that repeat it. Exit status 1 where a case failed.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import itertools
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import unicodedata

ROOT = pathlib.Path(__file__).resolve().parents[2]
MIB = 1 << 20
# A quarter of what any case needs would do on an idle machine.
TIMEOUT_S = 20
TIME_LIMIT_S = 3  # what the program is told, where it can be told
ADDRESS_SPACE = 2048 * MIB
LONGEST_LINE = 1000
EXIT_CODES = {0, 2, 3, 4}
NOTED = {"astra", "calibrate", "fork"}  # commands that say more than the line of exit code 2


class Failure(Exception):
    """A case's verdict: what is wrong, on its first line as a kind of failure."""


@dataclasses.dataclass
class Ran:
    """One run of the program: its exit code is minus the signal's number where one ended it."""
    command: list
    code: int
    out: str
    err: str
    seconds: float
    timed_out: bool

    def json(self):
        try:
            return json.loads(self.out)
        except ValueError:
            raise Failure(f"standard output is no JSON: {shorten(self.out)}") from None


def shorten(text, length=300):
    text = ascii(text)[1:-1]
    return text if len(text) <= length else f"{text[:length]}... ({len(text)} characters)"


def limited(words, address_space, file_size=None, processes=None):
    """The command under resource limits, without core files. Bytes; None: unlimited."""
    limits = ["prlimit", "--core=0"]
    for option, value in [("--as", address_space), ("--fsize", file_size), ("--nproc", processes)]:
        if value is not None:
            limits.append(f"{option}={value}")
    return [*limits, "--", *map(str, words)]


def end_group(process):
    """Ends what the process started, too: ranks of an mpirun."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run_command(command, folder, timeout_s=TIMEOUT_S, env=None, stdin=None):
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               stdin=stdin or subprocess.DEVNULL, start_new_session=True,
                               env={**os.environ, **(env or {})})
    timed_out = False
    try:
        out, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        timed_out = True
        end_group(process)
        out, err = process.communicate()
    return Ran(command, process.returncode, out.decode("utf-8", "replace"),
               err.decode("utf-8", "replace"), time.monotonic() - started, timed_out)


def snapshot(folder):
    """What lies in a folder: path to kind, size and time of change, for a comparison later."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        status = path.lstat()
        size = status.st_size if stat.S_ISREG(status.st_mode) else 0
        changed = status.st_mtime_ns if stat.S_ISREG(status.st_mode) else 0
        found[str(path.relative_to(folder))] = (stat.S_IFMT(status.st_mode), size, changed)
    return found


def difference(before, after):
    return sorted(path for path in before.keys() | after.keys()
                  if before.get(path) != after.get(path))


def check_line(err, notes):
    """Of exit code 2: one line, `place: what is wrong`, not too long; behind `notes`, maybe."""
    lines = err.splitlines()
    if notes:
        err = "".join(line + "\n" for line in lines[-1:])
        lines = lines[-1:]
    if len(lines) != 1 or not err.endswith("\n"):
        raise Failure(f"exit code 2 with {len(lines)} lines on standard error\n  {shorten(err)}")
    if len(err) > LONGEST_LINE:
        raise Failure(f"exit code 2 with a line of more than {LONGEST_LINE} characters"
                      f"\n  {len(err)}: {shorten(err)}")
    if not re.match(r"\S.*?: \S", lines[0]):
        raise Failure(f"exit code 2 with a line that is not `place: what`\n  {shorten(err)}")


def check_characters(ran):
    """No escape sequence of an input may reach the terminal."""
    for name, text in [("output", ran.out), ("error", ran.err)]:
        if any(unicodedata.category(letter) == "Cc" for letter in set(text) - {"\n", "\t"}):
            raise Failure(f"control characters on standard {name}\n  {shorten(text)}")


def check_ran(ran, allowed=EXIT_CODES):
    """The verdict that holds of every run. ASTRA-sim's files get a line for each key not read;
    `calibrate` and `fork` say how far they are."""
    if ran.timed_out:
        raise Failure(f"over {TIMEOUT_S} s\n  {shorten(ran.err)}")
    if ran.code < 0:
        raise Failure(f"signal {signal.Signals(-ran.code).name}\n  {shorten(ran.err)}")
    if ran.code not in allowed:
        raise Failure(f"exit code {ran.code}\n  {shorten(ran.err)}")
    check_characters(ran)
    if ran.code == 2:
        check_line(ran.err, notes=NOTED & set(ran.command))
    elif ran.code not in {0, 1} and not ran.err.strip():
        raise Failure(f"exit code {ran.code} without a reason")


# mpirun's own lines outside its frames; libevent in it may warn as it ends.
OF_MPIRUN = re.compile(r"^\[[\w.-]+:\d+\]|^Primary job|^\[warn\] Epoll ")


def own_lines(err):
    """What the program said, of what mpirun printed."""
    frame = re.compile(r"^-{20,}$")
    lines, inside = [], False
    for line in err.splitlines():
        if frame.match(line):
            inside = not inside
        elif not inside and line.strip() and not OF_MPIRUN.match(line):
            lines.append(line)
    return lines


class Case:
    """One numbered case: its random numbers, its folder, and the runs it has made."""

    def __init__(self, campaign, number, folder):
        self.campaign = campaign
        self.number = number
        self.random = random.Random(f"{campaign.seed}/{campaign.name}/{number}")
        self.folder = folder
        self.binary = campaign.binary
        self.ran = []

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def run_unchecked(self, *words, address_space=ADDRESS_SPACE, file_size=None, **how):
        """Runs the program in the case's folder, or, where words begin with an absolute path,
        that program."""
        if not str(words[0]).startswith("/"):
            words = [self.binary, *words]
        ran = run_command(limited(words, address_space, file_size), self.folder, **how)
        self.ran.append(ran)
        return ran

    def run(self, *words, allowed=EXIT_CODES, **how):
        """Runs it, and holds it to what every run has to keep."""
        before = snapshot(self.folder)
        ran = self.run_unchecked(*words, **how)
        check_ran(ran, allowed)
        changed = difference(before, snapshot(self.folder))
        if ran.code == 2 and changed:
            raise Failure(f"exit code 2 and files changed\n  {', '.join(changed)}")
        return ran

    def time_limit(self, *command):
        """The option that bounds host time, where the subcommand has it."""
        return ["--time-limit", str(TIME_LIMIT_S)] if self.campaign.takes_limit(command) else []


class Campaign:
    def __init__(self, name, args):
        self.name = name
        self.seed = args.seed
        self.binary = str(pathlib.Path(args.binary).resolve())
        self.keep = args.keep
        self.codes = collections.Counter()
        self.failures = []  # (number, complaint, last command)
        self.lock = threading.Lock()
        self.limits = {}

    def takes_limit(self, command):
        if command not in self.limits:
            ran = run_command([self.binary, *command, "--help"], ROOT)
            self.limits[command] = "--time-limit" in ran.out
        return self.limits[command]

    def attempt(self, try_case, number):
        if self.keep:
            folder = self.keep / str(number)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            self.attempt_in(try_case, number, folder)
            return
        with tempfile.TemporaryDirectory(prefix="exawarp-campaign-") as folder:
            self.attempt_in(try_case, number, pathlib.Path(folder))

    def attempt_in(self, try_case, number, folder):
        case = Case(self, number, folder)
        complaint = None
        try:
            try_case(case)
        except Failure as failure:
            complaint = str(failure)
        except Exception:  # one case's trouble does not end the others
            complaint = f"the driver failed\n{traceback.format_exc()}"
        with self.lock:
            self.codes.update("timeout" if ran.timed_out else ran.code for ran in case.ran)
            if complaint is not None:
                command = shorten(shlex.join(case.ran[-1].command), 600) if case.ran else "no run"
                self.failures.append((number, complaint, command))
        if self.keep:
            log = "".join(f"$ {shlex.join(ran.command)}\nexit code {ran.code}, {ran.seconds:.3f} s"
                          f"\n{ran.err}\n" for ran in case.ran)
            (folder / "commands.log").write_text(log + (complaint or "passed") + "\n")


def kind_of(complaint):
    """Complaints that differ in their figures and details only are of one kind."""
    return re.sub(r"\d+", "N", complaint.split("\n", maxsplit=1)[0])


def report(campaign, tried, seconds, script):
    codes = ", ".join(f"{code}: {count}" for code, count in
                      sorted(campaign.codes.items(), key=lambda item: str(item[0])))
    print(f"{campaign.name}: seed {campaign.seed}, {tried} cases in {seconds:.1f} s; "
          f"runs by exit code: {codes}")
    kinds = collections.defaultdict(list)
    for failure in sorted(campaign.failures):
        kinds[kind_of(failure[1])].append(failure)
    for kind, failures in sorted(kinds.items(), key=lambda item: -len(item[1])):
        number, complaint, command = failures[0]
        print(f"- {len(failures)} x {kind}\n  {complaint}\n  {command}")
        for number, _, _ in failures[:5]:
            print(f"  {script} {campaign.binary} --seed {campaign.seed} --case {number}")
        if len(failures) > 5:
            print("  cases " + " ".join(str(failure[0]) for failure in failures[:200]))
    verdict = f"{len(campaign.failures)} FAILED" if campaign.failures else "all passed"
    print(f"{campaign.name}: {verdict} of {tried}", flush=True)
    return 1 if campaign.failures else 0


def parse(description, cases):
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="the program: build/release/exawarp")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, help=f"how many, from 0 on (default: {cases})")
    parser.add_argument("--seconds", type=float, help="as many as fit")
    parser.add_argument("--case", type=int, help="this one alone")
    parser.add_argument("--jobs", type=int, default=2, help="side by side")
    parser.add_argument("--keep", type=pathlib.Path, help="leaves each case's files there")
    args = parser.parse_args()
    if args.keep:
        args.keep = args.keep.resolve()
    return args


def main(name, description, try_case, cases, total=None):
    """The program of a campaign: `try_case(case)` raises Failure. `total`: the cases there are."""
    args = parse(description, cases)
    campaign = Campaign(name, args)
    started = time.monotonic()
    if args.case is not None:
        numbers = iter([args.case])
    elif args.seconds is not None:
        numbers = itertools.takewhile(lambda _: time.monotonic() - started < args.seconds,
                                      itertools.count())
    else:
        numbers = iter(range(args.cases or cases))
    if total is not None:
        numbers = itertools.takewhile(lambda number: number < total, numbers)
    print(f"{name}: seed {args.seed}", flush=True)
    tried = [0]

    def work():
        while True:
            with campaign.lock:
                number = next(numbers, None)
                if number is None:
                    return
                tried[0] += 1
            campaign.attempt(try_case, number)

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for future in [pool.submit(work) for _ in range(args.jobs)]:
            future.result()
    script = os.path.relpath(sys.argv[0], ROOT)
    sys.exit(report(campaign, tried[0], time.monotonic() - started, script))
