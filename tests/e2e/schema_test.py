#!/usr/bin/env python3
"""The schema of keys against the program and the shipped files.

  schema_test.py EXAWARP SOURCES

- every file of configs/ is right by the JSON Schema of its kind;
- docs/reference/keys.md is what the program prints, and names each key of each kind;
- a key that is spoiled (misspelt, of the wrong type, absent though required) is refused by schema
  and program alike;
- a study that writes all defaults out has the digest of one that leaves them out.
"""

import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import jsonschema
import yaml

EXAWARP, SOURCES = sys.argv[1], pathlib.Path(sys.argv[2])
CONFIGS = SOURCES / "configs"
FOLDERS = {"studies": "study", "sweeps": "sweep", "searches": "search", "traffic": "traffic", "workloads": "workload", "models": "model",
           "systems": "system", "accelerators": "accelerator", "fabrics": "fabric",
           "collectives": "collectives", "calibrations": "calibration"}
FAILURES = []


def check(right, text):
    if not right:
        FAILURES.append(text)


def schema_of(kind):
    text = subprocess.run([EXAWARP, "schema", kind], check=True, capture_output=True).stdout
    schema = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


SCHEMAS = {kind: schema_of(kind) for kind in FOLDERS.values()}
VALIDATORS = {kind: jsonschema.Draft202012Validator(s) for kind, s in SCHEMAS.items()}


def load(path):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def error_of(kind, document):
    return next((error.message for error in VALIDATORS[kind].iter_errors(document)), None)


def shipped_files_are_right():
    count = 0
    for folder, kind in FOLDERS.items():
        for path in sorted((CONFIGS / folder).glob("*.yaml")):
            error = error_of(kind, load(path))
            check(error is None, f"{path}: {str(error)[:300]}")
            count += 1
    check(count > 80, f"only {count} files in {CONFIGS}")


def reference_is_what_is_printed():
    printed = subprocess.run([EXAWARP, "schema", "--reference"], check=True,
                             capture_output=True).stdout.decode()
    page = (SOURCES / "docs/reference/keys.md").read_text(encoding="utf-8")
    check(page == printed, "docs/reference/keys.md: expected what `exawarp schema --reference` "
                           "prints")
    for kind, schema in SCHEMAS.items():
        for name, definition in schema["$defs"].items():
            section = re.search(rf"^### {re.escape(name)}\n(.*?)(?=^##|\Z)", page, re.M | re.S)
            check(section is not None, f"keys.md has no section {name}")
            for key in definition.get("properties", {}) if section else ():
                check(f"| `{key}` |" in section[1], f"keys.md: {name} lacks {key}")


def whole(path):
    """The document at `path`, files that it names in place."""
    def expand(value, directory):
        if isinstance(value, dict):
            return {key: expand(item, directory) for key, item in value.items()}
        if isinstance(value, str) and value.endswith(".yaml"):
            return whole(directory / value)
        if isinstance(value, str) and value.startswith("../"):
            return str((directory / value).resolve())  # a folder: of kernel tables
        return value
    return expand(load(path), path.parent)


def run(document, directory, *arguments, command="run"):
    """Exit code, summary or error line."""
    path = pathlib.Path(directory) / "study.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    extra = ["--out", str(pathlib.Path(directory) / "out")] if command == "run" else []
    done = subprocess.run([EXAWARP, command, str(path), "--json", *extra, *arguments],
                          capture_output=True, text=True)
    return done.returncode, done.stdout if done.returncode == 0 else done.stderr


SMALL = CONFIGS / "studies/all_reduce_8_h100.yaml"

RAILS = {"devices": 4, "kind": "rail_optimised", "radix": 4, "endpoint_latency": "1 us",
         "switch_latency": "1 us", "link": {"bandwidth": "50 GB/s", "latency": "1 us"}}


def product_with(key, value):
    """A product of two networks, one of them with this key, too."""
    return {"topology": {"kind": "product", "dimensions": {"a": RAILS, "b": RAILS | {key: value}}}}


# Paths into a study, what is put there (None: taken away), each wrong in its own way.
SPOILED = [
    (["zebra"], 1), (["seed"], "many"), (["seed"], -1), (["study"], None), (["system"], None),
    (["system", "zebra"], 1), (["system", "accelerator", "vector_rate"], "66.9 TB/s"),
    (["system", "accelerator", "matrix_rate", "bf17"], "1 TFLOP/s"),
    (["system", "accelerator", "efficiency", "other", "compute"], 0),
    (["system", "accelerator", "memory_capacity"], None),
    (["system", "fabric", "node", "devices"], 0),
    (["system", "fabric", "node", "latency"], "3 parsecs"),
    (["system", "fabric", "scale_out", "link_latency"], None),
    (["system", "fabric"], product_with("cross_rail", "nvlink")),
    (["system", "fabric"], product_with("spines_per_pod", 1)),
    (["system", "fabric"], product_with("kind", "rail_only")),
    (["workload", "microbenchmark", "kind"], "colective"),
    (["workload", "microbenchmark", "kind"], "ping_pong"),  # which has no `collective`
    (["workload", "microbenchmark", "bytes"], None),
    (["workload", "microbenchmark", "flops"], 3),
    (["jobs"], []), (["devices"], "8 or so"),
    (["network"], {"fidelity": "rumour"}), (["network"], {"packet": {"ack_every": 4096}}),
    (["network"], {"packet": {"buffer": 7}}), (["network"], {"latency_jitter": {}}),
    (["compute"], {"jitter": 0.9}), (["engine"], {"sync": "hopeful"}),
    (["engine"], {"audit": 1.5}), (["placement"], {"partitions_per_rank": 0}),
    (["faults"], {"slow_devices": [{"devices": [0], "share": 0.5, "factor": 2}]}),
    (["faults"], {"slow_links": [{"links": ["d0 s0"]}]}),
    (["background"], [{"pattern": "uniform"}]),
    (["background"], [{"pattern": "uniform", "load": 0.1, "hot_share": 0.5}]),
    (["collectives"], {"rules": [{"type": "all_reduce"}]}),
    (["collectives"], {"rules": [{"algorithm": "ring", "type": "all_red"}]}),
    (["collectives"], {"rules": [{"algorithm": "ring", "step": {"nod": "1 us"}}]}),
    (["collectives"], {"rules": [{"algorithm": "ring", "payload": 2}]}),
    (["job_placement"], {"kind": "scattered"}), (["job_placement"], {"first": -1}),
    (["job_placement"], {"kind": "nodes", "order": "by_name"}),
    (["counters"], {"buckets": 1}), (["counters"], {"bucket": "1 kB"}),
    (["power"], {"bins": 1}), (["power"], {"bin": "1 kB"}), (["power"], {"devices": [-1]}),
    (["point_to_point"], {"eager_max": 12}),
]


def put(document, path, value):
    for key in path[:-1]:
        document = document[key]
    if value is None:
        del document[path[-1]]
    else:
        document[path[-1]] = value


def spoiled_keys_are_refused_by_both(directory):
    sound = whole(SMALL)
    check(error_of("study", sound) is None, f"{SMALL}: {error_of('study', sound)}")
    for path, value in SPOILED:
        study = copy.deepcopy(sound)
        put(study, path, value)
        what = f"{'.'.join(path)} = {value}"
        check(error_of("study", study) is not None, f"{what}: the schema takes it")
        code, text = run(study, directory)
        check(code == 2, f"{what}: exit code {code}, {text[:200]}")


def write_defaults(schema, definition, mapping):
    """Puts the defaults of keys that are absent into `mapping` and those below it."""
    for key, value in definition.get("properties", {}).items():
        if key in mapping or "default" not in value:
            continue
        if is_not_for(definition, key, mapping):
            continue
        mapping[key] = value["default"]
    for key, value in mapping.items():
        names = re.findall(r'"#/\$defs/([^"]+)"', json.dumps(definition["properties"].get(key)))
        if isinstance(value, dict) and len(names) == 1:
            write_defaults(schema, schema["$defs"][names[0]], value)


def is_not_for(definition, key, mapping):
    """Whether a condition of `key` fails, or it is one of several of which a mapping has one."""
    for rule in definition.get("allOf", []):
        if key in rule.get("else", {}).get("properties", {}):
            return not jsonschema.Draft202012Validator(rule["if"]).is_valid(mapping)
        if "oneOf" in rule and {"required": [key]} in rule["oneOf"]:
            return True
    return False


def written_defaults_change_nothing(directory):
    schema = SCHEMAS["study"]
    for name, sections, least in (
            ("all_reduce_8_h100", ["network", "compute", "engine", "memory"], 8),
            ("llama2_7b_8", ["network", "compute"], 30)):
        short = whole(CONFIGS / f"studies/{name}.yaml")
        full = copy.deepcopy(short)
        for section in sections:
            full.setdefault(section, {})
        transformer = full["workload"].get("transformer", {})
        for section in ("schedule", "optimizer", "overlap", "routing", "storage"):
            if transformer:
                transformer.setdefault(section, {})
        write_defaults(schema, schema["$defs"]["study"], full)
        check(error_of("study", full) is None, f"{name} in full: {error_of('study', full)}")
        more = len(yaml.safe_dump(full).split("\n")) - len(yaml.safe_dump(short).split("\n"))
        check(more >= least, f"{name}: only {more} defaults")
        results = [run(study, directory) for study in (short, full)]
        check([code for code, _ in results] == [0, 0], f"{name}: {results}"[:1000])
        if results[1][0] == 0:
            digests = {json.loads(text)["digest"] for _, text in results}
            check(len(digests) == 1, f"{name}: written defaults change the digest")


def commands_are_refused_in_one_line():
    for arguments, text in ((["studdy"], '"studdy" is no kind of file'),
                            (["study", "--reference"], "--reference")):
        done = subprocess.run([EXAWARP, "schema", *arguments], capture_output=True, text=True)
        check(done.returncode == 2 and text in done.stderr and done.stderr.count("\n") == 1
              and not done.stdout, f"schema {arguments}: {done}")


def main():
    commands_are_refused_in_one_line()
    shipped_files_are_right()
    reference_is_what_is_printed()
    with tempfile.TemporaryDirectory() as directory:
        spoiled_keys_are_refused_by_both(directory)
        written_defaults_change_nothing(directory)
    for text in FAILURES:
        print(text, file=sys.stderr)
    sys.exit(1 if FAILURES else 0)


main()
