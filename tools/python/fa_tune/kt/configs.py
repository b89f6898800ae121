"""Restrictions, and other functions of a config, as texts for the program."""

from __future__ import annotations

import ast
import itertools
import math
import random
from typing import Any, Callable, Dict, Iterator, List, Mapping, Sequence, Tuple

from ..errors import InputError
from . import trace

MOST_CONFIGS = 2_000_000
MOST_TEXT = 500_000
SAMPLES = 300
# Of a config for which a function fails: no launch takes it.
NO_VALUE = -1

Params = Mapping[str, Sequence[Any]]

_NODES = (
    ast.Expression,
    ast.BoolOp,
    ast.And,
    ast.Or,
    ast.UnaryOp,
    ast.Not,
    ast.USub,
    ast.UAdd,
    ast.BinOp,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.FloorDiv,
    ast.Mod,
    ast.Pow,
    ast.Compare,
    ast.Eq,
    ast.NotEq,
    ast.Lt,
    ast.LtE,
    ast.Gt,
    ast.GtE,
    ast.In,
    ast.NotIn,
    ast.IfExp,
    ast.Name,
    ast.Load,
    ast.Constant,
    ast.List,
    ast.Tuple,
)
_KNOWN: Dict[str, Any] = {
    "__builtins__": {},
    "abs": abs,
    "min": min,
    "max": max,
    "int": trace.whole,
    "float": lambda value: value if isinstance(value, trace.Term) else float(value),
    "round": round,
    "len": len,
    "sum": sum,
    "any": any,
    "all": all,
    "range": range,
    "math": math,
    "ceil": math.ceil,
    "floor": math.floor,
}


def product(params: Params) -> Iterator[Dict[str, Any]]:
    for values in itertools.product(*params.values()):
        yield dict(zip(params, values))


def count(params: Params) -> int:
    return math.prod(len(values) for values in params.values())


def of_text(text: str, what: str) -> trace.Function:
    """A function of a config for an expression as Python has it."""
    try:
        code = compile(text.strip(), f"<{what}>", "eval")
    except SyntaxError as error:
        raise InputError(f"{what}: {text!r} is no expression: {error.msg}") from None
    return lambda config: eval(code, _KNOWN, dict(config))  # noqa: S307 - the caller's own text


def _is_plain(text: str, params: Params) -> bool:
    """Whether the program reads the text as Python does."""
    tree = ast.parse(text.strip(), mode="eval")
    return all(
        isinstance(node, _NODES)
        and (not isinstance(node, ast.Name) or node.id in params)
        and (not isinstance(node, ast.Constant) or isinstance(node.value, (bool, int, float, str)))
        for node in ast.walk(tree)
    )


def _sampled(params: Params) -> List[Dict[str, Any]]:
    drawn = random.Random(1)
    if count(params) <= SAMPLES:
        return list(product(params))
    return [{n: drawn.choice(list(v)) for n, v in params.items()} for _ in range(SAMPLES)]


def _agrees(
    text: str, function: trace.Function, params: Params, truth: Callable[[Any], Any]
) -> bool:
    for config in _sampled(params):
        try:
            expected = truth(function(config))
        except Exception:
            return False
        try:
            if truth(trace.evaluated(text, config)) != expected:
                return False
        except Exception:
            return False
    return True


def restriction(given: Any, params: Params) -> str:
    """A restriction, a text or a function, as a condition in Python's words."""
    if isinstance(given, str):
        function = of_text(given, "restrictions")
        if _is_plain(given, params):
            return " ".join(given.split())
        unknown = _unknown_names(given, params)
        if unknown:
            raise InputError(f"restrictions: {given!r} names {unknown}, which is no parameter")
    elif callable(given):
        function = given
    else:
        raise InputError(f"restrictions: expected texts and functions, not {type(given).__name__}")
    try:
        text = trace.condition(function, list(params))
        if len(text) <= MOST_TEXT and _agrees(text, function, params, bool):
            return text
    except trace.Untraceable:
        pass
    return _listed(function, params)


def passes(texts: Sequence[str]) -> Callable[[Mapping[str, Any]], bool]:
    """Whether a config is right by all of these conditions."""
    codes = [compile(text, "<restrictions>", "eval") for text in texts]
    known = {"__builtins__": {}, "abs": abs, "min": min, "max": max}
    return lambda config: all(eval(code, known, dict(config)) for code in codes)  # noqa: S307


def _unknown_names(text: str, params: Params) -> str:
    names = [
        n.id for n in ast.walk(ast.parse(text.strip(), mode="eval")) if isinstance(n, ast.Name)
    ]
    bound = {
        n.id
        for n in ast.walk(ast.parse(text.strip(), mode="eval"))
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    return ", ".join(n for n in names if n not in params and n not in _KNOWN and n not in bound)


def _listed(function: trace.Function, params: Params) -> str:
    """All configs for which it is true, as a tree of memberships."""
    if count(params) > MOST_CONFIGS:
        raise InputError(
            f"restrictions: a function does what cannot be written down, and {count(params)} "
            f"configs are too many to ask it about each ({MOST_CONFIGS}); state it as a text, or "
            f"use + - * / // % and comparisons alone"
        )
    allowed = []
    for config in product(params):
        try:
            if function(config):
                allowed.append(tuple(config.values()))
        except Exception as error:
            raise InputError(f"restrictions: a function failed for {config}: {error!r}") from error
    return members(list(params), allowed)


def members(names: Sequence[str], allowed: Sequence[Tuple[Any, ...]]) -> str:
    """A condition that is true of these configs alone."""
    if not allowed:
        return "False"
    known: Dict[Tuple[Tuple[Any, ...], ...], str] = {}

    def text_of(at: int, rest: Tuple[Tuple[Any, ...], ...]) -> str:
        if rest in known:
            return known[rest]
        below: Dict[Any, List[Tuple[Any, ...]]] = {}
        for each in rest:
            below.setdefault(each[0], []).append(each[1:])
        same: Dict[Tuple[Tuple[Any, ...], ...], List[Any]] = {}
        for value, tails in below.items():
            same.setdefault(tuple(dict.fromkeys(tails)), []).append(value)
        parts = []
        for tail, values in same.items():
            listed = f"{names[at]} in [{', '.join(trace.literal(v) for v in values)}]"
            more = text_of(at + 1, tail) if tail[0] else ""
            parts.append(f"({listed} and {more})" if more else f"({listed})")
        known[rest] = f"({' or '.join(parts)})" if len(parts) > 1 else parts[0]
        return known[rest]

    text = text_of(0, tuple(allowed))
    if len(text) > MOST_TEXT:
        raise InputError(
            f"restrictions: a function's {len(allowed)} configs make too long a list; state it as "
            f"a text, or use + - * / // % and comparisons alone"
        )
    return text


def number(function: trace.Function, params: Params, what: str) -> str:
    """A whole number that follows from a config, in the program's own language."""
    try:
        text = trace.integer(function, list(params))
        if len(text) <= MOST_TEXT and _agrees(text, function, params, int):
            return text
    except trace.Untraceable:
        pass
    return _tabulated(function, params, what)


def _tabulated(function: trace.Function, params: Params, what: str) -> str:
    if count(params) > MOST_CONFIGS:
        raise InputError(f"{what}: cannot be written down, and there are too many configs to ask")
    values: Dict[Tuple[Any, ...], int] = {}
    failed: List[Exception] = []
    for config in product(params):
        try:
            value = int(function(config))
        except Exception as error:  # restrictions may exclude that config
            failed.append(error)
            value = NO_VALUE
        values[tuple(config.values())] = value
    if len(failed) == len(values):
        raise InputError(f"{what}: failed for every config, as with {failed[0]!r}")
    names = list(params)
    keep = [i for i in range(len(names)) if _depends(values, i)]
    table = {tuple(key[i] for i in keep): value for key, value in values.items()}
    if len(set(table.values())) > 200:
        raise InputError(f"{what}: has {len(set(table.values()))} values that no expression gives")
    entries = list(table.items())
    text = str(entries[-1][1])
    by_value: Dict[int, List[Tuple[Any, ...]]] = {}
    for key, value in entries:
        by_value.setdefault(value, []).append(key)
    for value, keys in list(by_value.items()):
        if str(value) != text:
            text = f"({value} if {members([names[i] for i in keep], keys)} else {text})"
    return text


def _depends(values: Mapping[Tuple[Any, ...], int], at: int) -> bool:
    seen: Dict[Tuple[Any, ...], int] = {}
    for key, value in values.items():
        if seen.setdefault(key[:at] + key[at + 1 :], value) != value:
            return True
    return False
