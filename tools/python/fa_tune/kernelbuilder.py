"""A kernel with one config as a function of Python."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence

from .errors import InputError
from .kt.interface import run_kernel


class PythonKernel:
    """Calls a kernel with other arguments of the same sizes.

    What it returns are the arguments that `outputs` marks; with neither `inputs` nor `outputs` all.
    NumPy arrays are copied; for kernels that are called often, `Winner.compile()` is the way.
    """

    def __init__(
        self,
        kernel_name: str,
        kernel_string: Any,
        problem_size: Any,
        arguments: Sequence[Any],
        params: Optional[Mapping[str, Any]] = None,
        inputs: Optional[Sequence[bool]] = None,
        outputs: Optional[Sequence[bool]] = None,
        **options: Any,
    ) -> None:
        for what, marks in (("inputs", inputs), ("outputs", outputs)):
            if marks is not None and len(marks) != len(arguments):
                raise InputError(f"{what}: expected a mark for each of {len(arguments)} arguments")
        self._first = (kernel_name, kernel_string, problem_size)
        self._arguments, self._params = list(arguments), dict(params or {})
        self._outputs, self._options = outputs, options

    def __call__(self, *arguments: Any) -> Any:
        given = list(arguments) or self._arguments
        if len(given) != len(self._arguments):
            raise TypeError(f"takes {len(self._arguments)} arguments, not {len(given)}")
        after = run_kernel(*self._first, given, self._params, **self._options)
        self._write_back(given, after)
        if self._outputs is None:
            return after
        results = [value for value, wanted in zip(after, self._outputs) if wanted]
        return results[0] if len(results) == 1 else results

    def _write_back(self, given: List[Any], after: List[Any]) -> None:
        """As a kernel does that is called with arrays."""
        import numpy

        for before, now in zip(given, after):
            if isinstance(before, numpy.ndarray) and before.flags.writeable:
                before[...] = now
            elif hasattr(before, "set") and type(before).__module__.startswith("cupy"):
                before.set(now)
