#!/usr/bin/env python3
"""Relations between runs of random small studies that hold whatever the right answers are.

usage: metamorphic.py BINARY [--seed N] [--cases N | --seconds S | --case N] [--keep DIR]

A case draws a study and one relation: faster parts never slow a run; scaling sizes and rates
changes nothing; scaling times scales the run; replicas and the order of jobs do not matter;
fidelities agree as docs/reference/model.md says; one digest in every mode and on every number of
threads and ranks; the same study said in other ways is the same run.
"""
import dataclasses
import json

import campaign
import valid_inputs as valid
from campaign import Failure

FIDELITIES = ["analytical", "message", "packet", "flow"]
# By how much a run may take longer after something became faster. At packet fidelity, queues and
# adaptive routes change with every figure (docs/reference/packet_network.md).
SLOWER = {"analytical": 0.0, "message": 0.0, "packet": 0.15, "flow": 0.15}
# By how much the coarser fidelity may be above the finer one, both on the first of all shortest
# ways. Where nothing contends they agree to the picosecond.
ANALYTICAL_ABOVE_MESSAGE = 0.0
MESSAGE_ABOVE_PACKET = 0.02
RUN = ["run", "study.yaml", "--json", "--out", "out", "--ignore-memory", "--threads", "1"]
FAULTS = ["slow_links: [{share: 0.5, factor: 2}]", "slow_switches: [{switches: [s0], factor: 2}]",
          "failed_links: [{share: 0.15}]",
          "slow_links: [{share: 0.3, factor: 3}], failed_links: [{share: 0.1, seed: 3}]"]
LEAST_OF_ALL_LANES = 4096 * 8 * 4  # bytes: 4 KiB from each of 8 devices to the next in each lane
COLLECTIVES = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce",
               "gather", "scatter", "permute", "barrier"]
ALGORITHMS = {
    "all_reduce": ["ring", "halving", "doubling", "tree", "double_tree", "direct"],
    "reduce_scatter": ["ring", "halving", "direct"], "all_gather": ["ring", "halving", "bruck"],
    "all_to_all": ["direct", "bruck", "pairwise"], "broadcast": ["ring", "tree", "direct"]}
TOPOLOGIES = [
    "kind: single_switch\n  SWITCH  LINK", "kind: ring\n  LINK", "kind: fully_connected\n  LINK",
    "kind: torus\n  dims: [2, 4]\n  LINK", "kind: mesh\n  dims: [2, 4]\n  LINK",
    "kind: leaf_spine\n  devices_per_leaf: 4\n  oversubscription: 2\n  SWITCH  LINK",
    "kind: fat_tree\n  devices_per_leaf: 2\n  leaves_per_pod: 2\n  spines_per_pod: 2\n  cores: 2\n"
    "  SWITCH  LINK",
    "kind: dragonfly\n  devices_per_router: 2\n  routers_per_group: 2\n"
    "  global_links_per_router: 1\n  groups: 2\n  SWITCH  LINK",
    "kind: product\n  dimensions:\n    a:\n      devices: 4\n      kind: single_switch\n"
    "      SWITCH      INNER    b:\n      devices: 2\n      kind: ring\n      INNER",
    "kind: hyperx\n  dims: [2, 2]\n  width: [1, 1]\n  devices_per_switch: 2\n  SWITCH  LINK",
    "kind: leaf_spine\n  devices_per_leaf: 2\n  spines: 2\n  leaf_bundle: 2\n  SWITCH  LINK",
    "kind: leaf_spine\n  devices_per_leaf: 4\n  spines: 2\n  planes: 2\n  SWITCH  LINK",
    "kind: leaf_spine\n  devices_per_leaf: 4\n  spines: 2\n  leaves_per_device: 2\n  SWITCH  LINK"]


@dataclasses.dataclass
class Study:
    """A random study by its figures: times in ps, rates a second, sizes in bytes."""
    topology: str
    node_devices: int
    node_rate: int
    node_latency: int
    link_rate: int
    link_latency: int
    switch_latency: int
    endpoint_latency: int
    flops_rate: int
    memory_rate: int
    launch: int
    fidelity: str
    packet_size: int
    routing: str
    collective: str  # or transformer
    algorithm: str
    size: int
    mesh: str = "devices: 8"
    trains: bool = True

    def changed(self, **figures):
        return dataclasses.replace(self, **figures)

    def fabric(self):
        link = (f"link: {{bandwidth: {self.link_rate} B/s, latency: {self.link_latency} ps}}\n"
                f"  endpoint_latency: {self.endpoint_latency} ps\n")
        topology = (self.topology.replace("LINK", link)
                    .replace("INNER", link.replace("  endpoint", "      endpoint"))
                    .replace("SWITCH", f"switch_latency: {self.switch_latency} ps\n"))
        return (f"name: f\nnode:\n  name: n\n  devices: {self.node_devices}\n  bandwidth: "
                f"{self.node_rate} B/s\n  latency: {self.node_latency} ps\ntopology:\n  {topology}")

    def accelerator(self):
        return (valid.ACCELERATOR.replace("100 TFLOP/s", f"{10 * self.flops_rate} FLOP/s")
                .replace("10 TFLOP/s", f"{self.flops_rate} FLOP/s")
                .replace("1 TB/s", f"{self.memory_rate} B/s").replace("1 us", f"{self.launch} ps"))

    def workload(self):
        if self.collective == "transformer":
            return valid.TRANSFORMER
        return (f"microbenchmark: {{kind: collective, collective: {self.collective}, {self.mesh}, "
                f"bytes: {self.size} B}}\n")

    def text(self):
        by_packet = self.routing in ("adaptive", "spray")  # a flow has one way
        routing = "ecmp" if by_packet and self.fidelity == "flow" else self.routing
        out = (f"study: tiny\nworkload: workload.yaml\nsystem: system.yaml\nnetwork: {{fidelity: "
               f"{self.fidelity}, packet: {{packet_size: {self.packet_size} B, control_size: "
               f"{self.packet_size // 8} B, routing: {routing}, trains: "
               f"{str(self.trains).lower()}}}}}\n")
        if self.algorithm:
            out += (f"collectives: {{rules: [{{type: {self.collective}, algorithm: "
                    f"{self.algorithm}}}]}}\n")
        return out

    def files(self):
        return {"study.yaml": self.text(), "workload.yaml": self.workload(),
                "system.yaml": valid.SYSTEM, "accelerator.yaml": self.accelerator(),
                "fabric.yaml": self.fabric()}


def random_study(random, transformer=0.3):
    collective = "transformer" if random.random() < transformer else random.choice(COLLECTIVES)
    algorithms = ALGORITHMS.get(collective, [])
    return Study(
        topology=random.choice(TOPOLOGIES), node_devices=random.choice([1, 1, 2, 4]),
        node_rate=random.choice([50, 100, 400]) * 10**9,
        node_latency=random.choice([100, 1000, 3330]) * 1000,
        link_rate=random.choice([5, 12, 25, 50]) * 10**9,
        link_latency=random.choice([10, 100, 1000]) * 1000,
        switch_latency=random.choice([100, 900]) * 1000,
        endpoint_latency=random.choice([500, 1000, 2500]) * 1000,
        flops_rate=random.choice([1, 10]) * 10**12, memory_rate=random.choice([1, 3]) * 10**12,
        launch=random.choice([100, 1000]) * 1000, fidelity=random.choice(FIDELITIES),
        packet_size=random.choice([4096, 16384]),
        routing=random.choice(["deterministic", "ecmp", "adaptive", "spray"]),
        collective=collective,
        algorithm=random.choice(["", *algorithms]) if algorithms else "",
        size=random.choice([8, 64, 512, 4096]) * 840)


def run(case, study, *options, runner=()):
    """The summary of a run, which has to end well."""
    for name, text in study.files().items():
        case.write(name, text)
    return run_written(case, *options, runner=runner)


def run_written(case, *options, runner=(), study="study.yaml"):
    words = [study if word == "study.yaml" else word for word in RUN]
    if any(str(option).startswith("--threads") for option in options):
        words = words[:words.index("--threads")]
    words += options
    if runner:
        words = [*runner, case.binary, *words]
    return case.run(*words, allowed={0}, address_space=None if runner else
                    campaign.ADDRESS_SPACE).json()


def describe(study):
    return ", ".join(f"{key} {value!r}" for key, value in dataclasses.asdict(study).items())


def at_most(what, got, bound, study):
    if got > bound:
        raise Failure(f"{what}\n  {got}, at most {bound} ({got / max(1, bound):.4f}): "
                      f"{describe(study)}")


def equal(what, got, expected, study):
    if got != expected:
        raise Failure(f"{what}\n  {got}, expected {expected}: {describe(study)}")


def faster_is_not_slower(case):
    study = random_study(case.random)
    before = run(case, study)["simulated_time_ps"]
    figure = case.random.choice(["node_rate", "link_rate", "node_latency", "link_latency",
                                 "switch_latency", "endpoint_latency", "flops_rate",
                                 "memory_rate", "launch"])
    value = getattr(study, figure)
    value = value * 2 if figure.endswith("rate") else value // 2
    after = run(case, study.changed(**{figure: value}))["simulated_time_ps"]
    at_most(f"{study.fidelity}: a better {figure} slows the run", after,
            int(before * (1 + SLOWER[study.fidelity])), study)


def sizes_and_rates_scale(case):
    study = random_study(case.random, transformer=0)
    if study.collective == "barrier":  # has no size
        study.collective = "permute"
    # With smaller messages a ring has fewer lanes (docs/reference/collectives.md).
    study.size = max(study.size, LEAST_OF_ALL_LANES)
    times = case.random.choice([2, 3, 10])
    before = run(case, study)["simulated_time_ps"]
    after = run(case, study.changed(
        size=study.size * times, node_rate=study.node_rate * times,
        link_rate=study.link_rate * times,
        packet_size=study.packet_size * times))["simulated_time_ps"]
    equal(f"{study.fidelity}: sizes and rates times N change the time", after, before, study)


def times_scale(case):
    study = random_study(case.random).changed(trains=False)  # so that events count packets
    times = case.random.choice([2, 4, 5, 10])
    summary = run(case, study)
    slow = study.changed(
        **{name: getattr(study, name) * times for name in
           ("node_latency", "link_latency", "switch_latency", "endpoint_latency", "launch")},
        **{name: getattr(study, name) // times for name in
           ("node_rate", "link_rate", "flops_rate", "memory_rate")})
    after = run(case, slow)["simulated_time_ps"]
    expected = summary["simulated_time_ps"] * times
    # Each event's time may be rounded up by one picosecond.
    bound = times * summary["committed_events"]
    if abs(after - expected) > bound:
        raise Failure(f"{study.fidelity}: times times N do not scale the run\n  {after}, expected "
                      f"{expected} +- {bound}: {describe(study)}")


def replicas_are_free(case):
    """Groups inside nodes do not meet those of other nodes."""
    study = random_study(case.random, transformer=0).changed(node_devices=2, topology=TOPOLOGIES[0])
    times = [run(case, study.changed(
        mesh=f"mesh: {{tensor: 2, data: {copies}}}, along: [tensor]"))["simulated_time_ps"]
             for copies in (1, case.random.choice([2, 3, 8]))]
    equal(f"{study.fidelity}: replicas change the time", times[1], times[0], study)


def order_of_jobs(case):
    random = case.random
    study = random_study(random).changed(fidelity=random.choice(FIDELITIES))
    kinds = ["kind: collective, collective: all_reduce, devices: 2, bytes: 1 MiB",
             "kind: collective, collective: all_gather, devices: 3, bytes: 64 KiB",
             "kind: ping_pong, devices: 2, bytes: 4 KiB", "kind: send, devices: 2, bytes: 1 MB"]
    devices = random.sample(range(8), 8)
    jobs, used = [], 0
    for index, kind in enumerate(random.sample(kinds, 3)):
        count = int(kind.split("devices: ")[1].split(",")[0])
        jobs.append(f"  - {{name: j{index}, start: {random.choice([0, 1, 7])} us, placement: "
                    f"{{devices: {devices[used:used + count]}}}, workload: {{microbenchmark: "
                    f"{{{kind}}}}}}}\n")
        used += count
    ends = []
    for order in (jobs, random.sample(jobs, len(jobs))):
        files = study.changed(algorithm="").files()
        files["study.yaml"] = files["study.yaml"].replace(
            "workload: workload.yaml\n", "devices: 8\njobs:\n" + "".join(order))
        for name, text in files.items():
            case.write(name, text)
        ends.append({job["name"]: job["finish_ps"] for job in run_written(case)["jobs"]})
    equal(f"{study.fidelity}: the order of jobs matters", ends[1], ends[0], study)


def sends_to_all_at_once(study):
    """Messages leave one after the other, and their packets by turns, which end earlier where
    receivers are found busy in the same order."""
    default = study.collective == "all_to_all" and study.algorithm == ""
    return default or study.algorithm == "direct"


def fidelities_agree(case):
    study = random_study(case.random, transformer=0).changed(routing="deterministic")
    analytical, message, packet = (
        run(case, study.changed(fidelity=fidelity))["simulated_time_ps"]
        for fidelity in ["analytical", "message", "packet"])
    bounds = [("analytical above message", analytical, message * (1 + ANALYTICAL_ABOVE_MESSAGE)),
              ("message above packet", message, packet * (1 + MESSAGE_ABOVE_PACKET))]
    if sends_to_all_at_once(study):
        bounds.pop()
    case.random.shuffle(bounds)  # where both are broken, each is seen
    for what, coarse, fine in bounds:
        at_most(what, coarse, int(fine), study)


def times_of_one_message(case, study, fidelities, faults="", allowed=(0,)):
    """Between any two devices, by fidelity; nothing where no way or no such switch is there."""
    devices = case.random.sample(range(8), 2)
    sending = (f"devices: 8\njobs:\n  - {{name: one, placement: {{devices: {devices}}}, workload: "
               f"{{microbenchmark: {{kind: send, devices: 2, bytes: {study.size} B}}}}}}\n")
    for name, text in study.files().items():
        case.write(name, text)
    times = {}
    for fidelity in fidelities:
        text = study.changed(fidelity=fidelity).text()
        case.write("study.yaml", text.replace("workload: workload.yaml\n", sending) + faults)
        ran = case.run(*RUN, allowed=set(allowed))
        times[fidelity] = ran.json()["simulated_time_ps"] if ran.code == 0 else None
    return times


def one_message_takes_as_long(case):
    """Where it is a single packet and meets nothing."""
    study = random_study(case.random, transformer=0).changed(algorithm="", packet_size=1 << 23)
    times = times_of_one_message(case, study, FIDELITIES)
    if len(set(times.values())) > 1:
        raise Failure(f"one message does not take as long at every fidelity\n  {times}: "
                      f"{describe(study)}")


def faults_cost_one_message_as_much(case):
    """Those that do not come and go: within a few packets, which message fidelity has none of."""
    study = random_study(case.random, transformer=0).changed(
        algorithm="", packet_size=512, routing="destination", size=case.random.choice([64, 512])
        * 840)
    faults = f"faults: {{{case.random.choice(FAULTS)}}}\n"
    message, packet = times_of_one_message(case, study, ["message", "packet"], faults,
                                           allowed=(0, 2, 3)).values()
    packets = 36 * study.packet_size * 10**12 // study.link_rate
    if (message is None) != (packet is None) or (message and abs(message - packet) > packets):
        raise Failure(f"faults cost one message not as much at both fidelities\n  {faults}"
                      f"{message} at message, {packet} at packet: {describe(study)}")


def one_digest(case):
    study = random_study(case.random)
    ways = [["--threads", "2"], ["--threads", "2", "--sync", "conservative"],
            ["--threads", "1", "--partitions", "3", "--placement", "block"],
            ["--threads", "2", "--window", "5 ms"], ["--threads", "1", "--audit", "0.3"]]
    expected = run(case, study, "--sync", "sequential")
    runs = [run(case, study, *options) for options in case.random.sample(ways, 2)]
    if case.random.random() < 0.5:
        mpirun = [str(campaign.ROOT / "scripts" / "mpirun"), "-n", "2"]
        runs.append(run(case, study, "--threads", "1", runner=mpirun))
    for summary in runs:
        for key in ("digest", "simulated_time_ps", "committed_events"):
            equal(f"{study.fidelity}: {key} differs between modes", summary[key], expected[key],
                  study)


def other_words(case):
    """The same study said otherwise: comments, overrides, generated files, a round trip."""
    study = random_study(case.random)
    expected = run(case, study)
    way = case.random.choice(["described", "overridden", "generated", "round trip"])
    files = study.files()
    if way == "described":
        case.write("study.yaml", "# a comment\ndescription: other words\n" + files["study.yaml"])
    elif way == "overridden":
        case.write("fabric.yaml", study.changed(node_rate=10**9).fabric())
    else:
        case.run("workload", "generate", "workload.yaml", "-o", "w.xwg", allowed={0})
        case.write("study.yaml", files["study.yaml"].replace("workload.yaml", "w.xwg"))
        if way == "round trip":
            case.run("workload", "export", "chakra", "w.xwg", "-o", "t", allowed={0})
            groups = ["--comm-groups", "t.comm_groups.json"]
            case.run("workload", "import", "chakra", "t", "-o", "w.xwg", *(
                groups if (case.folder / groups[1]).exists() else []), allowed={0})
    options = (["--set", f"system.fabric.node.bandwidth={study.node_rate} B/s"]
               if way == "overridden" else [])
    summary = run_written(case, *options)
    for key in ("simulated_time_ps", "committed_events", *(["digest"] if way != "round trip"
                                                           else [])):
        equal(f"{way}: {key} differs", summary[key], expected[key], study)


def summary_is_the_file(case):
    study = random_study(case.random)
    summary = run(case, study)
    equal("--json is not summary.json", summary,
          json.loads((case.folder / "out" / "summary.json").read_text()), study)


RELATIONS = [faster_is_not_slower, faster_is_not_slower, sizes_and_rates_scale, times_scale,
             replicas_are_free, order_of_jobs, fidelities_agree, one_message_takes_as_long,
             faults_cost_one_message_as_much, one_digest, other_words, summary_is_the_file]


def try_case(case):
    case.random.choice(RELATIONS)(case)


if __name__ == "__main__":
    campaign.main("metamorphic", __doc__, try_case, cases=100)
