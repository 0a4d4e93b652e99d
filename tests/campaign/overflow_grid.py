#!/usr/bin/env python3
"""Extremes of rates, sizes, latencies and counts, against lower bounds in exact integers.

usage: overflow_grid.py BINARY [--seed N] [--cases N | --seconds S | --case N] [--keep DIR]

Simulated time is an integer of 63 bits of picoseconds: 106 days. A case draws figures from
extremes for one command. It ends with 0 and a simulated time no less than what the bytes take at
their bandwidth, computed here with integers without bounds, or with 2 and one line; the
simulation may run into its limit of host time (4), never into a failed check, a hang or a time
that wrapped around. Where an answer is far from any bound, 2 is wrong, too.
"""
from fractions import Fraction

import campaign
import valid_inputs as valid
from campaign import Failure

PS = 10**12
TIME_MAX = 2**63 - 1
TAME = 2**60  # picoseconds, 13 days: nothing may refuse what ends before it, by an upper bound
BYTES = [1, 2, 4096, 10**6, 2**20 + 1, 10**9, 2**32 - 1, 2**32, 10**12, 2**40 - 1]
RATES = [1, 10, 1000, 100 * 1000, 10**6, 10**9, 10**11, 10**13, 10**18]  # bytes or FLOPs a second
LATENCIES_PS = [2, 10**3, 10**6, 10**9, 10**12, 6 * 10**13]
LATENCY_MAX_PS = PS  # of a fabric
FIDELITIES = ["analytical", "message", "packet"]


def run(case, *words):
    """None of these waits for anything that does not come."""
    return case.run(*words, allowed={0, 2, 4})


def ceil_div(a, b):
    return -(-a // b)


def wire_ps(size, rate):
    return max(1, ceil_div(size * PS, rate))


def at_least(what, got, bound):
    if got < bound:
        raise Failure(f"{what}: less than the least time possible\n  {got}, at least {bound}")
    if not 0 <= got <= TIME_MAX:
        raise Failure(f"{what}: no time\n  {got}")


def check_refusal(ran, upper):
    """Time may not run out for what ends in days. A single value may be out of its own range."""
    ran_out = "simulated time passes" in ran.err
    if ran.code == 2 and ran_out and upper < TAME:
        raise Failure(f"refused a run of less than 13 days\n  {upper} ps at most\n  "
                      f"{campaign.shorten(ran.err)}")


def packet_size(size):
    """So that a message is 64 packets, within what a packet may be."""
    return max(4096, min(ceil_div(size, 64), 16 * 2**20))


# What a device sends one after the other: steps and the bytes of each, of `size` by n devices, as
# docs/reference/collectives.md has them.
STEPS = {
    "all_reduce": lambda n, size: (2 * (n - 1), ceil_div(size, n)),
    "reduce_scatter": lambda n, size: (n - 1, ceil_div(size, n)),
    "all_gather": lambda n, size: (n - 1, size),
    "all_to_all": lambda n, size: (n - 1, size // n),
    "broadcast": lambda _, size: (1, size),
    "reduce": lambda _, size: (1, size),
    "send": lambda n, size: (1, size),
    "ping_pong": lambda n, size: (2, size),
}


def communication(case):
    random = case.random
    kind = random.choice(list(STEPS))
    devices = 2 if kind in ("send", "ping_pong") else random.choice([2, 3, 4, 8])
    size, rate = random.choice(BYTES), random.choice(RATES)
    latency, repeats = random.choice(LATENCIES_PS), random.choice([1, 1, 1, 1000, 10**6])
    fidelity = random.choice(FIDELITIES)
    inside = random.random() < 0.5
    what = (f"kind: {kind}" if kind in ("send", "ping_pong")
            else f"kind: collective, collective: {kind}")
    specification = (f"microbenchmark: {{{what}, devices: {devices}, bytes: {size} B, "
                     f"repeats: {repeats}}}\n")
    node, across = (8, "100 GB/s") if inside else (1, f"{rate} B/s")
    fabric = ((valid.FABRIC + valid.SCALE_OUT).replace("devices: 4", f"devices: {node}", 1)
              .replace("100 Gb/s", across).replace("devices_per_leaf: 4", "devices_per_leaf: 8"))
    if inside:
        fabric = fabric.replace("100 GB/s", f"{rate} B/s").replace("latency: 1 us",
                                                                  f"latency: {latency} ps", 1)
    else:
        fabric = fabric.replace("endpoint_latency: 1 us", f"endpoint_latency: {latency} ps")
    network = (f"network: {{fidelity: {fidelity}, packet: "
               f"{{packet_size: {packet_size(size)} B}}}}\n")
    for name, text in valid.study(network, specification, fabric).items():
        case.write(name, text)
    ran = run(case, "run", "study.yaml", "--threads", "1", "--json", "--out", "out",
                   "--ignore-memory", *case.time_limit("run"))
    steps, chunk = STEPS[kind](devices, size)
    # Repeated messages of one sender follow each other on the wire; rings wait for the receipt.
    serial = repeats if kind not in ("send", "broadcast", "reduce") else 1
    bound = serial * steps * latency + repeats * steps * wire_ps(chunk, rate)
    if ran.code == 0:
        at_least(f"{fidelity} {kind}", ran.json()["simulated_time_ps"], bound)
    packets = fidelity == "packet" and not inside
    upper = 2 * (bound + repeats * latency) + repeats * steps * 10**7 * (100 if packets else 1)
    if latency <= LATENCY_MAX_PS:
        check_refusal(ran, upper)


def computation(case):
    random = case.random
    flops = random.choice([1, 10**9, 10**15, 10**18, 10**24, 2**63 - 1, 2**64 - 1])
    size, rate = random.choice(BYTES), random.choice(RATES)
    memory, launch = random.choice(RATES), random.choice(LATENCIES_PS)
    place = random.choice(["compute", "device", "host"])
    work = (f"kind: compute, flops: {flops}, bytes_read: {size} B" if place == "compute"
            else f"kind: memory, place: {place}, bytes_read: {size} B")
    repeats = random.choice([1, 1, 1000])
    specification = f"microbenchmark: {{{work}, devices: 2, repeats: {repeats}}}\n"
    files = valid.study(f"network: {{fidelity: {random.choice(FIDELITIES)}}}\n", specification)
    files["accelerator.yaml"] = (
        valid.ACCELERATOR.replace("100 TFLOP/s", f"{rate} FLOP/s")
        .replace("10 TFLOP/s", f"{rate} FLOP/s").replace("1 TB/s", f"{memory} B/s")
        .replace("16 GB/s", f"{memory} B/s").replace("1 us", f"{launch} ps"))
    for name, text in files.items():
        case.write(name, text)
    ran = run(case, "run", "study.yaml", "--threads", "1", "--json", "--out", "out",
                   "--ignore-memory", *case.time_limit("run"))
    seconds = Fraction(size, memory)
    if place == "compute":
        seconds = max(seconds, Fraction(flops, rate))
    # Durations come from doubles: a part in 10^12 of them may be missing.
    bound = repeats * (launch + int(seconds * PS * (1 - Fraction(1, 10**12))))
    if ran.code == 0:
        at_least(place, ran.json()["simulated_time_ps"], bound)
    if flops <= 10**15:
        check_refusal(ran, 4 * bound)


def traffic(case):
    random = case.random
    pattern = random.choice(["permutation", "incast", "outcast", "all_to_all", "shift"])
    size, rate = random.choice(BYTES), random.choice(RATES)
    latency, messages = random.choice(LATENCIES_PS), random.choice([1, 1, 100, 10**6])
    spread = random.choice(["0 s", "1 us", "1 s", "60 s", "9000000 s"])
    payload = random.choice([packet_size(size), 16 * 2**20])
    if messages * ceil_div(size, payload) > 10**5:
        messages = 1
    fabric = valid.topology_fabric(
        "kind: single_switch\n  switch_latency: 100 ns\n  "
        f"link: {{bandwidth: {rate} B/s, latency: {latency} ps}}\n  endpoint_latency: 1 us\n")
    case.write("fabric.yaml", fabric.replace("node:\n  name: inside\n  devices: 4", "node:\n  "
                                             "name: inside\n  devices: 1"))
    case.write("study.yaml", f"study: t\ndevices: 4\nfabric: fabric.yaml\npacket: {{packet_size: "
               f"{payload} B}}\ntraffic: {{pattern: {pattern}, size: {size} B, messages: "
               f"{messages}, start_spread: {spread}}}\n")
    ran = run(case, "traffic", "study.yaml", "--threads", "1", "--json",
                   *case.time_limit("traffic"))
    peers = 3 if pattern in ("incast", "outcast", "all_to_all") else 1
    bound = peers * messages * max(1, size * PS // rate) + latency
    if ran.code == 0:
        at_least(f"traffic {pattern}", ran.json()["simulated_time_ps"], bound)
    if spread == "0 s" and latency <= LATENCY_MAX_PS:
        check_refusal(ran, 8 * (bound + messages * peers * ceil_div(size, payload)
                                * (2 * latency + PS // rate + 10**7)))


def astra(case):
    random = case.random
    peak = random.choice(["1e-6", "0.001", "1", "900", "1e6"])
    rate = random.choice(["1e-6", "0.001", "1", "50", "1e6"])
    operations = random.choice([0, 1, 10**9, 10**18, 2**62, 2**63 - 1])
    size, tensor = random.choice([1, *BYTES, 10**18]), random.choice([1, *BYTES, 10**18])
    latency, delay = random.choice([0, 1, 500, 10**9, 10**15]), random.choice([0, 10, 10**12])
    nodes = [(valid.COMPUTE, {"is_cpu_op": False, "num_ops": operations, "tensor_size": tensor}),
             (valid.COLLECTIVE, {"is_cpu_op": False, "comm_type": random.choice([0, 2, 6, 7]),
                                 "comm_size": size})] * random.choice([1, 2, 20])
    system = (valid.ASTRA_SYSTEM.replace('"peak-perf": 900', f'"peak-perf": {peak}')
              .replace('"endpoint-delay": 10', f'"endpoint-delay": {delay}'))
    network = (valid.ASTRA_NETWORK.replace("50.0", rate).replace("500.0", f"{latency}.0"))
    for name, content in valid.astra_set_up(nodes, 4, system, network).items():
        case.write(name, content)
    backend = random.choice(["congestion-unaware", "congestion-aware"])
    ran = run(case, "astra", f"--network-backend={backend}", "--workload-configuration=trace",
                   "--system-configuration=system.json", "--network-configuration=network.yml",
                   "--remote-memory-configuration=memory.json", *case.time_limit("astra"))
    # In cycles of 1 ns: operations at peak-perf TFLOP/s; a rank's bytes, in four
    # chunks, in four parts, to three others at once, at units of 2^30 B/s.
    times = len(nodes) // 2
    bound = times * (int(Fraction(operations, 1000) / Fraction(peak) * (1 - Fraction(1, 10**9)))
                     + int(Fraction(size // 64 * 10**9, 2**30) / Fraction(rate)
                           * (1 - Fraction(1, 10**9))))
    if ran.code == 0:
        cycles = [int(line.split(",")[1].split()[0]) for line in ran.out.splitlines()
                  if line.startswith("sys[0] finished")]
        if len(cycles) != 1:
            raise Failure("astra: no line for rank 0")
        at_least(f"astra {backend}", cycles[0], bound)


def goal(case):
    random = case.random
    figures = {name: random.choice(["0", "1", "1500", "1e9", "1000000000", "9223372036854775807"])
               for name in "LogS"}
    figures |= {name: random.choice(["0", "0.000001", "0.04", "6", "1000000", "9000000000"])
                for name in "GO"}
    size = random.choice([1, 8, 2**31 - 1, 2**32, 10**12, 2**62])
    work = random.choice([0, 1, 10**9, 2**31 - 1, 10**15, 2**62])
    count = random.choice([1, 3, 100])
    case.write("s.goal", f"num_ranks 2\nrank 0 {{\n{f'calc {work}' + chr(10)}"
               + f"send {size}b to 1 tag 1\n" * count + "}\nrank 1 {\n"
               + f"recv {size}b from 0 tag 1\n" * count + "}\n")
    ran = run(case, "goal", "s.goal", "--threads", "1", "--json",
                   *[f"--{name}={value}" for name, value in figures.items()],
                   *case.time_limit("goal"))
    bound = max(work, int((size - 1) * Fraction(figures["O"])) * count,
                int((size - 1) * Fraction(figures["G"])) * (count - 1))
    if ran.code == 0:
        at_least("goal", int(ran.json()["finish_max_ns"]), bound)


def phold(case):
    random = case.random
    end = random.choice(["1e-6", "1", "1000", "9e12", "9.1e12", "1e308", "nan", "inf", "-1"])
    start = random.choice([0, 0, 1]) if end in ("1e-6", "1", "1000") else 0
    lps = random.choice([1, 2, 1000] if start else [1, 2, 1000, 2**20])
    window = random.choice([[], ["--window", "1 ps"], ["--window", "9000000 s"],
                            ["--window", "10000000 s"]])
    ran = run(case, "phold", "--lps", lps, "--start-events", start, "--remote",
                   random.choice(["0", "0.5", "1", "nan", "-0.0"]), "--end", end, "--threads", "1",
                   "--json", *window)
    if ran.code == 0 and "nan" in ran.command:
        raise Failure("phold: NaN passed")
    if ran.code == 0 and start > 0 and end == "1000" and ran.json()["committed_events"] < lps:
        raise Failure("phold: too few events")
    if ran.code == 0 and not 0 <= ran.json()["engine"]["last_event_ps"] <= float(end) * 10**6:
        raise Failure("phold: an event after the end")


def bisection(case):
    random = case.random
    rate = random.choice([1, 10**9, 2**62, 2**63 - 1])
    case.write("fabric.yaml", valid.topology_fabric(
        "kind: fully_connected\n  "
        f"link: {{bandwidth: {rate} B/s, latency: 1 ns}}\n  endpoint_latency: 1 us\n"))
    case.write("study.yaml", "study: t\ndevices: 8\nfabric: fabric.yaml\ntraffic: {pattern: "
               "permutation}\n")
    ran = run(case, "topology", "show", "study.yaml", "--json")
    if ran.code == 0 and ran.json()["bisection_bytes_per_s"] < rate:
        raise Failure(f"topology: bisection below one link's rate\n  "
                      f"{ran.json()['bisection_bytes_per_s']}")


FAMILIES = [communication, communication, communication, computation, traffic, traffic, astra,
            astra, goal, phold, bisection]


def try_case(case):
    case.random.choice(FAMILIES)(case)


if __name__ == "__main__":
    campaign.main("overflow_grid", __doc__, try_case, cases=300)
