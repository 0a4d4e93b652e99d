#!/usr/bin/env python3
"""Mutated inputs through the real program: whatever a file holds, no crash, hang or litter.

usage: mutated_inputs.py BINARY [--seed N] [--cases N | --seconds S | --case N] [--keep DIR]

A case takes a valid input of one kind, changes one of its files (mutation.py), or an option, and
runs the commands that read it. Each ends with 0, 2, 3 or 4 in time; with 2 there is one line
`place: what is wrong`, and nothing was written. What `validate` accepts can be exported,
inspected and run.
"""
import dataclasses
import functools

import campaign
import mutation
import valid_companions as companions
import valid_inputs as valid


@dataclasses.dataclass
class Kind:
    """Inputs of one kind and the commands that read them; FILE stands for the first file."""
    name: str
    inputs: list
    commands: list


def kinds_around_runs(binary):
    """Serving, sweeps, searches, futures, results, databases, rows, kernels, recorded steps."""
    results, futures, databases = companions.left_by_runs(binary)
    rows = ["--mine", "FILE", "--study", str(companions.CONFIGS / "validation/study.yaml"),
            "--threads", "1"]
    importing = ["kernels", "import", "FILE", "-o", "tables", "--clock", "1410 MHz", "--type",
                 "bf16", "--format"]
    run = ["run", "study.yaml", "--threads", "1", "--out", "out", "--ignore-memory", "--json"]
    return [
        Kind("serving", companions.serving_studies(),
             [["serve", "FILE", "--threads", "1", "--json"],
              ["capacity", "FILE", "--tolerance", "0.5", "--threads", "1", "--json"]]),
        Kind("served", companions.served_studies(), [["run", "FILE", *run[2:]]]),
        Kind("sweep", [companions.with_study("sweep.yaml", text) for text in companions.SWEEPS],
             [["sweep", "FILE", "-o", "s.db", "--jobs", "1"]]),
        Kind("search", [companions.with_study("search.yaml", companions.SEARCH)],
             [["search", "FILE", "-o", "s.db", "--jobs", "1"]]),
        Kind("fork", futures,
             [["fork", "c", "--variants", "FILE", "--out", "out", "--threads", "1"]]),
        Kind("results", results,
             [["compare", "a", "b"], ["report", "a", "b", "-o", "report.html", "--no-pictures"]]),
        Kind("database", databases,
             [["sweep", "show", "FILE"], ["sweep", "best", "FILE"],
              ["sweep", "export", "FILE", "-o", "points.csv"],
              ["report", "FILE", "-o", "report.html", "--no-pictures"]]),
        Kind("rows", companions.validation_rows(),
             [["validate", *rows], ["calibrate", *rows, "--fit", "products", "-o", "c.yaml"]]),
        *(Kind(f"kernels_{form}", [files],
               [[*importing, form, *(["--shapes", "shapes.csv"] if len(files) > 1 else [])]])
          for form, files in companions.kernel_times().items()),
        Kind("systolic", [{"layers.csv": text, "array.cfg": companions.ARRAY}
                          for text in companions.LAYERS],
             [["kernels", "systolic", "FILE"],
              ["kernels", "systolic", "FILE", "--config", "array.cfg", "--json"]]),
        Kind("tables", companions.tabled_studies(), [run]),
        Kind("recorded", [{"trace.csv": companions.OPERATORS, "tensor.csv": companions.TENSORS}],
             [["extrapolate", "FILE", "--tensors", "tensor.csv", "--devices", "2", "--rules",
               "triosim", "--layout", "data_parallel"],
              ["extrapolate", "FILE", "--tensors", "tensor.csv", "--devices", "2", "--layout",
               "data_parallel", "--threads", "1"]]),
        Kind("plan", [valid.study()],
             [["plan", "FILE", "--ranks", "2", "--threads", "2", "--sample-seconds", "0.1"]]),
    ]


@functools.cache
def kinds(binary):
    graphs, binary_traces, text_traces = valid.written_by_the_program(binary)
    run = ["run", "FILE", "--threads", "1", "--out", "out", "--ignore-memory", "--json"]
    traffic = ["traffic", "FILE", "--threads", "1", "--json"]
    show = ["topology", "show", "FILE"]
    importing = ["-o", "out.xwg"]
    astra = ["astra", "--workload-configuration=trace", "--system-configuration=system.json",
             "--network-configuration=network.yml",
             "--remote-memory-configuration=memory.json"]
    chakra = ["workload", "import", "chakra", "t", "--comm-groups", "groups.json", *importing]
    return [
        Kind("study", valid.studies(), [run]),
        Kind("specification", [{"w.yaml": text} for text in valid.SPECIFICATIONS],
             [["workload", "generate", "FILE", *importing]]),
        Kind("topology", valid.topology_studies(),
             [show, [*show, "--json"], [*show, "--links"], [*show, "-o", "t.svg"], run]),
        Kind("traffic", valid.traffic_studies(), [traffic]),
        Kind("xwg", graphs, [
            ["workload", "validate", "FILE"], ["workload", "inspect", "FILE"],
            ["workload", "export", "chakra", "FILE", "-o", "e"],
            ["workload", "export", "json", "FILE", "-o", "e"],
            ["workload", "export", "dot", "FILE", "-o", "g.dot"],
            ["workload", "export", "graphml", "FILE", "-o", "g.xml"],
            ["workload", "inspect", "FILE", "--accelerator", "accelerator.yaml", "--timeline",
             "t.svg"], run]),
        Kind("chakra", binary_traces, [chakra, ["workload", "convert", "FILE", "-o", "c.json"]]),
        Kind("chakra_json", text_traces, [chakra, ["workload", "convert", "FILE", "-o", "c.et"]]),
        Kind("stablehlo", valid.stablehlo_modules(),
             [["workload", "import", "stablehlo", "FILE", "--module", "1", *importing]]),
        Kind("goal", valid.goals(),
             [["goal", "FILE", "--threads", "1"],
              ["workload", "import", "goal", "FILE", *importing]]),
        Kind("astra", [valid.astra_set_up()], [astra, [*astra[:1], "--network-backend",
                                                       "congestion-aware", *astra[1:]]]),
        Kind("text", valid.text_workloads(),
             [["workload", "import", "text", "FILE", "--ranks", "8", "--model-parallel", "4",
               *importing]]),
        Kind("pytorch", [{"t.json": valid.PYTORCH, "k.json": valid.KINETO}],
             [["workload", "import", "pytorch", "FILE", *importing],
              ["workload", "import", "pytorch", "FILE", "--kineto", "k.json", *importing]]),
        *kinds_around_runs(binary),
    ]


def options_of(command):
    """Options with a value that the command takes; each gets a hostile one in some cases."""
    run = ["--threads", "--partitions", "--window", "--audit", "--seed", "--sync", "--placement",
           "--stats-interval", "--set"]
    return {"run": run, "traffic": run[:6], "goal": ["--L", "--o", "--g", "--G", "--O", "--S",
                                                     *run[:4]],
            "astra": ["--num-queues-per-dim", "--injection-scale", "--rendezvous-protocol"],
            "workload": []}.get(command, [])


def hostile_option(case, command):
    """An option of the command with a value that nobody means, or a word that is none."""
    options = options_of(command[0])
    if not options or case.random.random() < 0.1:
        return [case.random.choice(["--nonsense", "-", "--", "\x1b[31m", "x" * 3000])]
    option = case.random.choice(options)
    number = case.random.choice(mutation.EXTREMES)
    value = case.random.choice([number, number, f"{number} us", "x" * 3000, "\x1b[31m"])
    if option == "--set":
        key = case.random.choice(["seed", "network.fidelity", "engine.memory", "engine.window",
                                  "placement.partitions_per_rank", "compute.jitter", "no.such.key"])
        value = f"{key}={value}"
    return [f"{option}={value}"]


def as_bytes(content):
    return content if isinstance(content, bytes) else content.encode()


def write_mutated(case, kind):
    """The files of one input, one of them changed; the name to give the command."""
    random = case.random
    files = {name: as_bytes(content) for name, content in random.choice(kind.inputs).items()}
    changed = random.choice(list(files))
    if random.random() < 0.5:
        changed = next(iter(files))
    donors = [as_bytes(content) for other in kind.inputs for name, content in other.items()
              if name == changed]
    options_instead = random.random() < 0.1
    if not options_instead:
        files[changed] = mutation.mutated(random, changed, files[changed],
                                          random.choice(donors or [files[changed]]))
    for name, content in files.items():
        case.write(name, content)
    return next(iter(files)), options_instead


def write_accepted(case, kind):
    """Changed graphs, until one is valid: the others end at `validate`."""
    for _ in range(10):
        first, options_instead = write_mutated(case, kind)
        if case.run("workload", "validate", first).code == 0:
            break
    return first, options_instead


def write_changed(case, kind):
    """The changed files, with a study where they are a graph; as write_mutated."""
    if kind.name != "xwg":
        return write_mutated(case, kind)
    study = valid.study()
    study["study.yaml"] = study["study.yaml"].replace("workload.yaml", "w.xwg")
    del study["workload.yaml"]
    for name, content in study.items():
        case.write(name, content)
    return write_accepted(case, kind)


def try_case(case):
    kind = case.random.choice(kinds(case.binary))
    first, options_instead = write_changed(case, kind)
    commands = [list(command) for command in kind.commands]
    if len(commands) > 2 and kind.name != "xwg":
        commands = case.random.sample(commands, 2)
    for words in commands:
        file = "study.yaml" if kind.name == "xwg" and words[0] == "run" else first
        words = [file if word == "FILE" else word for word in words]
        if words[-1] == "--json" and case.random.random() < 0.5:
            del words[-1]
        if options_instead:
            words += hostile_option(case, words)
        drifted = {1} if words[0] == "compare" else set()
        command = words[:2] if words[:1] == ["sweep"] and words[2] == first else words[:1]
        ran = case.run(*words, *case.time_limit(*command),
                       allowed=campaign.EXIT_CODES | drifted)
        if words[:2] == ["workload", "validate"] and ran.code != 0:
            commands[1:] = []  # the others would say the same
            break


if __name__ == "__main__":
    campaign.main("mutated_inputs", __doc__, try_case, cases=300)
