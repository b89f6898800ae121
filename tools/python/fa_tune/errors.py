"""What goes wrong, as exceptions: each carries the program's own message and its exit code."""

from __future__ import annotations

from typing import Any, Dict, Optional, Type


class FaTuneError(Exception):
    """The program ended with an exit code that is not 0."""

    code: int = 70

    def __init__(self, message: str, code: Optional[int] = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class NothingPassed(FaTuneError):
    """The work was done, and no kernel was right."""

    code = 1


class KernelFault(FaTuneError):
    """The emulator ran a kernel, and found a fault in it: a race, an access out of bounds, ..."""

    code = 1


class InputError(FaTuneError, ValueError):
    """What was asked for makes no sense: a file, an option, an argument."""

    code = 2


class MachineError(FaTuneError):
    """The machine lacks something: a GPU, a compiler, memory, room on a disk."""

    code = 3


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or SIGINT. `found` is what there was by then, if anything; the database has it all."""

    def __init__(self, found: Any = None) -> None:
        super().__init__("interrupted; nothing is lost")
        self.found = found


_BY_CODE: Dict[int, Type[FaTuneError]] = {1: NothingPassed, 2: InputError, 3: MachineError}


def error_of(code: int, message: str) -> FaTuneError:
    return _BY_CODE.get(code, FaTuneError)(message, code)
