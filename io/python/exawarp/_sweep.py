"""Sweeps and searches: many points of a study, in one database."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import sqlite3
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union

from ._frames import frame, table
from ._program import Folder, Progress, execute
from ._results import Result
from ._run import AnyStudy, Study, set_options
from .errors import InputError

_COUNT_MAX = 1 << 20


def _number(text: str) -> Any:
    """A value of a key as the program has it: numbers as numbers, all else as text."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def _measures(by: Union[str, Iterable[str]]) -> str:
    return by if isinstance(by, str) else ",".join(by)


@dataclass(frozen=True)
class Point:
    """One point of a sweep, or one layout of a search.

    values:  of the keys that points differ in.
    figures: tokens_per_s, step_time (s), mfu, tflops (a device), memory (GB), devices, and what
             best() was asked for; none where it has not ended well.
    reason:  why it failed.
    """
    number: int
    state: str
    values: Dict[str, Any]
    figures: Dict[str, float] = field(default_factory=dict)
    digest: Optional[str] = None
    reason: Optional[str] = None
    wall_s: Optional[float] = None
    _database: Optional[pathlib.Path] = field(default=None, repr=False, compare=False)

    def result(self) -> Result:
        """Its whole summary. Raises InputError where it has not ended well."""
        rows = _rows(self._database, "summary", f"WHERE number = {self.number:d}")
        if not rows or not rows[0][0]:
            raise InputError(f"point {self.number}: has no summary; it is {self.state}"
                             + (f": {self.reason}" if self.reason else ""), exit_code=2)
        return Result(None, json.loads(rows[0][0]))


def _rows(database: Optional[pathlib.Path], columns: str, where: str = "") -> List[tuple]:
    if database is None:
        return []
    uri = f"{pathlib.Path(database).resolve().as_uri()}?mode=ro"
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as connection:
            query = f"SELECT {columns} FROM point {where}"
            return connection.execute(query).fetchall()
    except sqlite3.Error as error:
        raise InputError(f"{database}: is no database of a sweep that can be read: {error}",
                         exit_code=2) from error


class Sweep:
    """The points of a database, read when they are asked for."""

    def __init__(self, database: Union[str, os.PathLike], *, keep: Any = None) -> None:
        self.database = pathlib.Path(database)
        self._keep = keep

    @property
    def rows(self) -> List[Point]:
        """All points, in the order of their numbers; failed and pending ones, too."""
        figures = {p.number: p.figures for p in self._points(["--count", str(_COUNT_MAX)])}
        columns = "number, state, key_values, digest, reason, wall_s"
        return [Point(number, state, {k: _number(v) for k, v in json.loads(values).items()},
                      figures.get(number, {}), digest, reason, wall_s, self.database)
                for number, state, values, digest, reason, wall_s in _rows(self.database, columns, "ORDER BY number")]

    def best(self, by: str = "tokens_per_s", count: int = 10) -> List[Point]:
        """The best points, best first.

        by: tokens_per_s, step_time, mfu, tflops, memory, devices, or a path in the summary with
            what is better: "energy.token_j:least".
        """
        return self._points(["--by", by, "--count", str(count)])

    def pareto(self, by: Union[str, Iterable[str]] = "tokens_per_s,memory") -> List[Point]:
        """The points that no other beats in all of these."""
        return self._points(["--pareto", _measures(by), "--count", str(_COUNT_MAX)])

    def failed(self) -> List[Point]:
        """Those that failed, each with its reason."""
        return [point for point in self.rows if point.state == "failed"]

    def to_frame(self):
        """A pandas.DataFrame with a row for each point. Raises ImportError without pandas."""
        return frame([{"number": p.number, "state": p.state, **p.values, **p.figures,
                       "reason": p.reason} for p in self.rows])

    def __iter__(self) -> Iterator[Point]:
        return iter(self.rows)

    def __len__(self) -> int:
        return _rows(self.database, "count(*)")[0][0]

    def __repr__(self) -> str:
        return f"Sweep({str(self.database)!r})"

    def _repr_html_(self) -> str:
        states = _rows(self.database, "state, count(*)", "GROUP BY state")
        caption = ", ".join(f"{count} points {state}" for state, count in states)
        return _table(self.best(), caption)

    def _points(self, options: Sequence[str]) -> List[Point]:
        text = execute(["sweep", "best", str(self.database), "--json", *options]).stdout
        return [Point(p["number"], p["state"], {k: _number(v) for k, v in p["values"].items()},
                      p.get("figures", {}), p.get("digest"), p.get("reason"), p.get("wall_s"),
                      self.database)
                for p in json.loads(text)["points"]]


def _table(points: Sequence[Point], caption: str) -> str:
    if not points:
        return table([], [], caption)
    keys, figures = list(points[0].values), list(points[0].figures)
    head = ["number", *(key.rsplit(".", 1)[-1] for key in keys), *figures]
    rows = [[p.number, *(p.values.get(k, "") for k in keys),
             *(f"{p.figures[k]:.6g}" if k in p.figures else "" for k in figures)] for p in points]
    return table(head, rows, caption)


class Search(Sweep):
    """All layouts of a search.

    looked_again: those that had a second look, folded at `message`; None where none had.
    verified: the best of them with every device simulated; None where none was.
    text:     what the program prints: the best, the Pareto front, one setting changed.
    """

    def __init__(self, database: Union[str, os.PathLike], text: str = "", *,
                 keep: Any = None) -> None:
        super().__init__(database, keep=keep)
        self.text = text
        self.looked_again = self._newest_beside(r"look_again_\d+")
        self.verified = self._newest_beside(r"best_\d+_\w+")

    def _newest_beside(self, pattern: str) -> Optional[Sweep]:
        name = re.compile(re.escape(self.database.stem) + r"\." + pattern + r"\.db")
        found = [p for p in self.database.parent.iterdir() if name.fullmatch(p.name)]
        if not found:
            return None
        return Sweep(max(found, key=lambda p: p.stat().st_mtime_ns), keep=self._keep)


def _number_options(**options: Optional[float]) -> List[str]:
    out: List[str] = []
    for name, value in options.items():
        if value is not None:
            out += ["--" + name.replace("_", "-"), str(value)]
    return out


def _database(out: Union[None, str, os.PathLike]) -> tuple[pathlib.Path, Any]:
    if out is not None:
        return pathlib.Path(out), None
    keep = Folder()
    return keep.path / "sweep.db", keep


def sweep(file: AnyStudy, overrides: Optional[Mapping[str, Any]] = None, *,
          out: Union[None, str, os.PathLike] = None, jobs: Optional[int] = None,
          threads: Optional[int] = None, time_limit_s: Optional[float] = None,
          progress: Progress = True) -> Sweep:
    """Simulates a study at many points.

    file: a path, a name such as "layouts_1k", or a dictionary with the keys of such a file.
    out:  the database. One that is there is gone on with. Without, it is kept as long as the Sweep.
    jobs: points at a time; without, as many as there are cores.

    A point that fails does not fail the sweep; failed() lists it.
    """
    given = Study(file)
    database, keep = _database(out)
    words = ["sweep", given.file, "--output", str(database), *set_options(overrides),
             *_number_options(jobs=jobs, threads=threads, time_limit=time_limit_s)]
    execute(words, progress=progress)
    return Sweep(database, keep=keep)


def open_sweep(database: Union[str, os.PathLike]) -> Sweep:
    """The points of a database that is there. Raises InputError for a file of another kind."""
    if not pathlib.Path(database).is_file():
        raise InputError(f'"{os.fspath(database)}": there is no such file', exit_code=2)
    found = Sweep(database)
    _rows(found.database, "number", "LIMIT 0")
    return found


def search(file: AnyStudy, overrides: Optional[Mapping[str, Any]] = None, *,
           out: Union[None, str, os.PathLike] = None, jobs: Optional[int] = None,
           best: Optional[int] = None, look_again: Optional[int] = None,
           time_limit_s: Optional[float] = None, progress: Progress = True) -> Search:
    """Simulates every layout of a training job, and the best of them device by device.

    file: a path, a name such as "llama2_7b_64", or a dictionary with the keys of such a file.
    best: how many are simulated device by device; 0: none.
    look_again: how many may have a second look, folded at `message`, before these are chosen; 0:
          none.
    The rest as for sweep().
    """
    given = Study(file)
    database, keep = _database(out)
    words = ["search", given.file, "--output", str(database), *set_options(overrides),
             *_number_options(jobs=jobs, best=best, look_again=look_again,
                              time_limit=time_limit_s)]
    text = execute(words, progress=progress).stdout
    return Search(database, text, keep=keep)
