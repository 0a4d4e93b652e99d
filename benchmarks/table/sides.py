"""What is measured: a model, run in a mode. A result is the dictionary that the program prints."""
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from table.programs import ROOT, json_and_cpu_of, json_of, output_of


@dataclass(frozen=True)
class Mode:
    name: str
    sync: str | None = "optimistic"  # None: not ours
    ranks: int = 1
    threads: int = 1
    copies: int = 1  # programs that run side by side and know nothing of each other

    def flags(self):
        return ["--sync", self.sync, "--threads", self.threads]


YARDSTICK = Mode("yardstick", sync=None)
SEQUENTIAL = Mode("sequential", sync="sequential")
TWO_SEQUENTIAL = Mode("sequential, 2 programs side by side", sync="sequential", copies=2)
ONE_THREAD = Mode("optimistic, 1 thread")
TWO_THREADS = Mode("optimistic, 2 threads", threads=2)
TWO_RANKS = Mode("optimistic, 2 ranks", ranks=2)
FOUR_RANKS = Mode("optimistic, 4 ranks", ranks=4)
EIGHT_RANKS = Mode("optimistic, 8 ranks", ranks=8)


def run(model, mode, programs):
    """The result. Of several copies: the first one's, with the rates of all added up."""
    with ThreadPoolExecutor(mode.copies) as pool:
        results = list(pool.map(lambda _: model.run(mode, programs), range(mode.copies)))
    return {**results[0], "events_per_s": sum(result["events_per_s"] for result in results)}


@dataclass(frozen=True)
class Phold:
    """PHOLD. At any time `lps` x `start` events are pending."""
    lps: int
    start: int
    remote: str
    end: str
    rounds_most: int = 5

    @property
    def label(self):
        events = f" × {self.start}" if self.start != 1 else ""
        return f"PHOLD {self.lps:,}{events}, remote {self.remote}"

    def run(self, mode, programs):
        if mode == YARDSTICK:
            words = output_of([programs.yardstick, self.lps, self.start, self.remote,
                               self.end]).split()
            fields = dict(zip(words[::2], words[1::2]))
            return {"committed_events": int(fields["events"]), "run_s": float(fields["seconds"]),
                    "events_per_s": float(fields["events_per_s"])}
        return json_of(programs.command(
            mode.ranks, "phold", "--lps", self.lps, "--start-events", self.start, "--remote",
            self.remote, "--end", self.end, *mode.flags(), "--json"))


def file_of(folder, name):
    """A configuration that is shipped, or one that is kept for its figures."""
    shipped = ROOT / f"configs/{folder}/{name}.yaml"
    return shipped if shipped.exists() else ROOT / f"benchmarks/{folder}/{name}.yaml"


def set_flags(settings):
    return [word for setting in settings for word in ("--set", setting)]


@dataclass(frozen=True)
class Configured:
    """A file of configs/ or benchmarks/. `settings`: as of --set."""
    name: str
    rounds_most: int = 5
    settings: tuple = ()

    @property
    def label(self):
        return ", ".join((self.name, *self.settings))

    def command(self, programs, mode, verb, folder, *flags):
        return programs.command(mode.ranks, verb, file_of(folder, self.name), *mode.flags(),
                                *set_flags(self.settings), "--json", *flags)


class Study(Configured):
    """A study, with its results thrown away."""

    def run(self, mode, programs):
        with tempfile.TemporaryDirectory() as out:
            return json_and_cpu_of(self.command(programs, mode, "run", "studies", "--out", out))


class Traffic(Configured):
    """Synthetic traffic at packet fidelity."""

    def run(self, mode, programs):
        result = json_of(self.command(programs, mode, "traffic", "traffic"))
        return {**result,
                "processed_events": result["committed_events"] + result["rolled_back_events"],
                "events_per_s": result["committed_events"] / max(1e-9, result["run_s"])}
