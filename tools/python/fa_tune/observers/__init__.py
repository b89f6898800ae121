"""What a tuning run may watch beside the time."""

from ..kt.observe import BenchmarkObserver, OutputObserver, RegisterObserver

__all__ = ["BenchmarkObserver", "OutputObserver", "RegisterObserver"]
