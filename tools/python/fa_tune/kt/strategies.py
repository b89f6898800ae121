"""Kernel Tuner's strategies, and which of the program's stands for each."""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

from ..errors import InputError

_SAME = {
    "brute_force": "exhaustive",
    "random_sample": "random",
    "genetic_algorithm": "genetic",
    "simulated_annealing": "simulated_annealing",
    "greedy_ils": "ils",
    "diff_evo": "differential_evolution",
}
# What the program has no like of: its own default takes the place.
_OWN = (
    "adaptive_tabu_grey_wolf",
    "AdaptiveTabuGreyWolf",
    "basinhopping",
    "bayes_opt",
    "dual_annealing",
    "firefly_algorithm",
    "greedy_mls",
    "HybridVNDX",
    "minimize",
    "mls",
    "ordered_greedy_mls",
    "pso",
    "pyatf_strategies",
    "skopt",
)
# The program's own names are taken too.
_OURS = ("evolve", "random", "exhaustive", "genetic", "ils", "differential_evolution")
DEFAULT_FEVALS = 100


class Plan(NamedTuple):
    """`evaluations` is None where the whole space is meant."""

    name: str
    evaluations: Optional[int]
    seconds: Optional[float]
    finals: bool
    note: str


class Strategy:
    """What stands for a strategy's module: `strategies.minimize`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<strategy {self.name}>"


def known() -> Tuple[str, ...]:
    return tuple(dict.fromkeys([*_SAME, *_OWN, *_OURS]))


def plan(strategy: Any, options: Optional[Mapping[str, Any]], drawn: bool = False) -> Plan:
    """`drawn`: where only random draws can take the place of a strategy."""
    given = strategy.name if isinstance(strategy, Strategy) else strategy
    if given is None:
        given = "brute_force"
    if not isinstance(given, str):
        raise InputError(
            "strategy: a strategy of your own is not called here; the program asks one through "
            "`fa-tune evolve --proposer`"
        )
    # Kernel Tuner's documentation writes some with a blank.
    name = given.strip().replace(" ", "_")
    if name not in known():
        raise InputError(f"strategy: {given!r} is not known; there are {', '.join(known())}")
    left: Dict[str, Any] = dict(options or {})
    evaluations, seconds = left.pop("max_fevals", None), left.pop("time_limit", None)
    finals = left.pop("finals", True)
    if not isinstance(finals, bool):
        raise InputError(f"strategy_options: finals is True or False, not {finals!r}")
    left.pop("searchspace_construction_options", None)
    notes = []
    ours = _SAME.get(name, name if name in _OURS else "evolve")
    if drawn and ours not in ("exhaustive", "random"):
        ours = "random"
        notes.append(f"strategy: of host code configs are drawn at random, not by {name}")
    elif name in _OWN:
        notes.append(f"strategy: {name} is not here; the program's own, evolve, takes its place")
    if left:
        notes.append(f"strategy_options: {', '.join(map(str, left))} mean nothing here")
    if evaluations is None and seconds is None and ours != "exhaustive":
        evaluations = DEFAULT_FEVALS
    for what, value in (("max_fevals", evaluations), ("time_limit", seconds)):
        if value is not None and not value > 0:
            raise InputError(f"strategy_options: {what} must be above 0, not {value!r}")
    whole = None if evaluations is None else int(evaluations)
    bound = os.environ.get("FA_TUNE_MAX_FEVALS", "")
    if bound.isdigit() and int(bound) > 0:  # to try a script whose searches are long
        whole = min(whole or int(bound), int(bound))
    limit = None if seconds is None else float(seconds)
    return Plan(ours, whole, limit, finals, "; ".join(notes))


def __getattr__(name: str) -> Strategy:
    if name in known():
        return Strategy(name)
    raise AttributeError(name)
