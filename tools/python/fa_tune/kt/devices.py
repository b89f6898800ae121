"""Which device a search runs on, and the profile whose limits it keeps."""

from __future__ import annotations

import os
import re
import sys
from typing import Any, List, NamedTuple, Optional

from .._driver import Driver
from ..errors import InputError, MachineError

DEFAULT_EMULATOR = "emulator:h100"
# The profile for a GPU by its compute capability: the nearest that is not above it.
_PROFILES = {(8, 0): "a100", (8, 6): "l4", (8, 9): "l4", (9, 0): "h100"}


_said: List[bool] = []


class Device(NamedTuple):
    name: str
    target: str

    @property
    def is_emulator(self) -> bool:
        return self.name.startswith("emulator:")


def _driver() -> Optional[Driver]:
    try:
        found = Driver.get()
        return found if found.count() > 0 else None
    except MachineError:
        return None


def _profile(driver: Driver, number: int) -> str:
    capability = driver.capability(number)
    if capability == (9, 0) and "H200" in driver.name(number):
        return "h200"
    below = [known for known in _PROFILES if known <= capability]
    return _PROFILES[max(below)] if below else "l4"


def choose(given: Any, quiet: bool) -> Device:
    """`given` as Kernel Tuner has it, a GPU's number, or as the program has it: emulator:h100."""
    wanted = given if isinstance(given, str) else os.environ.get("FA_TUNE_DEVICE", "")
    number = 0 if given is None or isinstance(given, str) else given
    if hasattr(number, "item"):
        number = number.item()
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise InputError(f"device: expected a number, or a text as emulator:h100, not {given!r}")
    if wanted.startswith("emulator:"):
        return Device(wanted, re.split(r"[:*]", wanted)[1])
    driver = _driver()
    if wanted and wanted != "auto":
        found = re.fullmatch(r"cuda:(\d+)", wanted)
        if not found:
            raise InputError(f"device: expected cuda:N or emulator:PROFILE, not {wanted!r}")
        if driver is None:
            raise MachineError(f"device: there is no NVIDIA driver or no GPU for {wanted}")
        return Device(wanted, _profile(driver, int(found.group(1))))
    if driver is not None:
        return Device(f"cuda:{number}", _profile(driver, number))
    if not quiet and not _said:
        _said.append(True)
        print(
            f"fa_tune: no GPU here: kernels run in the emulator ({DEFAULT_EMULATOR}), and times "
            f"are predictions; device= or FA_TUNE_DEVICE chooses",
            file=sys.stderr,
        )
    return Device(DEFAULT_EMULATOR, "h100")
