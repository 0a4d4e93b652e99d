"""Simulates training and inference of machine-learning models on large clusters.

    import exawarp

    result = exawarp.run("llama2_7b_8", {"seed": 7})
    result.step_time_s, result.breakdown["compute"]
    for piece in result.timeline():  # of run(..., timeline=True)
        print(piece.device, piece.track, piece.name, piece.duration_ps)

    sweep = exawarp.sweep("layouts_1k")
    sweep.best()[0].values

Each run is a process of the program `exawarp`, which EXAWARP may name; otherwise it is the one that
came with the package, the first on PATH, or that of the checkout around the package. Interrupting
Python (Ctrl-C, or the notebook's stop button) ends it. What the program finds wrong is raised:
InputError, DeadlockError, ResourceError and InternalError, all of them Error.
"""
from ._program import program, version
from ._results import Result, Summary
from ._run import Study, run, topology
from ._sweep import Point, Search, Sweep, open_sweep, search, sweep
from ._timeline import Slice, Timeline
from .errors import DeadlockError, Error, InputError, InternalError, ResourceError

__all__ = [
    "DeadlockError", "Error", "InputError", "InternalError", "Point", "ResourceError", "Result",
    "Search", "Slice", "Study", "Summary", "Sweep", "Timeline", "open_sweep", "program", "run",
    "search", "sweep", "topology", "version",
]
