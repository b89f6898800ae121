"""Strategies by the names of Kernel Tuner's modules."""

from .kt.strategies import Strategy, __getattr__, known

__all__ = ["Strategy", "__getattr__", "known"]
