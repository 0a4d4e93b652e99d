"""From measurements to rows: one function a group of figures.

Each function says first what it wants measured, and returns a function that makes the rows once
that is done; so figures of several groups share their runs.
"""
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from table.programs import ProgramFailed, json_of, output_of
from table.sides import (EIGHT_RANKS, FOUR_RANKS, ONE_THREAD, Phold, SEQUENTIAL, TWO_RANKS,
                         TWO_SEQUENTIAL, TWO_THREADS, YARDSTICK, file_of)

GIB = 2**30
MB = 10**6


@dataclass(frozen=True)
class Target:
    sign: str  # "≥", "≤" or "<"
    value: float

    def is_met_by(self, value):
        return {"≥": value >= self.value, "≤": value <= self.value,
                "<": value < self.value}[self.sign]


@dataclass(frozen=True)
class Row:
    figure: str
    samples: list  # of each round
    form: Callable = "{:.2f}".format
    target: Target | None = None

    @property
    def median(self):
        return statistics.median(self.samples)

    @property
    def is_met(self):
        return None if self.target is None else self.target.is_met_by(self.median)


def seconds(value):
    return f"{value:.2f} s"


def whole_seconds(value):
    return f"{value:.1f} s"


def microseconds(value):
    return f"{1e6 * value:,.0f} µs"


def byte_count(value):
    return f"{value:.1f} B"


def gibibytes(value):
    return f"{value / GIB:.2f} GiB"


def megabytes(value):
    return f"{value / MB:.0f} MB"


def kibibytes(value):
    return f"{value / 1024:,.0f} KiB"


def millions_per_s(value):
    return f"{value / 1e6:.2f} M/s"


def yardsticks(value):
    return f"{value:.2f} Y"


def times(value):
    return f"{value:.2f}×"


def percent(value):
    return f"{100 * value:.2f} %"


def fraction(value):
    return f"{value:.3f}"


def efficiency(result):
    return result["committed_events"] / max(1, result["processed_events"])


def phold(m, sizes):
    for model, _ in sizes.phold:
        m.want(model, YARDSTICK, SEQUENTIAL)

    def rows():
        for model, least in sizes.phold:
            yield Row(f"{model.label}: sequential against the yardstick",
                      m.ratios(model, SEQUENTIAL, YARDSTICK), yardsticks, Target("≥", least))
        yield Row(f"{sizes.setup.label}: set-up",
                  m.values(sizes.setup, SEQUENTIAL, lambda r: r["setup_s"]), seconds,
                  Target("<", 0.5))
    return rows


def optimism(m, sizes):
    for model in sizes.optimism:
        m.want(model, SEQUENTIAL, ONE_THREAD)

    def rows():
        for model in sizes.optimism:
            yield Row(f"{model.label}: price of optimism",
                      m.ratios(model, SEQUENTIAL, ONE_THREAD), times, Target("≤", 1.25))
    return rows


def speedups(m, models, mode):
    """Two rows a model: speed against sequential, and efficiency."""
    for model, least in models:
        yield Row(f"{model.label}: {mode.name}, against sequential",
                  m.ratios(model, mode, SEQUENTIAL), times, Target("≥", least))
    for model, _ in models:
        yield Row(f"{model.label}: {mode.name}, efficiency", m.values(model, mode, efficiency),
                  fraction, Target("≥", 0.9))


def threads(m, sizes):
    for model, _ in sizes.threads:
        m.want(model, SEQUENTIAL, TWO_THREADS)
    for model in sizes.side_by_side:
        m.want(model, SEQUENTIAL, TWO_SEQUENTIAL)

    def rows():
        yield from speedups(m, sizes.threads, TWO_THREADS)
        for model in sizes.side_by_side:
            yield Row(f"{model.label}: {TWO_SEQUENTIAL.name}, together against one alone [4]",
                      m.ratios(model, TWO_SEQUENTIAL, SEQUENTIAL), times)
    return rows


def gvt_round_s(result):
    """What a rank spends on one round of exchange and GVT, waiting for the others included."""
    return result["engine"]["gvt_s"] / result["ranks"] / max(1, result["gvt_rounds"])


def ranks(m, sizes):
    several = (ONE_THREAD, TWO_RANKS, FOUR_RANKS, EIGHT_RANKS)
    for model, _ in sizes.ranks:
        m.want(model, SEQUENTIAL, TWO_RANKS)
    for model in sizes.rank_cost:
        m.want(model, *several)

    def rows():
        yield from speedups(m, sizes.ranks, TWO_RANKS)
        for model in sizes.rank_cost:
            for mode in several:
                count = f"{mode.ranks} ranks" if mode.ranks > 1 else "1 rank"
                yield Row(f"{model.label}: exchange and GVT, a round, {count} [1]",
                          m.values(model, mode, gvt_round_s), microseconds)
    return rows


def memory(m, sizes):
    """Slopes of the peak of resident memory, so that whatever does not grow drops out."""
    fewer, more = sizes.memory_lps
    idle = [Phold(lps, 0, "0.5", "1", rounds_most=1) for lps in (fewer, more)]
    loaded = [Phold(more, start, "0.5", "1", rounds_most=1) for start in (1, 16)]
    for model in (*idle, *loaded):
        m.want(model, SEQUENTIAL, ONE_THREAD, listed=False)

    def grown(pair, mode):
        low, high = (m.results(model, mode)[0]["peak_rss_bytes"] for model in pair)
        return high - low

    def rows():
        for mode in (SEQUENTIAL, ONE_THREAD):
            sizes_of = m.results(idle[0], mode)[0]
            lp = grown(idle, mode) / (more - fewer)
            event = grown(loaded, mode) / (15 * more)
            yield Row(f"idle LP, {mode.name}: the engine's share [2]",
                      [lp - sizes_of["lp_state_bytes"]], byte_count, Target("≤", 64))
            yield Row(f"idle LP, {mode.name}: with the model's state", [lp], byte_count)
            yield Row(f"pending event, {mode.name}: the engine's share [3]",
                      [event - sizes_of["event_payload_bytes"]], byte_count, Target("≤", 96))
            yield Row(f"pending event, {mode.name}: with the model's payload", [event],
                      byte_count)
    return rows


def generate(m, name):
    """(seconds, bytes) of each round: the workload's file written by a program of its own."""
    for index in range(m.rounds):
        m.say(f"{name}: workload, round {index + 1} of {m.rounds}")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "workload.xwg"
            started = time.monotonic()
            output_of(m.programs.command(1, "workload", "generate",
                                         file_of("workloads", name), "-o", file))
            yield time.monotonic() - started, file.stat().st_size


def main(m, sizes):
    study = sizes.main
    m.want(study, TWO_THREADS)

    def rows():
        def of(key):
            return m.values(study, TWO_THREADS, lambda r: r[key])
        yield Row(f"{study.label}: run phase, two threads", of("run_s"), whole_seconds,
                  Target("<", 300))
        yield Row(f"{study.label}: peak memory, two threads", of("peak_rss_bytes"), gibibytes,
                  Target("<", 4 * GIB))
        yield Row(f"{study.label}: set-up, two threads", of("setup_s"), seconds)
        written = list(generate(m, study.name))
        yield Row(f"{study.label}: workload file, generated in", [s for s, _ in written], seconds)
        yield Row(f"{study.label}: workload file", [size for _, size in written], kibibytes)
    return rows


def write_and_restart(m, name, every):
    """(result with checkpoints, result of the restart from the last) of each round."""
    for index in range(m.rounds):
        m.say(f"{name}: checkpoints, round {index + 1} of {m.rounds}")
        with tempfile.TemporaryDirectory() as folder:
            there = Path(folder) / "checkpoints"
            common = ["--threads", 2, "--json", "--quiet", "--out", Path(folder) / "results"]
            written = json_of(m.programs.command(
                1, "run", file_of("studies", name), *common, "--checkpoint", there,
                "--checkpoint-every", f"{every} simulated"))
            restarted = json_of(m.programs.command(1, "run", "--restart", there, *common))
            if written["digest"] != restarted["digest"]:
                raise ProgramFailed(f"{name}: the restart gives another digest")
            yield written, restarted


def checkpoints(m, sizes):
    study, every = sizes.checkpoints

    def rows():
        runs = list(write_and_restart(m, study.name, every))
        taken = [(w["provenance"]["checkpoints"], w["devices"]) for w, _ in runs]
        write_s = [c["host_time_s"] / c["written"] for c, _ in taken]
        yield Row(f"{study.label}: a checkpoint, two threads, written in", write_s, seconds,
                  Target("<", 0.5))
        yield Row(f"{study.label}: a checkpoint, a device",
                  [c["bytes"] / devices for c, devices in taken], byte_count, Target("<", 1024))
        yield Row(f"{study.label}: set-up of a restart, two threads",
                  [r["setup_s"] for _, r in runs], seconds, Target("<", 0.5))
        yield Row(f"{study.label}: share of a minute that one takes", [s / 60 for s in write_s],
                  percent, Target("<", 0.01))
    return rows


def growth(m, sizes):
    for study in (*sizes.orientation, *sizes.growth):
        m.want(study, TWO_THREADS)

    def rows():
        for study in sizes.growth:
            devices = m.results(study, TWO_THREADS)[0]["devices"]
            yield Row(f"{study.label}: {devices:,} devices, two threads",
                      m.values(study, TWO_THREADS, lambda r: r["events_per_s"]), millions_per_s)
        rates = [m.median_rate(study, TWO_THREADS) for study in sizes.growth]
        yield Row("growth: fastest size over slowest", [max(rates) / min(rates)], times,
                  Target("≤", 1.3))
    return rows


def network(m, sizes):
    """Message fidelity. Processor time of the whole process: so others state theirs."""
    for load in sizes.network:
        m.want(load.study, SEQUENTIAL)

    def rows():
        for load in sizes.network:
            def of(value_of, load=load):
                return m.values(load.study, SEQUENTIAL, value_of)
            what = f"{load.study.label}: {load.messages:,} messages"
            yield Row(f"{what}, processor time", of(lambda r: r["process_cpu_s"]), seconds,
                      None if load.seconds is None else Target("≤", load.seconds))
            yield Row(f"{what}, peak memory", of(lambda r: r["peak_rss_bytes"]), megabytes,
                      None if load.megabytes is None else Target("≤", load.megabytes * MB))
            yield Row(f"{what}, a second",
                      of(lambda r, load=load: load.messages / max(1e-9, r["process_cpu_s"])),
                      millions_per_s)
    return rows


def packet(m, sizes):
    """Packet fidelity: a hop is a packet through a port of a switch."""
    for load in sizes.packet:
        m.want(load.traffic, SEQUENTIAL)

    def rows():
        for load in sizes.packet:
            hops = m.results(load.traffic, SEQUENTIAL)[0]["packet_hops"]
            what = f"{load.traffic.label}: {hops:,} packet-hops"
            yield Row(f"{what}, a second of processor time",
                      m.values(load.traffic, SEQUENTIAL, lambda r: r["packet_hops_per_cpu_s"]),
                      millions_per_s,
                      None if load.hops_per_s is None else Target("≥", load.hops_per_s))
            yield Row(f"{what}, peak memory",
                      m.values(load.traffic, SEQUENTIAL, lambda r: r["peak_rss_bytes"]),
                      megabytes, Target("<", 300 * MB))
    return rows


# In the order of the table.
GROUPS = {
    "phold": ("PHOLD, sequential", phold),
    "optimism": ("Price of optimism: time per event on one optimistic thread over sequential",
                 optimism),
    "threads": ("Two threads", threads),
    "ranks": ("Ranks of one thread each", ranks),
    "memory": ("Memory", memory),
    "main": ("The main job", main),
    "checkpoints": ("Checkpoints", checkpoints),
    "growth": ("Growth: committed events per second", growth),
    "network": ("Message fidelity: one all-reduce, one thread", network),
    "packet": ("Packet fidelity: a permutation on a three-tier fat tree, one thread", packet),
}
