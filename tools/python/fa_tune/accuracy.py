"""Arguments whose type a parameter chooses, by the names of Kernel Tuner's module."""

from __future__ import annotations

from typing import Any

from .errors import InputError
from .kt.precision import TunablePrecision

__all__ = ["AccuracyObserver", "Tunable", "TunablePrecision"]


class Tunable:
    def __init__(self, *_: Any, **__: Any) -> None:
        raise InputError("arguments: a Tunable is not carried out here, but TunablePrecision is")


class AccuracyObserver:
    def __init__(self, *_: Any, **__: Any) -> None:
        raise InputError("observers: an AccuracyObserver is not carried out here; give an `answer`")
