"""What came of a run."""
from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping
from typing import Any, Dict, Iterator, Optional

from ._frames import flat, frame, table
from ._timeline import Timeline
from .errors import InputError

_PS_PER_S = 1e12


class Summary(Mapping):
    """summary.json: a mapping whose entries are attributes, too, of whatever depth.

    summary.energy.step_j is summary["energy"]["step_j"]. docs/guide/user_guide.md has the entries.
    """

    def __init__(self, entries: Dict[str, Any]) -> None:
        self._entries = entries

    def __getitem__(self, key: str) -> Any:
        value = self._entries[key]
        return Summary(value) if isinstance(value, dict) else value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(
                f"the summary has no entry {name!r}; it has {', '.join(self._entries)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __dir__(self):
        return [*super().__dir__(), *self._entries]

    def to_dict(self) -> Dict[str, Any]:
        """Plain dictionaries and lists."""
        return json.loads(json.dumps(self._entries))

    def __repr__(self) -> str:
        return f"Summary({self._entries!r})"


class Result:
    """A run that has ended, read from the directory of its results."""

    def __init__(self, directory: Optional[pathlib.Path], summary: Dict[str, Any], *,
                 timeline: Optional[pathlib.Path] = None, keep: Any = None,
                 notes: str = "") -> None:
        self.directory = directory  #: of the results; None where they are in a database
        self.summary = Summary(summary)  #: summary.json
        self.notes = notes  #: what the program said on standard error
        self._timeline = timeline
        self._keep = keep  # a temporary directory, which goes with the result

    @classmethod
    def load(cls, directory) -> "Result":
        """The results that `exawarp run --out` wrote there. Raises InputError without any."""
        path = pathlib.Path(directory)
        file = path / "summary.json"
        try:
            return cls(path, json.loads(file.read_text()))
        except (OSError, ValueError) as error:
            raise InputError(f"{file}: is no summary that can be read; expected that of "
                             "exawarp run --out", exit_code=2) from error

    @property
    def status(self) -> str:
        """"finished", or how it ended: "deadlocked", "stopped"."""
        return self.summary["status"]

    @property
    def step_time_s(self) -> float:
        """Simulated seconds of a training step, or of the workload where it has no steps."""
        return self.summary["iteration_time_ps"] / _PS_PER_S

    @property
    def breakdown(self) -> Dict[str, Any]:
        """Shares of the devices' time: compute, exposed_communication, waiting, idle, ..."""
        return self.summary["breakdown"].to_dict()

    @property
    def digest(self) -> str:
        """Equal for equal simulations, whatever the mode, ranks and threads."""
        return self.summary["digest"]

    @property
    def tokens_per_s(self) -> Optional[float]:
        """None for a workload without tokens."""
        return self.summary.get("tokens_per_s")

    def timeline(self) -> Timeline:
        """What devices did when. Raises InputError where run() was not given `timeline`."""
        if self._timeline is None:
            raise InputError("the run has no timeline; expected run(..., timeline=True)",
                             exit_code=2)
        return Timeline(self._timeline)

    def to_frame(self):
        """The summary as a pandas.DataFrame of one row, columns by path: "breakdown.compute"."""
        row = flat(self.summary.to_dict())
        return frame([{key: value for key, value in row.items() if not isinstance(value, list)}])

    def __repr__(self) -> str:
        s = self.summary
        return (f"<exawarp.Result {s.get('study')}: {s.get('devices')} devices, {self.status}, "
                f"{self.step_time_s:.6g} s a step, digest {self.digest}>")

    def _repr_html_(self) -> str:
        s = self.summary
        rows = [("devices", f"{s.get('devices'):,}"), ("status", self.status),
                ("step time", f"{self.step_time_s:.6g} s")]
        if self.tokens_per_s:
            rows.append(("tokens per second", f"{self.tokens_per_s:,.0f}"))
        if s.get("model_flops_utilisation"):
            rows.append(("model FLOPs utilisation", f"{s['model_flops_utilisation']:.1%}"))
        rows += [(f"time in {name.replace('_', ' ')}", f"{share:.1%}")
                 for name, share in self.breakdown.items() if isinstance(share, float)]
        rows.append(("digest", self.digest))
        return table([], rows, str(s.get("study")))
