"""Runs the program: its JSON, its progress, its errors, and Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Union

from . import _program
from .errors import Interrupted, error_of

Progress = Union[bool, None, Callable[[str], None]]

_COUNTED = re.compile(r"^\[ *(\d+(/\d+)?|finals?\b.*)\]")
_COMPLAINT = "fa-tune: "


class Done(NamedTuple):
    code: int
    output: str
    message: str
    timed_out: bool = False


class Line:
    """Progress as one line that is written over: on a terminal and in a notebook alike."""

    def __init__(self) -> None:
        self._rewrites = sys.stderr.isatty() or "ipykernel" in sys.modules
        self._width = 0

    def __call__(self, text: str) -> None:
        if self._rewrites and _COUNTED.match(text):
            sys.stderr.write("\r" + text.ljust(self._width))
            self._width = len(text)
        else:
            self.end()
            sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def end(self) -> None:
        if self._width:
            sys.stderr.write("\n")
        self._width = 0


def teller(progress: Progress) -> Callable[[str], None]:
    """Where lines of progress go. None: to a terminal or a notebook, and else nowhere."""
    if callable(progress):
        return progress
    wanted = sys.stderr.isatty() or "ipykernel" in sys.modules if progress is None else progress
    return Line() if wanted else lambda _: None


class _Listener(threading.Thread):
    """Reads standard error: passes progress on, and keeps what the program complains of."""

    def __init__(self, stream: Any, tell: Callable[[str], None]) -> None:
        super().__init__(daemon=True)
        self._stream, self._tell = stream, tell
        self.last: List[str] = []
        self.complaint = ""

    def run(self) -> None:
        for raw in self._stream:
            line = raw.rstrip("\n")
            if line.startswith(_COMPLAINT):
                self.complaint = line[len(_COMPLAINT) :]
                continue
            self.last = (self.last + [line])[-5:]
            try:
                self._tell(line)
            except Exception as error:  # a user's: the search must not hang for it
                print(f"fa_tune: progress failed: {error}", file=sys.stderr)
                self._tell = lambda _: None


def run(
    arguments: Sequence[Union[str, "os.PathLike[str]"]],
    progress: Progress = False,
    seconds: Optional[float] = None,
) -> Done:
    """Runs the program with these words, without a shell, and waits for its end.

    SIGINT goes to the program, which ends in good order; `Done.code` is then 130. So does it after
    `seconds`.
    """
    binary = _program.program()
    words = [str(binary), *(os.fspath(word) for word in arguments)]
    tell = teller(progress)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        # In a session of its own, so that a terminal's Ctrl-C reaches it once, by us: the second
        # one would kill it.
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=_program.environment(),
            start_new_session=True,
        )
        listener = _Listener(process.stderr, tell)
        listener.start()
        late = threading.Event()
        timer = threading.Timer(seconds or 0, _stop, (process, late))
        timer.daemon = True
        if seconds is not None:
            timer.start()
        interrupted = _wait(process)
        timer.cancel()
        listener.join()
        if process.stderr is not None:
            process.stderr.close()
        if isinstance(tell, Line):
            tell.end()
        output.seek(0)
        message = listener.complaint or "; ".join(listener.last) or "no message"
        code = 130 if interrupted else process.returncode
        return Done(code, output.read(), message, late.is_set())


def _stop(process: "subprocess.Popen[str]", late: threading.Event) -> None:
    late.set()
    process.send_signal(signal.SIGINT)


def _wait(process: "subprocess.Popen[str]") -> bool:
    """Whether it was interrupted. A second Ctrl-C ends the program at once."""
    asked = 0
    while True:
        try:
            process.wait()
            return asked > 0 or process.returncode == 130
        except KeyboardInterrupt:
            asked += 1
            process.send_signal(signal.SIGINT if asked == 1 else signal.SIGKILL)
        except BaseException:
            process.kill()
            raise


def checked(arguments: Sequence[Union[str, "os.PathLike[str]"]], progress: Progress = False) -> str:
    """The program's standard output. Raises what its exit code says."""
    done = run(arguments, progress)
    if done.code == 130:
        raise Interrupted(done.output or None)
    if done.code != 0:
        raise error_of(done.code, done.message)
    return done.output


def json_of(text: str) -> Any:
    return json.loads(text)


def option(name: str, value: Optional[object]) -> List[str]:
    """`--name=value` as one word, so that a value which begins with a dash is a value."""
    return [] if value is None else [f"--{name}={value}"]
