"""Observers: what is looked at beside the time, of each config that ran and was right."""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .._driver import Driver
from ..errors import InputError
from . import configs
from .devices import Device
from .launches import Launches
from .results import Row


class BenchmarkObserver:
    """What others derive from. Before and after each launch of a config it is called, and while that
    runs; what `get_results` returns goes to the config's row."""

    dev: Any = None

    def register_device(self, dev: Any) -> None:
        """`dev.name` is the GPU's; `dev.env` has its `device_name` and `pci_bus_id`."""
        self.dev = dev

    def register_configuration(self, params: Mapping[str, Any]) -> None:
        """Once before a config is launched."""

    def before_start(self) -> None:
        """Before each launch."""

    def after_start(self) -> None:
        """Directly after it."""

    def during(self) -> None:
        """As often as possible while the kernel runs."""

    def after_finish(self) -> None:
        """When it has ended."""

    def get_results(self) -> Dict[str, Any]:
        raise NotImplementedError


class OutputObserver(BenchmarkObserver):
    """Looks at what a config computes. With one, `answer` is what it compares with, and decides
    about no config by itself."""

    def process_output(self, answer: Sequence[Any], output: Sequence[Any]) -> None:
        """Both have None where the answer says nothing."""
        raise NotImplementedError


class ProfilingObserver(BenchmarkObserver):
    """Looks at all configs together, when the search is over."""

    def require(self) -> None:
        """Before the search. Raises MachineError where it lacks something."""

    def profile(self, rows: Sequence[Row], configs: Sequence[Any], launches: Launches) -> None:
        """Adds what it sees of each config to its row."""
        raise NotImplementedError

    def get_results(self) -> Dict[str, Any]:
        return {}


class RegisterObserver(BenchmarkObserver):
    """Adds `num_regs`, the registers of a thread, to each row."""


class _ObservedDevice:
    def __init__(self, device: Device) -> None:
        driver, number = Driver.get(), int(device.name.split(":")[1])
        self.name = driver.name(number)
        self.env = {"device_name": self.name, "pci_bus_id": driver.bus_id(number)}


class Observers:
    """Those of one tune_kernel."""

    def __init__(self, given: Optional[Sequence[Any]], iterations: int) -> None:
        self.iterations = iterations
        self.registers = False
        self.outputs: List[Any] = []
        self.launches: List[Any] = []
        self.profilers: List[ProfilingObserver] = []
        for each in given or []:
            if callable(each) and not hasattr(each, "get_results"):
                each = each()
            if type(each).__name__ == "RegisterObserver":
                self.registers = True
            elif not hasattr(each, "get_results"):
                raise InputError(f"observers: a {type(each).__name__} has no get_results")
            elif isinstance(each, ProfilingObserver):
                self.profilers.append(each)
            elif hasattr(each, "process_output"):
                self.outputs.append(each)
            else:
                self.launches.append(each)

    def check(self, device: Device, answer: Any) -> None:
        if self.outputs and answer is None:
            names = type(self.outputs[0]).__name__
            raise InputError(f"observers: a {names} compares with `answer`, and there is none")
        for each in [*self.launches, *self.profilers]:
            if device.is_emulator:
                name = type(each).__name__
                raise InputError(
                    f"observers: {name} watches a GPU, and kernels run in the emulator"
                )
        for profiler in self.profilers:
            profiler.require()

    @property
    def need_launches(self) -> bool:
        """Whether one of them needs configs to run again after the search."""
        return bool(self.outputs or self.launches or self.profilers)

    def look_at_output(self, row: Row, answer: Sequence[Any], output: Sequence[Any]) -> None:
        for each in self.outputs:
            each.process_output(answer, output)
            row.update(each.get_results())

    def begin(self, device: Device) -> None:
        if self.launches:
            seen = _ObservedDevice(device)
            for each in self.launches:
                each.register_device(seen)

    def look_at_launches(self, row: Row, config: Mapping[str, Any], launches: Launches) -> None:
        for each in self.launches:
            each.register_configuration(config)
            for _ in range(max(1, self.iterations)):
                _observe(each, config, launches, 0)
            row.update(each.get_results())
            continuous = getattr(each, "continuous_observer", None)
            if continuous is not None:
                continuous.results = dict(row)
                _observe(continuous, config, launches, continuous.continuous_duration)
                row.update(continuous.get_results())


def _observe(observer: Any, config: Mapping[str, Any], launches: Launches, seconds: float) -> None:
    """One launch, or as many as take `seconds`."""
    observer.before_start()
    until = time.perf_counter() + seconds
    launches.start(config)
    observer.after_start()
    while launches.running() or time.perf_counter() < until:
        observer.during()
        if time.perf_counter() < until:
            launches.again()
    launches.wait()
    observer.after_finish()


def add_registers(database: Path, rows: Sequence[Row], params: configs.Params) -> None:
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        found = {}
        for config, registers in connection.execute("SELECT config, registers FROM trials"):
            values = json.loads(config)
            found[tuple(json.dumps(values.get(name)) for name in params)] = registers
    for row in rows:
        row["num_regs"] = found.get(tuple(json.dumps(row[name]) for name in params))
