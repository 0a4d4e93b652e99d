"""Studies, and runs of them."""
from __future__ import annotations

import json
import os
import pathlib
import re
from typing import Any, Dict, List, Mapping, Optional, Union

from ._program import Folder, Progress, execute
from ._results import Result, Summary
from .errors import Error

_PLAIN = re.compile(r"[\w./%+-][\w./%+ -]*")
_FILES = (".yaml", ".yml", ".xwg", ".json", ".csv", ".et")
_ELSEWHERE = re.compile(r"these go to (.+) \(--force")


def value_text(value: Any) -> str:
    """A value as `--set` takes it."""
    if isinstance(value, str) and (_PLAIN.fullmatch(value) or not value):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return json.dumps(value)


def set_options(overrides: Optional[Mapping[str, Any]]) -> List[str]:
    """`--set` for each key."""
    out: List[str] = []
    for key, value in (overrides or {}).items():
        out += ["--set", f"{key}={value_text(value)}"]
    return out


def _with_paths(value: Any, base: pathlib.Path) -> Any:
    """Files that there are below `base` by their whole path: what is written has its own place."""
    if isinstance(value, Mapping):
        return {str(key): _with_paths(entry, base) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_paths(entry, base) for entry in value]
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str) and value.endswith(_FILES) and (base / value).is_file():
        return str((base / value).resolve())
    return value


class Study:
    """A configuration file, or one made from a dictionary with the same keys.

    source: a path, the name of a file in the program's configs, or a dictionary. Files that a
    dictionary names are looked for from the working directory and among the configs.
    """

    def __init__(self, source: Union[str, os.PathLike, Mapping[str, Any], "Study"]) -> None:
        self._keep: Any = None
        if isinstance(source, Study):
            self.file, self._keep = source.file, source._keep
        elif isinstance(source, Mapping):
            self._keep = Folder()
            path = self._keep.path / "study.yaml"
            # JSON is YAML.
            path.write_text(json.dumps(_with_paths(source, pathlib.Path.cwd()), indent=2) + "\n")
            self.file = str(path)
        else:
            self.file = os.fspath(source)  #: what the program is given

    def __repr__(self) -> str:
        return f"Study({self.file!r})"


AnyStudy = Union[str, os.PathLike, Mapping[str, Any], Study]


def _timeline_options(timeline: Any, folder: pathlib.Path) -> tuple[Optional[pathlib.Path],
                                                                    List[str]]:
    if timeline is None or timeline is False:
        return None, []
    if timeline is True:
        timeline = {}
    if not isinstance(timeline, Mapping):
        timeline = {"file": timeline}
    unknown = set(timeline) - {"file", "devices", "start", "until", "slices"}
    if unknown:
        raise TypeError(f"timeline: {sorted(unknown)[0]!r} is not known; expected file, devices, "
                        "start, until or slices")
    path = pathlib.Path(timeline.get("file", folder / "timeline.pftrace"))
    out = ["--timeline", str(path)]
    for key, option in (("devices", "devices"), ("start", "from"), ("until", "until"),
                        ("slices", "slices")):
        if key in timeline:
            value = timeline[key]
            if key == "devices" and not isinstance(value, (str, int)):
                value = ",".join(str(device) for device in value)
            out += [f"--timeline-{option}", str(value)]
    return path, out


def run(study: AnyStudy, overrides: Optional[Mapping[str, Any]] = None, *,
        out: Union[None, str, os.PathLike] = None, ranks: int = 1, threads: Optional[int] = None,
        progress: Progress = True, timeline: Union[None, bool, str, os.PathLike,
                                                   Mapping[str, Any]] = None,
        seed: Optional[int] = None, sync: Optional[str] = None,
        time_limit_s: Optional[float] = None, ignore_memory: bool = False,
        options: Optional[List[str]] = None) -> Result:
    """Simulates a study, and waits for it.

    study:      a path, a name such as "llama2_7b_8", a dictionary or a Study.
    overrides:  keys that are replaced, {"workload.transformer.parallel.tensor": 4}.
    out:        directory of the results; without, they are kept as long as the Result is.
    ranks:      MPI processes on this machine.
    threads:    of each; without, every core.
    progress:   True: a line that is overwritten. A function is called with each line.
    timeline:   True, a file to write, or {"devices": "0,8-15", "start": "5 ms", "until": "9 ms",
                "slices": 100000, "file": ...}; then Result.timeline() has it.
    sync:       "sequential", "conservative" or "optimistic".
    options:    further words of the command line, ["--steady-step"].

    Raises InputError, DeadlockError, ResourceError or InternalError; the second and third have the
    result so far, where there is any.
    """
    given = Study(study)
    keep = Folder()
    folder = keep.path
    directory = pathlib.Path(out) if out is not None else folder / "results"
    trace, words = _timeline_options(timeline, folder)
    words += set_options(overrides)
    for option, value in (("--threads", threads), ("--seed", seed), ("--sync", sync),
                          ("--time-limit", time_limit_s)):
        if value is not None:
            words += [option, str(value)]
    if ignore_memory:
        words.append("--ignore-memory")

    def result(stdout: str, notes: str) -> Result:
        elsewhere = _ELSEWHERE.search(notes)
        place = pathlib.Path(elsewhere[1]) if elsewhere else directory
        return Result(place, json.loads(stdout), timeline=trace, keep=keep, notes=notes)

    command = ["run", given.file, "--json", "--out", str(directory), *words, *(options or [])]
    try:
        done = execute(command, ranks=ranks, progress=progress)
    except Error as failure:
        stdout = getattr(failure, "stdout", "")
        if stdout.startswith("{"):
            failure.result = result(stdout, failure.stderr)
        raise
    return result(done.stdout, done.stderr)


def topology(study: AnyStudy, overrides: Optional[Mapping[str, Any]] = None, *,
             picture: Union[None, str, os.PathLike] = None) -> Summary:
    """The network of a study: devices, switches, links by kind, paths, bisection.

    picture: a file, NAME.svg or NAME.dot, that is drawn as well.
    """
    given = Study(study)
    words = ["topology", "show", given.file, *set_options(overrides)]
    if picture is not None:
        execute([*words, "--output", os.fspath(picture)])
    entries: Dict[str, Any] = json.loads(execute([*words, "--json"]).stdout)
    return Summary(entries)
