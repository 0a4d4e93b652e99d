"""Finds the program and runs it: one process each time, whatever becomes of it."""
from __future__ import annotations

import contextlib
import os
import pathlib
import pty
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from dataclasses import dataclass
from typing import Any, Callable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from .errors import InputError, ResourceError, error_of

Progress = Union[bool, Callable[[str], None]]

_HERE = pathlib.Path(__file__).resolve().parent
_ERASE = "\r\x1b[K"  # what the program writes before a line of progress
_PROGRESS = re.compile(r"^\d+ s: ")
_STOP_S = 10  # for a program that was asked to stop


def program() -> str:
    """The path of the program. Raises InputError where there is none."""
    named = os.environ.get("EXAWARP")
    if named:
        found = shutil.which(named)
        if found is None:
            raise InputError(f'EXAWARP: there is no such program: "{named}"', exit_code=2)
        return found
    bundled = _HERE / "bin" / "exawarp"
    if bundled.is_file():
        return str(bundled)
    on_path = shutil.which("exawarp")
    if on_path is not None:
        return on_path
    for parent in _HERE.parents:  # of a checkout
        built = parent / "build" / "release" / "exawarp"
        if built.is_file():
            return str(built)
    raise InputError("exawarp: there is no such program on PATH; expected it there, or its path "
                     "in the environment variable EXAWARP", exit_code=2)


def version() -> str:
    """What the program says of itself: version and commit."""
    return execute(["--version"]).stdout.strip()


class Folder:
    """A temporary directory that goes with the last that refers to it."""

    def __init__(self) -> None:
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="exawarp-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass
class Done:
    """What a program that ended well has said."""
    stdout: str
    stderr: str


class _Notebook:
    """Progress in one line that is overwritten, on a terminal or in a notebook."""

    def __init__(self) -> None:
        self._width = 0

    def __call__(self, line: str) -> None:
        padding = " " * (self._width - len(line))
        print("\r" + line + padding, end="", file=sys.stderr, flush=True)
        self._width = len(line)

    def finish(self) -> None:
        if self._width:
            print("\r" + " " * self._width + "\r", end="", file=sys.stderr, flush=True)


def _listener(progress: Progress) -> Tuple[Optional[Callable[[str], None]], Callable[[], None]]:
    if callable(progress):
        return progress, lambda: None
    if not progress:
        return None, lambda: None
    shown = _Notebook()
    return shown, shown.finish


def _launcher(ranks: int) -> Tuple[List[str], Mapping[str, str]]:
    if ranks == 1:
        return [], {}
    if ranks < 1:
        raise InputError(f"ranks: is {ranks}; expected 1 or more", exit_code=2)
    if shutil.which("mpirun") is None:
        raise ResourceError("mpirun: there is no such program on PATH; expected Open MPI's, "
                            "or ranks=1", exit_code=4)
    return ["mpirun", "-n", str(ranks)], {
        # As scripts/mpirun: more ranks than cores, root in a container, no binding.
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
        "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


class _Errors:
    """Standard error as it comes: lines of progress are told, the others kept."""

    def __init__(self, listener: Optional[Callable[[str], None]]) -> None:
        self._listener = listener
        self._rest = ""
        self._lines: List[str] = []

    def feed(self, data: bytes) -> None:
        # The program ends no line of progress: the next one begins by erasing it.
        self._rest += data.decode(errors="replace").replace("\r\n", "\n").replace(_ERASE, "\n")
        *whole, rest = self._rest.split("\n")
        if _PROGRESS.match(rest) and rest.endswith(("/s", " left")):
            whole.append(rest)
            rest = ""
        self._rest = rest
        for line in whole:
            self._take(line)

    def text(self) -> str:
        self._take(self._rest)
        self._rest = ""
        return "\n".join(self._lines)

    def _take(self, line: str) -> None:
        if _PROGRESS.match(line):
            if self._listener is not None:
                self._listener(line)
        elif line:
            self._lines.append(line)


@contextlib.contextmanager
def _interruption_after() -> Iterator[None]:
    """Holds an interruption back to the end of the block, so that no process starts unknown."""
    usual = signal.getsignal(signal.SIGINT)
    main = threading.current_thread() is threading.main_thread()
    if not main or not callable(usual):
        yield
        return
    came: List[Any] = []
    signal.signal(signal.SIGINT, lambda *what: came.append(what))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if came:
        usual(*came[0])


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ends it and all that it started: asks first, then kills."""
    for number in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_STOP_S)
            break
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # what the program has left behind


def _read(process: "subprocess.Popen[bytes]", terminal: int, errors: _Errors) -> bytes:
    """Standard output, until both streams have ended."""
    assert process.stdout is not None
    output: List[bytes] = []
    with selectors.DefaultSelector() as streams:
        streams.register(process.stdout, selectors.EVENT_READ)
        streams.register(terminal, selectors.EVENT_READ)
        while streams.get_map():
            for key, _ in streams.select():
                try:
                    data = os.read(key.fd, 1 << 16)
                except OSError:  # EIO: nobody has the terminal open any more
                    data = b""
                if not data:
                    streams.unregister(key.fileobj)
                elif key.fd == terminal:
                    errors.feed(data)
                else:
                    output.append(data)
    return b"".join(output)


def _message(stderr: str, exit_code: int) -> str:
    """The program's own line; mpirun's remarks on it are left out."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    rule = next((i for i, line in enumerate(lines) if line.startswith("-----")), len(lines))
    own = lines[:rule] or lines
    if exit_code < 0:
        ended = f"exawarp: ended by {signal.Signals(-exit_code).name}"
        return "\n".join([ended, *own[-3:]])
    return "\n".join(own) or f"exawarp: ended with exit code {exit_code}"


def execute(arguments: Sequence[str], *, ranks: int = 1, progress: Progress = False,
            cwd: Optional[os.PathLike] = None) -> Done:
    """Runs the program. Raises what errors.error_of() says where it does not end well.

    The program sees a terminal as standard error, so that it tells how far it is four times a
    second, and no terminal's Ctrl-C: whatever interrupts Python ends it here.
    """
    launcher, settings = _launcher(ranks)
    command = [*launcher, program(), *arguments]
    listener, finish = _listener(progress)
    errors = _Errors(listener)
    ours, theirs = pty.openpty()
    process: Optional["subprocess.Popen[bytes]"] = None
    try:
        with _interruption_after(), open(theirs, "wb", closefd=True) as terminal:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=terminal,
                cwd=cwd, env={**os.environ, **settings}, start_new_session=True)
        stdout = _read(process, ours, errors).decode(errors="replace")
        exit_code = process.wait()
    except BaseException as error:
        if process is not None:
            _end(process)
        elif isinstance(error, OSError):
            raise ResourceError(f"{command[0]}: {error.strerror}", exit_code=4,
                                command=command) from error
        raise
    finally:
        os.close(ours)
        if process is not None and process.stdout is not None:
            process.stdout.close()
        finish()
    stderr = errors.text()
    if exit_code != 0:
        failure = error_of(exit_code)(_message(stderr, exit_code), exit_code=exit_code,
                                      command=command, stderr=stderr)
        failure.stdout = stdout  # type: ignore[attr-defined]
        raise failure
    return Done(stdout, stderr)
