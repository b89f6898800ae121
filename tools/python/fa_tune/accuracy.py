"""Arguments whose type a parameter chooses, and the error that it makes, by the names of Kernel
Tuner's module."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Sequence, Union

import numpy

from .errors import InputError
from .kt.observe import OutputObserver
from .kt.precision import TunablePrecision

__all__ = ["AccuracyObserver", "Tunable", "TunablePrecision", "error_metric_from_name"]

Metric = Callable[[Any, Any], Any]

_LONG = {
    "mean squared": "mse",
    "root mean squared": "rmse",
    "normalized root mean squared": "nrmse",
    "root mean squared relative": "rmsre",
    "root mean squared logarithmic": "rmsle",
    "mean absolute": "mae",
    "absolute": "mae",
    "mean relative": "mre",
    "relative": "mre",
    "mean absolute logarithmic": "male",
    "maximum absolute": "maximum",
}
_SHORT = {
    "average": "mean",
    "avg": "mean",
    "square": "squared",
    "sq": "squared",
    "max": "maximum",
    "rel": "relative",
    "abs": "absolute",
    "log": "logarithmic",
}


class Tunable:
    def __init__(self, *_: Any, **__: Any) -> None:
        raise InputError("arguments: a Tunable is not carried out here, but TunablePrecision is")


def error_metric_from_name(user_key: str, EPS: float = 1e-8) -> Metric:
    """A function of the expected and the computed values, as float64: "RMSE", "mean relative error",
    "max abs", ... `EPS` keeps relative errors from a division by zero."""
    words = re.sub(r"\berror\b|[\s_-]+", " ", user_key.lower()).split()
    name = " ".join(_SHORT.get(word, word) for word in words)
    mean, root, log = numpy.mean, numpy.sqrt, numpy.log10
    known: Dict[str, Metric] = {
        "mse": lambda a, b: mean(numpy.square(a - b)),
        "rmse": lambda a, b: root(mean(numpy.square(a - b))),
        "nrmse": lambda a, b: root(mean(numpy.square(a - b)) / mean(numpy.square(a))),
        "rmsre": lambda a, b: root(mean(numpy.square((a - b) / _at_least(a, EPS)))),
        "rmsle": lambda a, b: root(mean(numpy.square(log(a + EPS) - log(b + EPS)))),
        "mae": lambda a, b: mean(abs(a - b)),
        "mre": lambda a, b: mean(abs(a - b) / _at_least(a, EPS)),
        "male": lambda a, b: mean(abs(log(a + EPS) - log(b + EPS))),
        "maximum": lambda a, b: numpy.max(abs(a - b)),
        "maximum relative": lambda a, b: numpy.max(abs(a - b) / _at_least(a, EPS)),
    }
    metric = known.get(_LONG.get(name, name))
    if metric is None:
        raise InputError(
            f"observers: there is no error metric {user_key!r}; there are {', '.join(known)}"
        )
    return lambda a, b: metric(a.astype(numpy.float64), b.astype(numpy.float64))


def _at_least(values: Any, least: float) -> Any:
    return numpy.maximum(abs(values), least)


class AccuracyObserver(OutputObserver):
    """Adds the error beside `answer` to each row, as `key`: the largest, where there are several
    outputs. `metric` is a name, or a function of the expected and the computed values."""

    def __init__(
        self, metric: Union[str, Metric, None] = None, key: str = "error", *, atol: float = 1e-8
    ) -> None:
        named = metric if callable(metric) else error_metric_from_name(metric or "rmse", atol)
        self.metric, self.key, self.result = named, key, float("nan")

    def process_output(self, answer: Sequence[Any], output: Sequence[Any]) -> None:
        pairs = [(a, b) for a, b in zip(answer, output) if a is not None]
        self.result = max(float(self.metric(a.reshape(b.shape), b)) for a, b in pairs)

    def get_results(self) -> Dict[str, Any]:
        return {self.key: self.result}
