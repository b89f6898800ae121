"""What Kernel Tuner's scripts take from its module of this name."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Sequence

from .kt.results import best_of


def get_config_string(
    params: Mapping[str, Any],
    keys: Optional[Sequence[str]] = None,
    units: Optional[Mapping[str, str]] = None,
) -> str:
    """A config, or a row of results, in one line."""
    shown = []
    for name, value in params.items():
        if keys is None or name in keys:
            text = f"{value:.3f}" if isinstance(value, float) else str(value)
            shown.append(f"{name}={text}{(units or {}).get(name, '')}")
    return ", ".join(shown)


def get_best_config(
    results: Sequence[Dict[str, Any]], objective: str, objective_higher_is_better: bool = False
) -> Dict[str, Any]:
    return best_of(results, objective, objective_higher_is_better)
