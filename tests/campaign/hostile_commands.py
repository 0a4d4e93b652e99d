#!/usr/bin/env python3
"""A table of commands that a careless user, an attacker or a sick machine would run.

usage: hostile_commands.py BINARY [--case N] [--keep DIR]

Each is a line of shell, in a folder with small inputs, with the exit codes it may have and a
pattern for what it prints; `$E` is the program, `$ROOT` this repository. The table is printed with
what came out. Commands that need root are left out for other users.
"""
import dataclasses
import os
import re

import campaign
import valid_inputs as valid
from campaign import Failure

TIMEOUT_S = 30


@dataclasses.dataclass
class Command:
    """`says`: what standard output and error have to match together; `never`: what not."""
    topic: str
    shell: str
    codes: tuple
    says: str = ""
    never: str = r"check failed|terminate called|internal fault|\x1b"
    root: bool = False


RUN = "$E run study.yaml --threads 1 --out out --quiet"
SLOW = ("--set workload.microbenchmark.bytes='1000 GB' "
        "--set system.fabric.node.bandwidth='100 KB/s'")
PING = ("$E run ping.yaml --threads 1 --out out --json " + SLOW
        + " --set network.fidelity=")
PHOLD = "$E phold --lps 16 --start-events 1 --remote 0.5 --end 10"
ASTRA = ("$E astra --workload-configuration=trace --system-configuration=system.json "
         "--network-configuration=network.yml --remote-memory-configuration=memory.json")
MPI = "$ROOT/scripts/mpirun -n 1 "
EACH_WORD = """python3 - <<'END'
import os, subprocess, sys
graph = open('a.xwg', 'rb').read()
for at in range(0, len(graph) - 3, 4):
    open('m.xwg', 'wb').write(graph[:at] + b'\\3\\0\\0\\0' + graph[at + 4:])
    run = lambda *words: subprocess.run([os.environ['E'], 'workload', *words], capture_output=True)
    if run('validate', 'm.xwg').returncode == 0:
        code = run('export', 'json', 'm.xwg', '-o', 't').returncode
        if code not in (0, 2):
            sys.exit(f'word {at}: valid, and export ends with {code}')
END"""


def sweep(limits, command):
    """The command under address spaces from too small to enough (KiB): done, or out of memory."""
    return (f"for v in $(seq {limits}); do (ulimit -v $v; {command} >log 2>&1); c=$?; "
            'case $c in 0|4) ;; *) echo "ulimit -v $v: $c"; head -c 300 log; exit 9;; esac; done')


COMMANDS = [
    Command("time past 106 days", PING + "analytical", (2,)),
    Command("time past 106 days", PING + "message", (2,)),
    Command("time past 106 days", PING + "packet", (2,)),
    Command("time past 106 days", "$E traffic traffic.yaml --threads 1 --set 'traffic.size=1 GiB' "
            "--set 'packet.packet_size=16 MiB' --set "
            "'fabric.topology.link={bandwidth: 10 B/s, latency: 1 us}'", (2,)),
    Command("time past 106 days", ASTRA, (2,), "trace|network|system"),
    Command("what validates can be exported", EACH_WORD, (0,)),
    Command("no thread", f"ulimit -v 50000; {PHOLD} --threads 8", (0, 4)),
    Command("no thread", sweep("46000 250 56000", f"timeout 5 {PHOLD} --threads 2"), (0,)),
    Command("no thread", "d=$(mktemp -d); chmod 755 $d; cp $E $d/e; cd $d; timeout 10 setpriv "
            "--reuid=65534 --regid=65534 --clear-groups prlimit --nproc=2 ./e phold --lps 16 "
            "--start-events 1 --remote 0.5 --end 10 --threads 16; c=$?; rm -r $d; exit $c",
            (4,), root=True),
    Command("schedules in memory", "ulimit -v 1048576; $E goal calcs.goal --threads 1", (0,)),
    Command("schedules in memory", "ulimit -v 262144; $E goal all.goal --threads 1", (0,)),
    *[Command("devices stay", f"mknod null c 1 3 && {command} >/dev/null && test -c null", (0,),
              root=True) for command in (
        f"{RUN} --stats null", f"{PHOLD} --threads 1 --stats null",
        "$E run packets.yaml --threads 1 --out out --counters null",
        "$E workload generate workload.yaml -o null", "$E workload export dot a.xwg -o null",
        "$E workload import goal s.goal -o null")],
    Command("two requirements", "$E goal two.goal --threads 1 --json", (0,),
            r'"finish_max_ns": 110\b'),
    Command("two requirements", "sed 's/100/x/; s/50/100/; s/x/50/' two.goal >t.goal; "
            "$E goal t.goal --threads 1 --json", (0,), r'"finish_max_ns": 110\b'),
    Command("ranks differ", f"{MPI} {RUN} : -n 1 {RUN} --seed 2", (2,), "seed.*rank|rank.*seed"),
    Command("ranks differ", f"timeout 10 {MPI} {RUN} --compare-alone : -n 1 {RUN}", (2,),
            "compare"),
    Command("ranks differ", f"timeout 10 {MPI} env EXAWARP_EXCHANGE=messages {RUN} : -n 1 {RUN}",
            (2,), "(?i)exchange"),
    Command("many partitions", "ulimit -v 2097152; $E run ping.yaml --threads 1 --out out --set "
            "placement.partitions_per_rank=8000", (0,)),
    Command("no room", "echo old >t.json; ulimit -f 1; $E workload convert t.0.et -o t.json; c=$?; "
            "test \"$(cat t.json)\" = old && exit $c", (4,), "t.json"),
    Command("no room", "$E workload export dot a.xwg -o /dev/stdout >/dev/full", (4,)),
    Command("standard output", "$E run study.yaml --threads 1 --out out --stats s.csv >&-; c=$?; "
            "test ! -e s.csv || head -1 s.csv | grep -q scope || exit 9; exit $c", (0, 4)),
    Command("standard output", "$E run study.yaml --threads 1 --out out --json >/dev/full", (4,),
            "output"),
    Command("standard output", "$E workload inspect a.xwg >/dev/full", (4,)),
    Command("standard output", f"{PHOLD} --threads 1 >/dev/full", (4,)),
    Command("standard output", "$E workload validate none.xwg 2>&-", (2,)),
    Command("out of memory", sweep("46000 500 54000", "$E workload generate "
                                   "$ROOT/benchmarks/workloads/llama3_405b_16k_1f1b.yaml -o b.xwg"), (0,)),
    Command("out of memory", sweep("46000 500 54000", "$E topology show "
                                   "$ROOT/benchmarks/studies/llama3_405b_131k_1f1b.yaml"), (0,)),
    Command("out of memory", sweep("44000 500 52000", "$E run $ROOT/configs/studies/"
                                   "llama2_7b_8.yaml --threads 1 --out out"), (0,)),
    *[Command("a pipe as input", f"mkfifo pipe; timeout 5 {command}", (2,), "pipe")
      for command in ("$E run pipe", "$E goal pipe", "$E traffic pipe", "$E workload validate pipe",
                      "$E workload generate pipe -o o.xwg", "$E topology show pipe",
                      "$E workload import stablehlo pipe -o o.xwg",
                      "$E workload import text pipe --ranks 8 -o o.xwg",
                      "$E workload import pytorch pipe -o o.xwg")],
    Command("a device as input", "timeout 5 $E run /dev/zero", (2,), "/dev/zero"),
    Command("standard input", "$E goal - --threads 1 <s.goal", (0,)),
    Command("standard input", "cat workload.yaml | $E workload generate - -o o.xwg", (0,)),
    Command("long loops", "ulimit -t 10; sed 's/dense<3>/dense<40000>/' loop.mlir >l.mlir; "
            "$E workload import stablehlo l.mlir -o o.xwg", (0,)),
    Command("long loops", "ulimit -t 20; sed 's/dense<3>/dense<1000000>/' loop.mlir >l.mlir; "
            "$E workload import stablehlo l.mlir -o o.xwg", (0, 2, 4)),
    Command("a file shrinks", "sed 's/layers: 4/layers: 16/; s/sequences: 8/sequences: 64/' "
            "workload.yaml >big.yaml; echo '  steps: 20' >>big.yaml; $E workload generate big.yaml "
            "-o a.xwg; $E run graph.yaml --threads 1 --quiet --out out & sleep 0.1; truncate -s "
            "4096 a.xwg; wait $!", (0, 2, 4)),
    Command("no shared memory", "unshare -m sh -c 'mount -t tmpfs -o size=1m tmpfs /dev/shm && "
            f"{MPI} {PHOLD} --threads 1 : -n 1 {PHOLD} --threads 1'", (0, 4), root=True),
    *[Command("no number", command, (2,)) for command in (
        f"{PHOLD.replace('0.5', 'nan')} --threads 1", f"{PHOLD.replace('10', 'nan')} --threads 1",
        f"{PHOLD} --audit nan", f"{RUN} --time-limit nan", f"{RUN} --seed -1",
        f"{RUN} --seed 18446744073709551616", f"{PHOLD} --seed -1",
        f"{ASTRA.replace('trace', 'short')} --injection-scale=nan")],
    Command("paths are checked first", "$E run packets.yaml --threads 1 --out out "
            "--counters study.yaml/n.csv; c=$?; test ! -e out/summary.json && exit $c", (2, 4),
            "study.yaml"),
    Command("errors name the file", "$E run study.yaml --threads 1 --out out --set "
            "network.fidelity=packet --set network.packet.packet_size='1 GiB'", (2,),
            r"^(study\.yaml|--set)"),
    Command("errors are short", f"{RUN} --threads $(printf x%.0s $(seq 5000))", (2,),
            r"^[^\n]{1,1000}\n$"),
    Command("escape sequences", r"printf 'description: \"\\e[31mred\"\n' >>study.yaml; "
            "$E run study.yaml --threads 1 --out out", (0, 2)),
    Command("time limit", "$E traffic traffic.yaml --threads 1 --set traffic.messages=1000000 "
            "--time-limit 1", (4,)),
    Command("time limit", "$E goal all.goal --threads 1 --time-limit 0.001", (4,)),
    Command("misspelt", f"EXAWARP_EXCHANGE=mesages {RUN}", (2,), "EXAWARP_EXCHANGE"),
    Command("required keys", "echo 'name: f' >fabric.yaml; $E run study.yaml", (2,),
            "node.*(scale_out|topology)"),
    Command("required keys", "echo 'name: a' >accelerator.yaml; $E run study.yaml", (2,),
            "matrix_rate.*vector_rate.*memory_bandwidth"),
    Command("a name is for the reader", "sed -i '/name: fabric/d; /name: inside/d; /name: "
            f"across/d' fabric.yaml; {RUN}", (0,)),
    Command("which command", "$E run traffic.yaml", (2,), "exawarp traffic"),
    Command("no folder", "$E workload export chakra a.xwg -o no/such/t", (2, 4),
            "no/such.*(folder|directory)"),
    Command("slow devices", f"{RUN} --set 'faults.slow_devices=[{{share: 0.5, factor: 2}}]'", (0,)),
]


def files():
    out = valid.study()
    ping = valid.study(specification="microbenchmark: {kind: ping_pong, devices: 2, bytes: 1 MB}\n")
    out["ping.yaml"] = ping["study.yaml"].replace("workload.yaml", "pong.yaml")
    out["pong.yaml"] = ping["workload.yaml"]
    out["packets.yaml"] = out["study.yaml"] + "network: {fidelity: packet}\n"
    out["graph.yaml"] = out["study.yaml"].replace("workload.yaml", "a.xwg")
    out["traffic.yaml"] = ("study: traffic\ndevices: 8\nfabric: direct.yaml\ntraffic: {pattern: "
                           "permutation, size: 64 KiB}\n")
    out["direct.yaml"] = valid.topology_fabric(valid.TOPOLOGIES[0])
    out["loop.mlir"] = valid.STABLEHLO_LOOP
    out["s.goal"] = valid.GOAL.replace("irequires", "requires")
    out["two.goal"] = ("num_ranks 1\nrank 0 {\na: calc 100 cpu 0\nb: calc 50 cpu 1\n"
                       "c: calc 10 cpu 2\nc requires a\nc requires b\n}\n")
    far = [(valid.COMPUTE, {"is_cpu_op": False, "num_ops": 10**18, "tensor_size": 8})]
    near = [(valid.COMPUTE, {"is_cpu_op": False, "num_ops": 1000, "tensor_size": 8})]
    system = valid.ASTRA_SYSTEM.replace('"peak-perf": 900', '"peak-perf": 1e-6')
    out |= valid.astra_set_up(far, system=system)
    out |= {name.replace("trace", "short"): content for name, content
            in valid.astra_set_up(near).items() if name.endswith(".et")}
    out["t.0.et"] = valid.trace(near * 1000)
    return out


def large_schedules():
    """Everything at once: of one rank, and between all ranks."""
    ranks = 256
    return {"calcs.goal": "num_ranks 1\nrank 0 {\n" + "calc 10\n" * 10_000 + "}\n",
            "all.goal": f"num_ranks {ranks}\n" + "".join(
                f"rank {rank} {{\n"
                + "".join(f"send 8b to {peer} tag 1\nrecv 8b from {peer} tag 1\n"
                          for peer in range(ranks) if peer != rank) + "}\n"
                for rank in range(ranks))}


def try_case(case):
    command = COMMANDS[case.number]
    if command.root and os.geteuid() != 0:
        return
    for name, content in {**files(), **(large_schedules() if "goal" in command.shell
                                        else {})}.items():
        case.write(name, content)
    case.run("workload", "generate", "workload.yaml", "-o", "a.xwg", allowed={0})
    if "m.xwg" in command.shell:  # every word of a small one
        case.write("one.yaml", "microbenchmark: {kind: compute, flops: 1000, devices: 2}\n")
        case.run("workload", "generate", "one.yaml", "-o", "a.xwg", allowed={0})
    ran = case.run_unchecked("/bin/bash", "-c", command.shell, address_space=None,
                             timeout_s=TIMEOUT_S,
                             env={"E": case.binary, "ROOT": str(campaign.ROOT)})
    said = ran.out + ran.err
    code = "hang" if ran.timed_out or ran.code == 124 else ran.code
    right = (code in command.codes and re.search(command.says, said, re.MULTILINE) is not None
             and not re.search(command.never, said))
    expected = " or ".join(map(str, command.codes))
    print(f"{case.number:3} {'ok    ' if right else 'FAILED'} {ran.seconds:5.1f} s  "
          f"{code} (expected {expected})  {command.topic}: {campaign.shorten(command.shell, 150)}",
          flush=True)
    if not right:
        what = f"exit code {code}" if code not in command.codes else "says something else"
        raise Failure(f"{command.topic} ({case.number}): {what}\n  expected {expected}, "
                      f"/{command.says}/\n  {campaign.shorten(said)}")


if __name__ == "__main__":
    campaign.main("hostile_commands", __doc__, try_case, cases=len(COMMANDS),
                  total=len(COMMANDS))
