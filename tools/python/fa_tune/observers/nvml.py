"""Power, energy, clocks and temperature of single configs, read through NVML."""

from __future__ import annotations

import statistics
import time
from typing import Any, Dict, List, Sequence

from ..errors import InputError, MachineError
from ..kt.observe import BenchmarkObserver

_POWER = ("power_readings", "nvml_power", "nvml_energy")
_STATES = ("core_freq", "mem_freq", "temperature")


def _nvml() -> Any:
    try:
        import pynvml
    except ImportError:
        raise MachineError("observers: NVMLObserver needs the package nvidia-ml-py") from None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise MachineError(f"observers: NVML cannot be used here: {error}") from None
    return pynvml


class NVMLObserver(BenchmarkObserver):
    """Adds to each row what `observables` name: `core_freq` and `mem_freq` in MHz and `temperature`
    in degrees Celsius, means over the launches; `nvml_power` in W, the median of the readings while
    the config is launched for `continuous_duration` seconds; `nvml_energy` in J, that power for the
    config's time; `power_readings`, pairs of seconds and W. It sets no clocks and no limits."""

    def __init__(
        self,
        observables: Sequence[str],
        device: Any = None,
        save_all: bool = False,
        nvidia_smi_fallback: Any = None,
        use_locked_clocks: bool = False,
        continuous_duration: float = 1,
    ) -> None:
        for name in observables:
            if name not in (*_POWER, *_STATES):
                raise InputError(
                    f"observers: NVMLObserver has no {name!r}; there are {', '.join((*_POWER, *_STATES))}"
                )
        for what, given in (
            ("device", device),
            ("nvidia_smi_fallback", nvidia_smi_fallback),
            ("use_locked_clocks", use_locked_clocks),
        ):
            if given:
                raise InputError(f"observers: NVMLObserver has no {what} here")
        self.save_all = save_all
        self.states = [name for name in observables if name in _STATES]
        power = [name for name in observables if name in _POWER]
        if power:
            self.continuous_observer = _PowerObserver(self, power, continuous_duration)
        self._seen: Dict[str, List[float]] = {}

    def register_device(self, dev: Any) -> None:
        super().register_device(dev)
        self._nvml = _nvml()
        self._handle = self._nvml.nvmlDeviceGetHandleByPciBusId(dev.env["pci_bus_id"].encode())

    def register_configuration(self, params: Any) -> None:
        self._seen = {name: [] for name in self.states}

    def after_start(self) -> None:
        self.during()  # once at least, however short the kernel is

    def during(self) -> None:
        for name in self.states:
            self._seen[name].append(float(self._read(name)))

    def power(self) -> float:
        return float(self._nvml.nvmlDeviceGetPowerUsage(self._handle)) / 1e3

    def _read(self, name: str) -> Any:
        nvml = self._nvml
        if name == "temperature":
            return nvml.nvmlDeviceGetTemperature(self._handle, nvml.NVML_TEMPERATURE_GPU)
        clock = nvml.NVML_CLOCK_GRAPHICS if name == "core_freq" else nvml.NVML_CLOCK_MEM
        return nvml.nvmlDeviceGetClockInfo(self._handle, clock)

    def get_results(self) -> Dict[str, Any]:
        found: Dict[str, Any] = {n: statistics.fmean(seen) for n, seen in self._seen.items()}
        if self.save_all:
            found.update({f"{name}s": list(seen) for name, seen in self._seen.items()})
        return found


class _PowerObserver(BenchmarkObserver):
    """Reads power while a config is launched again and again: a reading is a mean over more time
    than one launch takes."""

    _PAUSE = 0.002  # between two readings; a driver has new ones less often

    def __init__(self, parent: NVMLObserver, observables: Sequence[str], seconds: float) -> None:
        self.parent, self.observables, self.continuous_duration = parent, observables, seconds
        self.results: Dict[str, Any] = {}
        self._readings: List[List[float]] = []
        self._began = self._next = 0.0

    def before_start(self) -> None:
        self._readings = []

    def after_start(self) -> None:
        self._began = self._next = time.perf_counter()
        self.during()

    def during(self) -> None:
        now = time.perf_counter()
        if now >= self._next:
            self._next = now + self._PAUSE
            self._readings.append([now - self._began, self.parent.power()])

    def get_results(self) -> Dict[str, Any]:
        power = statistics.median(watts for _, watts in self._readings)
        known = {
            "nvml_power": power,
            "nvml_energy": power * self.results["time"] / 1e3,
            "power_readings": self._readings,
        }
        return {name: known[name] for name in self.observables}
