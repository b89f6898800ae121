"""What a tuning run may watch beside the time."""

from ..kt.observe import BenchmarkObserver, RegisterObserver

__all__ = ["BenchmarkObserver", "RegisterObserver"]
