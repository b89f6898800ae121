"""Functions of a config as expressions that the program knows.

A lambda is called with terms in the place of numbers: what it does with them is written down. Where
it asks a term for its truth (`and`, `if`, `in`, a chained comparison), it is called again for the
other answer, until all its ways are known. Whatever asks for more than that, as math.sqrt() does, is
Untraceable: its values are then tabulated.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Callable, Dict, List, Mapping, NoReturn, Sequence, Tuple

MOST_WAYS = 128

Function = Callable[[Mapping[str, Any]], Any]


class Untraceable(Exception):
    """What a function does cannot be written down."""


class _Ways:
    """The answers that a function gets when it asks for truths, and what it asked."""

    def __init__(self, answers: Sequence[bool]) -> None:
        self.answers = list(answers)
        self.asked: List[Tuple["Term", bool]] = []

    def decide(self, term: "Term") -> bool:
        at = len(self.asked)
        answer = self.answers[at] if at < len(self.answers) else True
        self.asked.append((term, answer))
        return answer


def literal(value: Any) -> str:
    return repr(value) if isinstance(value, (bool, str)) else str(value)


class Term:
    """`python` is its text as Python has it. `over` and `under` are integers of the program's own
    language, whose quotient it is; `over` alone where it is a truth or a text."""

    __slots__ = ("python", "over", "under", "_ways")
    __array_ufunc__ = None  # so that NumPy's numbers let us do the arithmetic
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, ways: _Ways, python: str, over: str, under: str = "1") -> None:
        self._ways, self.python, self.over, self.under = ways, python, over, under

    def _lift(self, value: Any) -> "Term":
        if isinstance(value, Term):
            return value
        if hasattr(value, "item"):  # of NumPy
            value = value.item()
        if isinstance(value, float):
            exact = Fraction(value).limit_denominator(1 << 20)
            return Term(self._ways, repr(value), str(exact.numerator), str(exact.denominator))
        if isinstance(value, (bool, int, str)):
            return Term(self._ways, literal(value), literal(value))
        raise Untraceable(f"{type(value).__name__} beside a parameter")

    def _make(self, python: str, over: str, under: str = "1") -> "Term":
        if len(python) + len(over) > 100_000:
            raise Untraceable("an expression that is too long")
        return Term(self._ways, python, over, under)

    def _add(self, a: "Term", b: "Term", sign: str) -> "Term":
        if a.under == b.under:
            over, under = f"({a.over} {sign} {b.over})", a.under
        else:
            over = f"({_times(a.over, b.under)} {sign} {_times(b.over, a.under)})"
            under = _times(a.under, b.under)
        return self._make(f"({a.python} {sign} {b.python})", over, under)

    def __add__(self, other: Any) -> "Term":
        return self._add(self, self._lift(other), "+")

    def __radd__(self, other: Any) -> "Term":
        return self._add(self._lift(other), self, "+")

    def __sub__(self, other: Any) -> "Term":
        return self._add(self, self._lift(other), "-")

    def __rsub__(self, other: Any) -> "Term":
        return self._add(self._lift(other), self, "-")

    def __mul__(self, other: Any) -> "Term":
        b = self._lift(other)
        text = f"({self.python} * {b.python})"
        return self._make(text, _times(self.over, b.over), _times(self.under, b.under))

    __rmul__ = __mul__

    def _divide(self, a: "Term", b: "Term") -> "Term":
        text = f"({a.python} / {b.python})"
        return self._make(text, _times(a.over, b.under), _times(a.under, b.over))

    def __truediv__(self, other: Any) -> "Term":
        return self._divide(self, self._lift(other))

    def __rtruediv__(self, other: Any) -> "Term":
        return self._divide(self._lift(other), self)

    def _floor(self, a: "Term", b: "Term") -> "Term":
        over = f"({_times(a.over, b.under)} // {_times(a.under, b.over)})"
        return self._make(f"({a.python} // {b.python})", over)

    def __floordiv__(self, other: Any) -> "Term":
        return self._floor(self, self._lift(other))

    def __rfloordiv__(self, other: Any) -> "Term":
        return self._floor(self._lift(other), self)

    def _modulo(self, a: "Term", b: "Term") -> "Term":
        if a.under != "1" or b.under != "1":
            raise Untraceable("a remainder of real numbers")
        return self._make(f"({a.python} % {b.python})", f"({a.over} % {b.over})")

    def __mod__(self, other: Any) -> "Term":
        return self._modulo(self, self._lift(other))

    def __rmod__(self, other: Any) -> "Term":
        return self._modulo(self._lift(other), self)

    def __neg__(self) -> "Term":
        return self._make(f"(-{self.python})", f"(-{self.over})", self.under)

    def __pos__(self) -> "Term":
        return self

    def __abs__(self) -> "Term":
        return self._make(f"abs({self.python})", f"abs({self.over})", f"abs({self.under})")

    def __pow__(self, exponent: Any) -> "Term":
        if not isinstance(exponent, int) or not 1 <= exponent <= 8:
            raise Untraceable("a power that is not 1 to 8")
        result = self
        for _ in range(exponent - 1):
            result = result * self
        return result

    def _compare(self, other: Any, sign: str) -> "Term":
        b = self._lift(other)
        over = f"({_times(self.over, b.under)} {sign} {_times(b.over, self.under)})"
        return self._make(f"({self.python} {sign} {b.python})", over)

    def __eq__(self, other: Any) -> Any:
        return self._compare(other, "==")

    def __ne__(self, other: Any) -> Any:
        return self._compare(other, "!=")

    def __lt__(self, other: Any) -> "Term":
        return self._compare(other, "<")

    def __le__(self, other: Any) -> "Term":
        return self._compare(other, "<=")

    def __gt__(self, other: Any) -> "Term":
        return self._compare(other, ">")

    def __ge__(self, other: Any) -> "Term":
        return self._compare(other, ">=")

    def __bool__(self) -> bool:
        return self._ways.decide(self)

    def __ceil__(self) -> "Term":
        return self if self.under == "1" else self._whole(f"ceil_div({self.over}, {self.under})")

    def __floor__(self) -> "Term":
        return self if self.under == "1" else self._whole(f"({self.over} // {self.under})")

    def _whole(self, over: str) -> "Term":
        return self._make(over, over)

    def _refuse(self, *_: Any) -> NoReturn:
        raise Untraceable("a parameter is asked for its value")

    __int__ = __float__ = __index__ = __round__ = __trunc__ = __iter__ = _refuse
    __and__ = __or__ = __xor__ = __invert__ = __lshift__ = __rshift__ = __contains__ = _refuse


def _times(a: str, b: str) -> str:
    return a if b == "1" else b if a == "1" else f"({a} * {b})"


def whole(value: Any) -> Any:
    """int(value), of a term too: parts below one are left away."""
    return value.__floor__() if isinstance(value, Term) else int(value)


_Way = Tuple[List[Tuple[Term, bool]], Any]


def _all_ways(function: Function, names: Sequence[str]) -> List[_Way]:
    pending: List[List[bool]] = [[]]
    found: List[_Way] = []
    while pending:
        answers = pending.pop()
        ways = _Ways(answers)
        try:
            value = function({name: Term(ways, name, name) for name in names})
        except Untraceable:
            raise
        except Exception as error:  # whatever a stranger's function does not like
            raise Untraceable(str(error)) from error
        found.append((ways.asked, value))
        given = [answer for _, answer in ways.asked]
        pending += [given[:at] + [not given[at]] for at in range(len(answers), len(given))]
        if len(found) + len(pending) > MOST_WAYS:
            raise Untraceable("it goes too many ways")
    return found


def _joined(parts: Sequence[str], word: str, none: str) -> str:
    return f"({f' {word} '.join(parts)})" if parts else none


def condition(function: Function, names: Sequence[str]) -> str:
    """When it is true, in Python. Raises Untraceable."""
    allowed = []
    for asked, value in _all_ways(function, names):
        for term, answer in asked:
            if value is term:  # `a and b` is a where a is false
                value = answer
        if not isinstance(value, Term) and not value:
            continue
        parts = [term.python if answer else f"(not {term.python})" for term, answer in asked]
        if isinstance(value, Term):
            parts.append(value.python)
        allowed.append(_joined(parts, "and", "True"))
    return _joined(allowed, "or", "False")


def integer(function: Function, names: Sequence[str]) -> str:
    """Its whole value, in the program's own language. Raises Untraceable."""
    text = ""
    for asked, value in reversed(_all_ways(function, names)):
        if isinstance(value, Term):
            if value.under != "1":
                raise Untraceable("a value that need not be whole")
            result = value.over
        else:
            result = str(int(value))
        parts = [term.over if answer else f"(not {term.over})" for term, answer in asked]
        last = not text or not parts
        text = result if last else f"({result} if {_joined(parts, 'and', '')} else {text})"
    return text


def evaluated(text: str, config: Mapping[str, Any]) -> Any:
    """What the program makes of a text of ours, which is also one of Python."""
    known: Dict[str, Any] = {
        "__builtins__": {},
        "ceil_div": lambda a, b: -(-a // b),
        "abs": abs,
        "min": min,
        "max": max,
    }
    return eval(text, known, dict(config))  # noqa: S307 - texts that were made above
