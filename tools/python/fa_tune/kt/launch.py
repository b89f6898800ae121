"""Grid, block and shared memory as Kernel Tuner finds them from a config."""

from __future__ import annotations

import math
from typing import Any, List, Mapping, Optional, Sequence, Tuple

from ..errors import InputError
from . import configs, trace

BLOCK_NAMES = ("block_size_x", "block_size_y", "block_size_z")
_DEFAULT_BLOCK = (256, 1, 1)


class Geometry:
    """Each size is a function of a config: of numbers, or of terms that write it down."""

    def __init__(
        self,
        problem_size: Any,
        grid_div: Sequence[Any],
        block_names: Optional[Sequence[str]],
        smem_args: Optional[Mapping[str, Any]],
    ) -> None:
        self.problem_size, self.grid_div = problem_size, list(grid_div)
        names = list(block_names or [])
        if len(names) > 3 or not all(isinstance(name, str) for name in names):
            raise InputError("block_size_names: expected at most three names")
        self.block_names = names + list(BLOCK_NAMES[len(names) :])
        self.shared_given = (smem_args or {}).get("size", 0)
        for name in smem_args or {}:
            if name != "size":
                raise InputError(f"smem_args: only 'size' is known, not {name!r}")

    def _sizes(self, config: Mapping[str, Any]) -> List[Any]:
        given = self.problem_size
        if callable(given):
            given = given(config)
        if not isinstance(given, (tuple, list)):
            given = (given,)
        if not 1 <= len(given) <= 3:
            raise InputError(f"problem_size: expected one to three sizes, not {len(given)}")
        sizes: List[Any] = []
        for size in given:
            if isinstance(size, str):
                size = trace.whole(configs.of_text(size, "problem_size")(config))
            elif hasattr(size, "item"):
                size = size.item()
            if not isinstance(size, (int, float, trace.Term)):
                raise InputError(f"problem_size: expected numbers and texts, not {size!r}")
            sizes.append(size)
        return sizes + [1] * (3 - len(sizes))

    def _divisor(self, given: Any, axis: int, config: Mapping[str, Any]) -> Any:
        what = f"grid_div_{'xyz'[axis]}"
        if given is None:
            return config.get(self.block_names[axis], 1)
        if callable(given):
            return given(config)
        if isinstance(given, str):
            return trace.whole(configs.of_text(given, what)(config))
        if isinstance(given, (list, tuple)):
            result: Any = 1
            for each in given:
                result = result * self._divisor(each, axis, config)
            return result
        if hasattr(given, "item"):
            given = given.item()
        if isinstance(given, (int, float, trace.Term)):
            return given
        raise InputError(f"{what}: expected names, texts, numbers or a function, not {given!r}")

    def grid(self, axis: int, config: Mapping[str, Any]) -> Any:
        size, divisor = self._sizes(config)[axis], self._divisor(self.grid_div[axis], axis, config)
        return (
            math.ceil(size / divisor)
            if isinstance(divisor, trace.Term) or divisor != 1
            else _whole(size)
        )

    def block(self, axis: int, config: Mapping[str, Any]) -> Any:
        return config.get(self.block_names[axis], _DEFAULT_BLOCK[axis])

    def shared(self, config: Mapping[str, Any]) -> Any:
        size = self.shared_given
        if callable(size):
            size = size(config)
        elif isinstance(size, str):
            size = configs.of_text(size, "smem_args")(config)
        return trace.whole(size)

    def of(self, config: Mapping[str, Any]) -> Tuple[Tuple[int, ...], Tuple[int, ...], int]:
        """Grid, block and bytes of shared memory of one config."""
        grid = tuple(int(self.grid(axis, config)) for axis in range(3))
        block = tuple(int(self.block(axis, config)) for axis in range(3))
        return grid, block, int(self.shared(config))

    def texts(self, params: configs.Params) -> Mapping[str, Any]:
        """The member `launch` of a manifest."""

        def axis_text(kind: Any, axis: int, what: str) -> str:
            return configs.number(lambda config: kind(axis, config), params, what)

        launch = {
            "grid": [axis_text(self.grid, i, f"grid_div_{'xyz'[i]}") for i in range(3)],
            "block": [axis_text(self.block, i, self.block_names[i]) for i in range(3)],
        }
        shared = configs.number(self.shared, params, "smem_args")
        return launch if shared == "0" else {**launch, "shared": shared}


def _whole(size: Any) -> Any:
    return math.ceil(size) if isinstance(size, (float, trace.Term)) else size
