"""The name that Kernel Tuner's scripts import it by."""

from ..kt.observe import RegisterObserver

__all__ = ["RegisterObserver"]
