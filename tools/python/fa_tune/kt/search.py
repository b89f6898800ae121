"""A search for tune_kernel: the program's run, its rows, and the caller's own checks."""

from __future__ import annotations

import inspect
import random
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, List, Mapping, Optional, Sequence, Tuple

from .. import _run
from ..errors import InputError, Interrupted, error_of
from . import arguments as args
from . import configs, devices, execute, observe, problem, results, strategies
from .launches import Launches
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
    observers: observe.Observers,
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
            compared=verify is None and not observers.outputs,
            atol=atol,
            excluded=[results.key_of(row, request.params) for row in cached],
            most=evaluations,
        )
        database = folder / "run.db"
        words = ["evolve", "--format=json", f"--space={space.path}", f"--db={database}"]
        words += [f"--device={device.name}", f"--strategy={plan.name}", "--warm=off"]
        words += [f"--budget={evaluations}", *_run.option("seed", seed)]
        if device.is_emulator or not plan.finals:  # an emulator predicts the same each time
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
        if verify is not None or observers.need_launches:
            with Launches(request, space.arguments, device, database) as launches:
                expected = None if answer is None else args.answers(answer, space.arguments)
                _look(launches, expected, verify, atol, observers, right, request.params, verbose)
        if observers.registers:
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


def _look(
    launches: Launches,
    expected: Optional[Sequence[Any]],
    verify: Any,
    atol: float,
    observers: observe.Observers,
    rows: Sequence[Row],
    params: configs.Params,
    verbose: bool,
) -> None:
    """Asks the caller's function and observers of each config that ran; takes the time of those
    that the function refuses.

    It is given what is expected, and what came of it: None where nothing is said of an argument.
    """
    wanted = launches.arrays if expected is None else [each is not None for each in expected]
    observers.begin(launches.device)
    for row in rows:
        config = {name: row[name] for name in params}
        if verify is not None or observers.outputs:
            outputs = launches.outputs(config, wanted)
            observers.look_at_output(row, expected or [], outputs)
            if verify is not None and not asked(verify, expected, outputs, atol, config):
                row["time"] = "RuntimeFailedConfig"
                if verbose:
                    say(f"verify refused {config}")
                continue
        observers.look_at_launches(row, config, launches)
    left = [row for row in rows if results.is_right(row)]
    for each in observers.profilers if left else []:
        each.profile(left, [{name: row[name] for name in params} for row in left], launches)


def asked(
    verify: Any, expected: Any, outputs: List[Any], atol: float, config: Mapping[str, Any]
) -> bool:
    """With `atol` where the function takes it."""
    taken = inspect.signature(verify).parameters
    named = "atol" in taken or any(p.kind is p.VAR_KEYWORD for p in taken.values())
    more = {"atol": atol} if named else {}
    try:
        return bool(verify(expected, outputs, **more))
    except Exception as error:
        raise InputError(f"verify: the function failed for {config}: {error!r}") from error
