"""Whether what host code leaves in its arguments is right."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence

import numpy

from ..errors import InputError
from .search import asked

_RELATIVE = 1e-5


class Checks:
    """What decides whether a config's results are right."""

    def __init__(
        self, answer: Optional[Sequence[Any]], verify: Any, atol: float, arguments: Sequence[Any]
    ) -> None:
        self._verify, self._atol = verify, float(atol or 0)
        self.answer = None if answer is None else _answers(answer, arguments, verify is None)
        self.wanted = [
            isinstance(value, numpy.ndarray) if self.answer is None else self.answer[i] is not None
            for i, value in enumerate(arguments)
        ]

    @property
    def any(self) -> bool:
        return self._verify is not None or any(e is not None for e in self.answer or [])

    def refusal(self, outputs: List[Any], config: Mapping[str, Any]) -> str:
        """Empty where the results are right."""
        if self._verify is not None:
            right = asked(self._verify, self.answer, outputs, self._atol, config)
            return "" if right else "verify refuses its results"
        for i, expected in enumerate(self.answer or []):
            if expected is None:
                continue
            found = outputs[i]
            near = numpy.isclose(
                found.reshape(-1), expected.reshape(-1), _RELATIVE, self._atol, equal_nan=True
            )
            if not near.all():
                at = int(numpy.argmin(near))
                return (
                    f"gives a wrong result: element {at} of arguments[{i}] is "
                    f"{found.reshape(-1)[at]}, expected {expected.reshape(-1)[at]}"
                )
        return ""


def _answers(given: Sequence[Any], arguments: Sequence[Any], compared: bool) -> List[Any]:
    if len(given) != len(arguments):
        raise InputError(
            f"answer: has {len(given)} elements, and there are {len(arguments)} arguments"
        )
    found = [None if each is None else numpy.asarray(each) for each in given]
    for i, (expected, value) in enumerate(zip(found, arguments)):
        if expected is None or not compared:
            continue
        if not isinstance(value, numpy.ndarray):
            raise InputError(f"answer[{i}]: is for a scalar, which no function changes")
        if expected.size != value.size:
            raise InputError(
                f"answer[{i}]: has {expected.size} elements, and the argument has {value.size}"
            )
    return found
