"""A search for tune_kernel: the program's run, its rows, and the caller's own checks."""

from __future__ import annotations

import inspect
import random
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, List, Optional, Sequence, Tuple

from .. import _run
from ..errors import InputError, Interrupted, error_of
from . import arguments as args
from . import configs, devices, execute, observe, problem, results, strategies
from .results import Row


def say(text: str) -> None:
    print(f"fa_tune: {text}", file=sys.stderr)


def simulated(
    path: Optional[Path], cached: Sequence[Row], plan: strategies.Plan, seed: Optional[int]
) -> List[Row]:
    if path is None or not cached:
        raise InputError("simulation_mode: needs `cache`, a file with rows")
    if plan.name not in ("exhaustive", "random"):
        raise InputError(
            "simulation_mode: here only brute_force and random_sample; `fa-tune replay` runs all "
            "strategies on cache files"
        )
    rows = list(cached)
    if plan.name == "random":
        random.Random(seed).shuffle(rows)
    return rows[: plan.evaluations] if plan.evaluations else rows


def search(
    request: problem.Request,
    limits: Sequence[str],
    plan: strategies.Plan,
    device: devices.Device,
    cached: Sequence[Row],
    answer: Optional[Sequence[Any]],
    atol: float,
    verify: Any,
    seed: Optional[int],
    verbose: bool,
    quiet: bool,
    watchers: Sequence[str],
) -> Tuple[List[Row], str]:
    """The rows of a search, and the device's name."""
    whole = configs.count(request.params)
    evaluations = min(plan.evaluations or whole, whole) - len(cached)
    if evaluations <= 0 or (cached and not _left(request.params, limits, len(cached))):
        return [], device.name
    with tempfile.TemporaryDirectory(prefix="fa-tune-") as name:
        folder = Path(name)
        space = problem.write(
            request,
            folder,
            device.target,
            limits,
            answer,
            compared=verify is None,
            atol=atol,
            excluded=[results.key_of(row, request.params) for row in cached],
            most=evaluations,
        )
        database = folder / "run.db"
        words = ["evolve", "--format=json", f"--space={space.path}", f"--db={database}"]
        words += [f"--device={device.name}", f"--strategy={plan.name}", "--warm=off"]
        words += [f"--budget={evaluations}", *_run.option("seed", seed)]
        if device.is_emulator:  # whose predictions are the same each time
            words.append("--no-finals")
        done = _run.run(words, None if not quiet else False, plan.seconds)
        rows, title = _rows(database, folder, request.params)
        if done.code == 130 and not done.timed_out:
            raise Interrupted(
                ([row for row in rows if results.is_right(row)], {"device_name": title})
            )
        if done.code not in (0, 1) and not done.timed_out:
            raise error_of(done.code, done.message.replace(f"{folder}/", ""))
        right = [row for row in rows if results.is_right(row)]
        if not quiet and (not right or (verbose and len(right) < len(rows))):
            say(
                f"{len(rows) - len(right)} of {len(rows)} configs failed: {execute.reasons(database)}"
            )
        if verify is not None:
            _verify(request, device, space, answer, verify, atol, right, verbose)
        if watchers:
            observe.add_registers(database, rows, request.params)
        return rows, title


def _left(params: configs.Params, limits: Sequence[str], known: int) -> bool:
    """Whether there are more configs than these."""
    if configs.count(params) > configs.MOST_CONFIGS:
        return True
    passes = configs.passes(limits)
    return sum(map(passes, configs.product(params))) > known


def _rows(database: Path, folder: Path, params: configs.Params) -> Tuple[List[Row], str]:
    table = folder / "table.json"
    done = _run.run(["export", "--as=cachefile", "--run=1", f"--db={database}", f"--out={table}"])
    if done.code != 0:
        return [], ""
    said, rows = results.read_table(table.read_text(encoding="utf-8"), params, "table")
    results.with_own_values(rows, params)
    now = datetime.now(timezone.utc).isoformat()
    for row in rows:
        row.setdefault("timestamp", now)
    return rows, str(said.get("device_name", ""))


def _verify(
    request: problem.Request,
    device: devices.Device,
    space: problem.Space,
    answer: Optional[Sequence[Any]],
    verify: Any,
    atol: float,
    rows: Sequence[Row],
    verbose: bool,
) -> None:
    """Asks the caller's function of each config that ran; takes the time of those that it refuses.

    It is given what is expected, and what came of it: None where nothing is said of an argument.
    """
    expected = None if answer is None else args.answers(answer, space.arguments)
    for row in rows:
        config = {name: row[name] for name in request.params}
        outputs: List[Any] = []
        for i, (each, value) in enumerate(
            zip(space.arguments, execute.run(request, config, device))
        ):
            asked = each.is_array if expected is None else expected[i] is not None
            outputs.append(value if asked else None)
        try:
            right = _asked(verify, expected, outputs, atol)
        except Exception as error:
            raise InputError(f"verify: the function failed for {config}: {error!r}") from error
        if not right:
            row["time"] = "RuntimeFailedConfig"
            if verbose:
                say(f"verify refused {config}")


def _asked(verify: Any, expected: Any, outputs: List[Any], atol: float) -> bool:
    """With `atol` where the function takes it."""
    taken = inspect.signature(verify).parameters
    named = "atol" in taken or any(p.kind is p.VAR_KEYWORD for p in taken.values())
    more = {"atol": atol} if named else {}
    return bool(verify(expected, outputs, **more))
