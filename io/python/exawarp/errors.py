"""What goes wrong, as exceptions whose text is the program's own line."""
from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Sequence

if TYPE_CHECKING:
    from ._results import Result


class Error(Exception):
    """The program ended with an error.

    exit_code: the program's, or -N where signal N ended it.
    command:   what was executed.
    stderr:    all that it said.
    result:    what there was by then, where a run ended early (DeadlockError, ResourceError).
    """

    def __init__(self, message: str, *, exit_code: int = 1, command: Sequence[str] = (),
                 stderr: str = "", result: Optional["Result"] = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.command = list(command)
        self.stderr = stderr
        self.result = result


class InputError(Error, ValueError):
    """A study, a file or an argument is wrong. Nothing was simulated or written."""


class DeadlockError(Error):
    """The simulated system cannot continue: each device waits for another."""


class ResourceError(Error, OSError):
    """Memory, disk or time ran out, or the system refused something."""

    def __init__(self, message: str, **about) -> None:
        Error.__init__(self, message, **about)

    def __str__(self) -> str:
        return str(self.args[0])


class InternalError(Error):
    """A fault of exawarp: a check failed, or the program crashed."""


def error_of(exit_code: int) -> type[Error]:
    """The class for an exit code of the program."""
    return {2: InputError, 3: DeadlockError, 4: ResourceError, 75: ResourceError}.get(
        exit_code, InternalError)
