"""Strong and weak scaling: what is measured over ranks and threads, and what follows from it.

Strong: one model, on more workers. Weak: as much of it for each worker. Both are held against one
optimistic worker of the same family, for what more workers are worth; the sequential mode is there
as well, for what parallelism is worth.
"""
import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace

from table.programs import json_of
from table.sides import ONE_THREAD, SEQUENTIAL, Mode, Phold, Study, Traffic, file_of, set_flags

MIB = 2**20


@dataclass(frozen=True)
class Family:
    """A model of so many workers."""
    name: str
    kind: str  # "strong" or "weak"
    of: Callable  # workers -> model


def strong(name, model):
    return Family(name, "strong", lambda workers: model)


def weak(name, of):
    return Family(name, "weak", of)


def training(devices, data, batch, rounds_most=5):
    """Llama 3 405B's layout of benchmarks/studies on more replicas."""
    return Study(f"llama3_405b_{devices}_1f1b", rounds_most, (
        f"workload.transformer.parallel.data={data}",
        f"workload.transformer.global_batch_sequences={batch}"))


def reduction(data):
    return Study("gradient_reduction_32k_packet", 3, (f"workload.microbenchmark.mesh.data={data}",))


FULL = (
    strong("phold", Phold(65_536, 1, "0.5", "256")),
    strong("4k", Study("llama3_405b_4k_1f1b")),
    strong("32k", Study("llama3_405b_32k_1f1b", rounds_most=1)),
    strong("permutation", Traffic("permutation_1k", settings=("traffic.size=4 MiB",))),
    strong("reduction", reduction(64)),
    weak("phold", lambda workers: Phold(65_536 * workers, 1, "0.5", "256")),
    weak("1k", lambda workers: training("1k", 8 * workers, 128 * workers)),
    weak("reduction", lambda workers: reduction(32 * workers)),
)

# A test of the command, in seconds. The figures mean nothing.
QUICK = (
    strong("phold", Phold(1_024, 1, "0.5", "20")),
    strong("8", Study("llama2_7b_8")),
    strong("permutation", Traffic("permutation_1k", settings=("traffic.size=4 KiB",))),
    weak("phold", lambda workers: Phold(512 * workers, 1, "0.5", "20")),
)


def mode_of(ranks, threads):
    def counted(count, what):
        return f"{count} {what}{'' if count == 1 else 's'}"
    return Mode(f"{counted(ranks, 'rank')} × {counted(threads, 'thread')}", ranks=ranks,
                threads=threads)


ONE_WORKER = replace(ONE_THREAD, name=mode_of(1, 1).name)


def modes_of(cores, oversubscribed):
    """On one worker, then on twice as many each time: threads of a rank, ranks of a thread, and
    both; up to `cores`, or twice that and at least eight where workers may share cores."""
    most = max(2 * cores, 8) if oversubscribed else cores
    modes = [ONE_WORKER]
    workers = 2
    while workers <= most:
        modes += [mode_of(1, workers), mode_of(workers, 1)]
        if workers >= 4:
            modes.append(mode_of(2, workers // 2))
        workers *= 2
    return modes


def workers_of(mode):
    return mode.ranks * mode.threads


def plan_command(model, mode, sample_s, programs):
    """`exawarp plan` of what `model` runs in `mode`."""
    if isinstance(model, Phold):
        words = ["--lps", model.lps, "--start-events", model.start, "--remote", model.remote,
                 "--end", model.end]
    else:
        folder = "traffic" if isinstance(model, Traffic) else "studies"
        words = [file_of(folder, model.name), *set_flags(model.settings)]
    return programs.command(1, "plan", *words, "--ranks", mode.ranks, "--threads", mode.threads,
                            "--sync", mode.sync, "--sample-seconds", sample_s, "--json")


@dataclass(frozen=True)
class Checked:
    """A model that is planned before each run, so that both see the same minute."""
    model: object
    sample_s: float

    @property
    def label(self):
        return self.model.label

    @property
    def rounds_most(self):
        return self.model.rounds_most

    def run(self, mode, programs):
        plan = json_of(plan_command(self.model, mode, self.sample_s, programs))
        return {**self.model.run(mode, programs), "plan": plan}


@dataclass(frozen=True)
class Point:
    """What a family did in a mode: medians over rounds, and `plan`: (predicted, measured) of each
    round, where it was planned."""
    family: Family
    model: object
    mode: Mode
    results: tuple  # of each round
    speed_up: float  # over one optimistic worker of the family: in time, or, weak, in rate

    def median(self, value_of):
        return statistics.median(value_of(result) for result in self.results)

    @property
    def efficiency(self):
        return self.speed_up / workers_of(self.mode)

    def share(self, key):
        return self.median(lambda r: r["engine"]["host_time"][key])

    @property
    def rollback(self):
        """Share of the workers' time in executions that were undone."""
        return self.median(lambda r: r["engine"]["host_time"]["executing"] *
                           r["rolled_back_events"] / max(1, r["processed_events"]))

    def errors(self, predicted, measured):
        """Predicted over measured less 1, signed, of each round."""
        return [predicted(r["plan"]) / measured(r) - 1 for r in self.results]


def rank_bytes(result):
    return result["peak_rss_bytes"] / result["ranks"]


class Scaling:
    """First want(), then Measurements.measure(), then points()."""

    def __init__(self, measurements, modes, sample_s=None):
        self._m = measurements
        self._modes = modes
        self._sample_s = sample_s  # None: nothing is planned
        self._wanted = []  # (family, model, mode)

    def want(self, family):
        for mode in [SEQUENTIAL, *self._modes]:
            model = family.of(workers_of(mode))
            if self._sample_s is not None:
                model = Checked(model, self._sample_s)
            self._m.want(model, mode)
            self._wanted.append((family, model, mode))

    def points(self):
        for family, model, mode in self._wanted:
            base = family, self._model_of(family, ONE_WORKER)
            rate = [mine["events_per_s"] / other["events_per_s"] for mine, other in
                    zip(self._m.results(model, mode), self._m.results(base[1], ONE_WORKER))]
            yield Point(family, model, mode, tuple(self._m.results(model, mode)),
                        statistics.median(rate))

    def _model_of(self, family, mode):
        return next(model for f, model, of in self._wanted if f == family and of == mode)


def percent(value):
    return f"{100 * value:.1f} %"


def scaling_lines(points):
    yield ("| scaling | model | mode | run | million events/s | speed-up | efficiency | waiting "
           "| exchange | rollback | MiB a rank |")
    yield "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for p in points:
        cells = [p.family.kind, p.model.label, p.mode.name,
                 f"{p.median(lambda r: r['run_s']):.2f} s",
                 f"{p.median(lambda r: r['events_per_s']) / 1e6:.2f}", f"{p.speed_up:.2f}×",
                 percent(p.efficiency), percent(p.share("waiting")),
                 percent(p.share("gvt_and_exchange") + p.share("mailboxes")),
                 percent(p.rollback), f"{p.median(rank_bytes) / MIB:,.0f}"]
        yield "| " + " | ".join(cells) + " |"


def signed(value):
    return f"{100 * value:+.0f} %"


def spread(errors):
    text = signed(statistics.median(errors))
    if len(errors) == 1:
        return text
    return f"{text} ({signed(min(errors))} to {signed(max(errors))})"


def plan_lines(points):
    yield ("| model | mode | predicted | measured | error | sample "
           "| MiB a rank, predicted | measured | error |")
    yield "|---|---|---:|---:|---:|---:|---:|---:|---:|"
    for p in points:
        cells = [p.model.label, p.mode.name, f"{p.median(lambda r: r['plan']['run_s']):.2f} s",
                 f"{p.median(lambda r: r['run_s']):.2f} s",
                 spread(p.errors(lambda plan: plan["run_s"], lambda r: r["run_s"])),
                 percent(p.median(lambda r: sample_share(r["plan"]))),
                 f"{p.median(lambda r: r['plan']['memory_of_a_rank_bytes']) / MIB:,.0f}",
                 f"{p.median(rank_bytes) / MIB:,.0f}",
                 spread(p.errors(lambda plan: plan["memory_of_a_rank_bytes"], rank_bytes))]
        yield "| " + " | ".join(cells) + " |"


def sample_share(plan):
    return plan["sample"]["committed_events"] / max(1, plan["events"])


def within_line(points, bound=0.2):
    """How many points were planned to within `bound`."""
    errors = [statistics.median(p.errors(lambda plan: plan["run_s"], lambda r: r["run_s"]))
              for p in points]
    near = sum(abs(error) <= bound for error in errors)
    return (f"{near} of {len(errors)} points within {100 * bound:.0f} %; the largest error is "
            f"{signed(max(errors, key=abs))}.")


def json_point(p):
    out = {"scaling": p.family.kind, "model": p.model.label, "sync": p.mode.sync,
           "ranks": p.mode.ranks, "threads": p.mode.threads,
           "run_s": [r["run_s"] for r in p.results],
           "events_per_s": [r["events_per_s"] for r in p.results],
           "committed_events": p.results[0]["committed_events"],
           "speed_up": p.speed_up, "efficiency": p.efficiency, "waiting": p.share("waiting"),
           "exchange": p.share("gvt_and_exchange") + p.share("mailboxes"), "rollback": p.rollback,
           "rank_bytes": [rank_bytes(r) for r in p.results]}
    if "plan" in p.results[0]:
        out["plans"] = [r["plan"] for r in p.results]
    return out
