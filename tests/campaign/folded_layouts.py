#!/usr/bin/env python3
"""Random layouts folded against the same with every device simulated.

usage: folded_layouts.py BINARY [--seed N] [--cases N | --seconds S | --case N] [--keep DIR]

A case draws layouts of a small model on 64 to 512 devices, of one of several systems, placed in
order or at random, until one is possible and can be folded. At fidelity analytical every figure of
the folded summary has to be that of the other, whether interfaces are shared or not: step time,
breakdown by class, memory, throughput, energy. At message the order of messages that come in one
picosecond is left open, which moves few steps, but some by a tenth: those may be MESSAGES_APART of
the whole apart.
"""
import json

import campaign
from campaign import Failure
from folded_studies import FOLD_APART
from repetition import differences

SYSTEMS = {"h100_hgx_roce400": None, "a100_hgx_hdr200": None, "h100_leaf_spine_4to1": None,
           "gb200_nvl72_roce400": None, "tpu_v4_64": 64, "h100_dragonfly_64": 64,
           "h100_torus_64": 64}
TRIES = 300
MESSAGES_APART = 0.15
MESSAGES_DEVICES_MAX = 128
TIMEOUT_S = 120


def drawn_model(random, experts):
    heads = random.choice([8, 16, 32])
    model = {"name": "drawn", "layers": random.choice([2, 4, 6, 8, 12, 16]),
             "hidden": 128 * heads, "ffn": 512 * heads, "heads": heads,
             "vocabulary": 32000, "gated_ffn": random.random() < 0.5}
    if random.random() < 0.5:
        model["kv_heads"] = heads // random.choice([1, 2, 4, 8])
    if experts:
        model["moe"] = {"experts": random.choice([8, 16, 64]), "top_k": random.choice([1, 2]),
                        "ffn": 256 * heads}
    if random.random() < 0.3:
        draw_pattern(random, model, experts)
    return model


def draw_pattern(random, model, experts):
    letters = [random.choice("M*-E" if experts else "M*-") for _ in range(model["layers"])]
    if experts:
        letters[0] = "E"
        if random.random() < 0.5:
            model["moe"]["latent"] = model["hidden"] // 4
    model["pattern"] = "".join(letters)
    if "M" in letters:
        model["mamba"] = {"heads": 2 * model["heads"], "head_dim": 64, "groups": 8}
    model["predictions"] = random.choice([0, 0, 1])


def drawn_parallel(random, devices, experts):
    part = {"tensor": random.choice([1, 1, 2, 4, 8]), "context": random.choice([1, 1, 1, 2, 4]),
            "pipeline": random.choice([1, 1, 2, 4, 8])}
    split = part["tensor"] * part["context"] * part["pipeline"]
    if devices % split:
        return None
    part["data"] = devices // split
    part["sharding"] = random.choice(["none", "zero1", "zero1", "zero2", "zero3", "fsdp"])
    if experts:
        part["expert"] = random.choice([1, 2, 4, 8])
        part["expert_tensor"] = random.choice([0, 1])
    if random.random() < 0.3:
        part["sequence_parallel"] = False
    if random.random() < 0.2:
        part["order"] = random.choice([["tensor", "pipeline", "data"], ["data", "tensor",
                                                                        "pipeline"]])
    if part["context"] > 1:
        part["context_method"] = random.choice(["ring", "all_gather", "ulysses"])
    return part


def drawn_study(random):
    """None where it cannot be, as far as that is seen here."""
    system = random.choice(list(SYSTEMS))
    devices = SYSTEMS[system] or random.choice([64, 128, 256, 512])
    experts = random.random() < 0.25
    parallel = drawn_parallel(random, devices, experts)
    if parallel is None:
        return None
    kind = random.choice(["1f1b", "1f1b", "gpipe", "interleaved", "zb_h1", "dualpipe"])
    chunks = random.choice([2, 4]) if kind == "interleaved" else 1
    micro_batches = random.choice([1, 2, 4, 8])
    transformer = {
        "model": drawn_model(random, experts), "parallel": parallel,
        "schedule": {"kind": kind, "virtual_stages": chunks},
        "sequence_length": random.choice([1024, 2048]),
        "global_batch_sequences": parallel["data"] * micro_batches,
        "steps": random.choice([1, 1, 2]),
        "recompute": random.choice(["none", "selective", "experts", "full"]),
        "gradient_buckets": random.choice([1, 3, 4])}
    study = {"study": "drawn", "workload": {"transformer": transformer},
             "system": str(campaign.ROOT / "configs" / "systems" / f"{system}.yaml"),
             "memory": {"ignore": True}}
    if random.random() < 0.3:
        transformer["host"] = {"launch": random.choice(["5 us", "30 us", "200 us"]),
                               "pending": random.choice([1, 7, 1000])}
        transformer["kernels"] = {"separate_experts": random.random() < 0.5}
    if random.random() < 0.25:
        study["job_placement"] = random.choice([
            {"kind": "random"}, {"kind": "nodes", "order": "random"},
            {"kind": "nodes", "ranks": "round_robin"}])
    return study


def summary_of(case, fidelity, fold, shares="false"):
    ran = case.run("run", "study.yaml", "--json", "--force", "--threads", "1", "--set",
                   f"network.fidelity={fidelity}", "--set", f"fold={fold}", "--set",
                   f"network.share_interfaces={shares}", allowed={0, 2}, timeout_s=TIMEOUT_S)
    return ran.json() if ran.code == 0 else None


def compare(folded, whole):
    different = list(differences(folded, whole, FOLD_APART))
    if different:
        raise Failure(f"{different[0].split(':')[0]} differs\n  " + "\n  ".join(different[:4]))


def compare_steps(folded, whole):
    apart = folded["iteration_time_ps"] / whole["iteration_time_ps"] - 1
    if abs(apart) > MESSAGES_APART:
        raise Failure(f"message: the step time differs\n  by {100 * apart:+.2f} %")


def try_case(case):
    for _ in range(TRIES):
        study = drawn_study(case.random)
        if study is None:
            continue
        case.write("study.yaml", json.dumps(study))
        folded = summary_of(case, "analytical", "auto")
        if folded is None or "why_not" in folded["fold"]:
            continue
        compare(folded, summary_of(case, "analytical", "none"))
        compare(summary_of(case, "analytical", "auto", shares="true"),
                summary_of(case, "analytical", "none", shares="true"))
        if folded["fold"]["devices"] > MESSAGES_DEVICES_MAX:
            return
        by_messages = summary_of(case, "message", "replicas")
        if by_messages is not None:
            compare_steps(by_messages, summary_of(case, "message", "none"))
        return
    raise Failure("no layout could be folded")


if __name__ == "__main__":
    campaign.main("folded_layouts", __doc__, try_case, cases=1000)
