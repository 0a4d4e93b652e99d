#!/usr/bin/env python3
"""stablehlo_golden.py EXAWARP FOLDER: imports every module that FOLDER/expected.json knows and
compares operations, FLOPs and bytes, in all and by operation, with what stands there."""
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile

LINE = re.compile(r"  (\S+) +(\d+) +([\d,]+) FLOPs +([\d,]+) bytes")


def number(text):
    return int(text.replace(",", ""))


def module_text(folder, name):
    plain = folder / (name + ".mlir")
    return plain.read_bytes() if plain.exists() else gzip.open(f"{plain}.gz").read()


def imported(exawarp, scratch, name, extra=()):
    """Operations, and (count, FLOPs, bytes) by operation, of a module in the scratch folder."""
    command = [exawarp, "workload", "import", "stablehlo", str(scratch / "module.mlir"),
               "-o", str(scratch / "module.xwg"), *extra]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    by_name = {m[1]: (int(m[2]), number(m[3]), number(m[4])) for m in LINE.finditer(out)}
    return number(re.search(r"\n([\d,]+) operations", out)[1]), by_name, out


def check(exawarp, folder, scratch, name, expected):
    (scratch / "module.mlir").write_bytes(module_text(folder, name))
    operations, by_name, _ = imported(exawarp, scratch, name)
    total, per_op = expected["total"], expected["per_op"]
    wrong = []
    if operations != total["ops"]:
        wrong.append(f"{operations} operations, expected {total['ops']}")
    for op, want in per_op.items():
        flops = want["flops"]
        if op == "all_reduce" or (flops == 0 and want["bytes"] == 0):
            continue
        if op == "convolution":
            flops = total["conv_flops_correct"]
        if by_name.get(op) != (want["n"], flops, want["bytes"]):
            wrong.append(f"{op}: {by_name.get(op)}, expected {want['n'], flops, want['bytes']}")
    if set(by_name) - set(per_op):
        wrong.append(f"unexpected operations {set(by_name) - set(per_op)}")
    if sum(v[2] for v in by_name.values()) != total["bytes"]:
        wrong.append(f"bytes, expected {total['bytes']}")
    return [f"{name}: {line}" for line in wrong]


# Milliseconds of a ResNet-50 training step on the A100 system, network "message" (4 devices) or
# "analytical": docs/guide/stablehlo.md has them beside what was measured.
STEPS = {(4, True): 116.9, (4, False): 443.9, (256, True): 756.0, (256, False): 1081.8}


def check_steps(exawarp, scratch):
    """The module in the scratch folder: its step with and without fusion, on 4 and 256 devices."""
    root = pathlib.Path(__file__).resolve().parents[2]
    study = scratch / "study.yaml"
    study.write_text("study: resnet\nworkload: module.xwg\n"
                     f"system: {root}/configs/systems/a100_hgx_hdr200.yaml\n")
    wrong = []
    for (devices, fused), expected in STEPS.items():
        imported(exawarp, scratch, "resnet",
                 ["--mesh", f"data={devices}"] + ([] if fused else ["--no-fusion"]))
        network = "message" if devices == 4 else "analytical"
        out = subprocess.run([exawarp, "run", str(study), "--json", "--set",
                              f"network.fidelity={network}"],
                             check=True, capture_output=True, text=True).stdout
        step = json.loads(out)["simulated_time_ps"] / 1e9
        if abs(step - expected) > 0.01 * expected:
            wrong.append(f"ResNet-50 on {devices}, fused {fused}: {step} ms, expected {expected}")
    return wrong


def main():
    exawarp, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    table = json.loads((folder / "expected.json").read_text())
    wrong = []
    with tempfile.TemporaryDirectory() as scratch_name:
        scratch = pathlib.Path(scratch_name)
        modules = {key.split("@")[0]: value for key, value in table.items()}
        for name, expected in modules.items():
            wrong += check(exawarp, folder, scratch, name, expected)
        # The training step grows from 4 devices to 256.
        (scratch / "module.mlir").write_bytes(
            module_text(folder, "resnet_50_train_step_4_devices_1024_batch"))
        _, _, out = imported(exawarp, scratch, "resnet", ["--mesh", "data=256"])
        if "256 devices, 1 programs" not in out or "375 of them between devices" not in out:
            wrong.append(f"ResNet-50 on 256 devices: {out.splitlines()[:3]}")
        wrong += check_steps(exawarp, scratch)
    print("\n".join(wrong) if wrong else f"{len(modules)} modules agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
