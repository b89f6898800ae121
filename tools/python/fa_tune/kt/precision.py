"""Arguments whose type a parameter chooses: a search for each type."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy

from ..errors import InputError
from . import results

_TYPES = {"half": "float16", "float": "float32", "double": "float64"}


class TunablePrecision:
    """An array that the kernel takes as the type which parameter `param_key` names."""

    def __init__(
        self, param_key: str, array: Any, dtypes: Optional[Mapping[str, Any]] = None
    ) -> None:
        self.key, self.array = param_key, numpy.asarray(array)
        self.dtypes = dict(dtypes or _TYPES)

    def of(self, value: Any) -> Any:
        if value not in self.dtypes:
            raise InputError(
                f"arguments: '{self.key}' is {value!r}, and there are {', '.join(self.dtypes)}"
            )
        return self.array.astype(self.dtypes[value])


def parameter_of(arguments: Sequence[Any], params: Mapping[str, Any]) -> Optional[str]:
    """The parameter that chooses types, if one does."""
    keys = {each.key for each in arguments if isinstance(each, TunablePrecision)}
    if len(keys) > 1:
        raise InputError(f"arguments: types follow from one parameter, not from {sorted(keys)}")
    for key in keys:
        if key not in params:
            raise InputError(f"arguments: a type follows from '{key}', which tune_params has not")
        return key
    return None


def tune(
    key: str, tune_kernel: Callable[..., Tuple[List[Any], Dict[str, Any]]], given: Dict[str, Any]
) -> Tuple[List[results.Row], Dict[str, Any]]:
    """Calls it once for each type; the rows together."""
    if given["cache"]:
        raise InputError("cache: is of one search, and a TunablePrecision makes several")
    values = list(given["tune_params"][key])
    options = dict(given["strategy_options"] or {})
    if options.get("max_fevals"):
        options["max_fevals"] = max(1, int(options["max_fevals"]) // len(values))
    rows: List[results.Row] = []
    env: Dict[str, Any] = {}
    for value in values:
        arguments = [
            e.of(value) if isinstance(e, TunablePrecision) else e for e in given["arguments"]
        ]
        params = {**given["tune_params"], key: [value]}
        own = {"arguments": arguments, "tune_params": params, "strategy_options": options}
        found, told = tune_kernel(**{**given, **own})
        rows += found
        for name, number in told.items():
            same = name.startswith("total_") and name in env
            env[name] = env[name] + number if same else number
    env.pop("best_config", None)
    if rows:
        wanted, higher = given["objective"] or "time", bool(given["objective_higher_is_better"])
        env["best_config"] = results.best_of(rows, str(wanted), higher)
    return rows, env
