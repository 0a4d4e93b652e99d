"""Timelines: what devices did when, read from the trace that the program writes.

The file is one protobuf message of Perfetto's format, io/formats/perfetto/perfetto.proto. The few
fields that it has are read here, so that nothing else need be installed.
"""
from __future__ import annotations

import os
import pathlib
from dataclasses import dataclass
from typing import Dict, Iterator, List, Optional, Tuple, Union

from .errors import InputError

Field = Tuple[int, Union[int, memoryview]]

_BEGIN = 1


@dataclass(frozen=True)
class Slice:
    """What a stream of a device, or the device as a whole, did from one instant to another.

    group:        "device 3 (stage 1)".
    track:        "whole device", or a stream: "compute", "send forward", ...
    category:     the class of the breakdown that its time counts as.
    start_ps, duration_ps: exact simulated picoseconds.
    """
    group: str
    track: str
    name: str
    category: str
    start_ps: int
    duration_ps: int

    @property
    def device(self) -> Optional[int]:
        """The number of the device; None where the group is of none."""
        words = self.group.split()
        return int(words[1]) if words[:1] == ["device"] and words[1].isdigit() else None

    @property
    def end_ps(self) -> int:
        return self.start_ps + self.duration_ps


def _varint(data: memoryview, at: int) -> Tuple[int, int]:
    value = data[at]
    at += 1
    if value < 0x80:
        return value, at
    value &= 0x7F
    shift = 7
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _fields(data: memoryview) -> Iterator[Field]:
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield tag >> 3, value
        elif wire == 2:
            size, at = _varint(data, at)
            if at + size > end:
                raise IndexError(at)
            yield tag >> 3, data[at:at + size]
            at += size
        elif wire == 1:
            at += 8
        elif wire == 5:
            at += 4
        else:
            raise IndexError(at)


def _entries(data: memoryview) -> Dict[int, Union[int, memoryview]]:
    return dict(_fields(data))


def _named(data: memoryview) -> Tuple[int, str]:
    entry = _entries(data)
    return entry.get(1, 0), bytes(entry.get(2, b"")).decode()  # type: ignore


class _Reader:
    def __init__(self) -> None:
        self.tracks: Dict[int, Tuple[str, int]] = {}  # name, parent
        self.categories: Dict[int, str] = {}
        self.names: Dict[int, str] = {}

    def intern(self, data: memoryview) -> None:
        for number, entry in _fields(data):
            if number == 1:
                self.categories.update([_named(entry)])  # type: ignore
            elif number == 2:
                self.names.update([_named(entry)])  # type: ignore

    def describe(self, data: memoryview) -> None:
        track = _entries(data)
        name = bytes(track.get(2, b"")).decode()  # type: ignore
        self.tracks[track.get(1, 0)] = (name, track.get(5, 0))  # type: ignore

    def slice(self, data: memoryview) -> Optional[Slice]:
        kind = category = name = track = 0
        times: List[int] = []
        for number, value in _fields(data):
            if number == 9:
                kind = value  # type: ignore
            elif number == 3:
                category = value  # type: ignore
            elif number == 10:
                name = value  # type: ignore
            elif number == 11:
                track = value  # type: ignore
            elif number == 4:
                times.append(_entries(value).get(4, 0))  # type: ignore
        if kind != _BEGIN:
            return None
        track_name, parent = self.tracks[track]
        group = self.tracks.get(parent, ("", 0))[0]
        return Slice(group, track_name, self.names[name], self.categories.get(category, ""),
                     times[0], times[1])


class Timeline:
    """Slices of a run, read from its file each time that they are asked for: iterate over it."""

    def __init__(self, path: Union[str, os.PathLike]) -> None:
        """path: what `exawarp run --timeline` wrote. Raises InputError where it cannot be read."""
        self.path = pathlib.Path(path)
        if not self.path.is_file():
            raise InputError(f'"{self.path}": there is no such file', exit_code=2)

    def __iter__(self) -> Iterator[Slice]:
        reader = _Reader()
        data = memoryview(self.path.read_bytes())
        try:
            for _, packet in _fields(data):
                for number, value in _fields(packet):  # type: ignore
                    if number == 12:
                        reader.intern(value)  # type: ignore
                    elif number == 60:
                        reader.describe(value)  # type: ignore
                    elif number == 11:
                        piece = reader.slice(value)  # type: ignore
                        if piece is not None:
                            yield piece
        except (IndexError, KeyError, TypeError, UnicodeDecodeError) as error:
            raise InputError(f"{self.path}: is no timeline that exawarp wrote, or not the whole "
                             "of one", exit_code=2) from error

    def totals(self) -> Dict[str, int]:
        """Picoseconds that the devices spent in each class of the breakdown, `idle` among them."""
        sums: Dict[str, int] = {}
        for piece in self:
            if piece.track == "whole device":
                sums[piece.name] = sums.get(piece.name, 0) + piece.duration_ps
        return sums

    def to_frame(self):
        """A pandas.DataFrame with a row for each slice. Raises ImportError without pandas."""
        from ._frames import frame
        return frame([{"device": s.device, "group": s.group, "track": s.track, "name": s.name,
                       "category": s.category, "start_ps": s.start_ps,
                       "duration_ps": s.duration_ps} for s in self])

    def __repr__(self) -> str:
        return f"Timeline({str(self.path)!r})"
