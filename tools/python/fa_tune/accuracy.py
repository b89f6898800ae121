"""What Kernel Tuner's scripts import from its module of this name; none of it is carried out."""

from __future__ import annotations

from typing import Any

from .errors import InputError


def _refuse(name: str) -> InputError:
    return InputError(
        f"arguments: a {name} is not carried out here: a search has one type for each argument. "
        f"Tune each precision by itself"
    )


class Tunable:
    def __init__(self, *_: Any, **__: Any) -> None:
        raise _refuse("Tunable")


class TunablePrecision:
    def __init__(self, *_: Any, **__: Any) -> None:
        raise _refuse("TunablePrecision")


class AccuracyObserver:
    def __init__(self, *_: Any, **__: Any) -> None:
        raise InputError("observers: an AccuracyObserver is not carried out here; give an `answer`")
