"""tune_kernel and run_kernel, with Kernel Tuner 1.5's arguments."""

from __future__ import annotations

import inspect
import random
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .. import _run
from ..errors import InputError, Interrupted, error_of
from . import configs, devices, execute, observe, precision, problem, results, source, strategies
from . import arguments as args
from .launch import Geometry
from .results import Row

_LANGUAGES = ("CUDA", "CUPY", "NVCUDA")


def _refuse(name: str, given: Any, why: str) -> None:
    if given:
        raise InputError(f"{name}: {why}")


def _check_lang(lang: Optional[str]) -> None:
    if lang is not None and str(lang).upper() not in _LANGUAGES:
        raise InputError(
            f"lang: {lang!r} is not tuned here, only kernels in CUDA C++; host code and other "
            f"languages are Kernel Tuner's"
        )


def _request(
    kernel_name: Any,
    kernel_source: Any,
    problem_size: Any,
    arguments: Sequence[Any],
    params: Any,
    grid_div: Sequence[Any],
    block_size_names: Optional[Sequence[str]],
    smem_args: Optional[Mapping[str, Any]],
    cmem_args: Optional[Mapping[str, Any]],
    compiler_options: Optional[Sequence[str]],
    defines: Optional[Mapping[str, Any]],
    quiet: bool,
) -> problem.Request:
    if not isinstance(kernel_name, str) or not kernel_name.strip():
        raise InputError("kernel_name: expected the name of a __global__ function")
    left = source.options_of(compiler_options)["left"]
    if left and not quiet:
        _say(f"compiler_options: {', '.join(left)} mean nothing to NVRTC, or not here")
    return problem.Request(
        kernel=kernel_name.strip(),
        source=kernel_source,
        arguments=list(arguments),
        params=problem.check_params(params),
        geometry=Geometry(problem_size, grid_div, block_size_names, smem_args),
        constants=dict(cmem_args or {}),
        options=list(compiler_options or []),
        defines=defines,
    )


def _say(text: str) -> None:
    print(f"fa_tune: {text}", file=sys.stderr)


def tune_kernel(
    kernel_name: str,
    kernel_source: Any,
    problem_size: Any,
    arguments: Sequence[Any],
    tune_params: Mapping[str, Sequence[Any]],
    grid_div_x: Any = None,
    grid_div_y: Any = None,
    grid_div_z: Any = None,
    restrictions: Any = None,
    answer: Optional[Sequence[Any]] = None,
    atol: float = 1e-6,
    verify: Any = None,
    verbose: bool = False,
    lang: Optional[str] = None,
    device: Any = 0,
    platform: int = 0,
    smem_args: Optional[Mapping[str, Any]] = None,
    cmem_args: Optional[Mapping[str, Any]] = None,
    texmem_args: Optional[Mapping[str, Any]] = None,
    compiler: Optional[str] = None,
    compiler_options: Optional[Sequence[str]] = None,
    defines: Optional[Mapping[str, Any]] = None,
    log: Any = None,
    iterations: int = 7,
    block_size_names: Optional[Sequence[str]] = None,
    quiet: bool = False,
    strategy: Any = None,
    strategy_options: Optional[Mapping[str, Any]] = None,
    cache: Any = None,
    metrics: Optional[Mapping[str, Any]] = None,
    simulation_mode: Optional[bool] = None,
    parallel: Any = None,
    observers: Optional[Sequence[Any]] = None,
    objective: Any = None,
    objective_higher_is_better: Optional[bool] = None,
    objectives: Any = None,
    seed: Optional[int] = None,
) -> Tuple[List[Row], Dict[str, Any]]:
    """Searches for the fastest values of a kernel's parameters.

    Returns the configs that ran and were right, a dict each, and a dict about the search. Times are
    milliseconds. The README tells what differs from Kernel Tuner.
    """
    given = dict(locals())
    key = precision.parameter_of(arguments, tune_params)
    if key is not None:
        return precision.tune(key, tune_kernel, given)
    began = time.perf_counter()
    _check_lang(lang)
    _refuse("texmem_args", texmem_args, "there are no textures: take a pointer, and read by __ldg")
    _refuse("objectives", objectives, "a search has one objective")
    _refuse("compiler", compiler, "kernels are compiled by NVRTC")
    wanted, higher = _objective(objective, objective_higher_is_better)
    request = _request(
        kernel_name,
        kernel_source,
        problem_size,
        arguments,
        tune_params,
        (grid_div_x, grid_div_y, grid_div_z),
        block_size_names,
        smem_args,
        cmem_args,
        compiler_options,
        defines,
        quiet,
    )
    limits = [configs.restriction(e, request.params) for e in _restrictions(restrictions)]
    plan = strategies.plan(strategy, strategy_options)
    watchers = observe.wanted(observers)
    path = results.path_of_cache(cache) if cache else None
    cached = results.load_cache(path, request.kernel, request.params) if path else []
    passes = configs.passes(limits)
    known = [row for row in cached if passes(row)]
    if simulation_mode:
        rows = _simulated(path, known, plan, seed)
        chosen = devices.Device("simulation", "")
        title = "simulation"
    else:
        chosen = devices.choose(device, quiet)
        if plan.note and not quiet:
            _say(plan.note)
        fresh, title = _search(
            request,
            limits,
            plan,
            chosen,
            known,
            answer,
            atol,
            verify,
            seed,
            verbose,
            quiet,
            watchers,
        )
        rows = known + fresh
        cached += fresh
    right = [row for row in rows if results.is_right(row)]
    results.add_metrics(right, metrics)
    if path is not None and not simulation_mode:
        size = problem_size if not callable(problem_size) else "function"
        results.write_cache(
            path, title, request.kernel, _plain(size), request.params, wanted, cached
        )
    env: Dict[str, Any] = {
        "device_name": title,
        "iterations": iterations,
        "compiler_options": list(compiler_options or []),
        "time_kind": "predicted" if chosen.is_emulator else "measured",
    }
    for name in results.TIMINGS:
        env[f"total_{name}"] = sum(float(row.get(name) or 0) for row in rows)
    if right:
        env["best_config"] = results.best_of(right, wanted, higher)
    env["overhead_time"] = 1000 * (time.perf_counter() - began)
    if not quiet:
        _report(right, request.params, wanted, env, metrics)
    return right, env


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        return value.item()
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    return value


def _objective(objective: Any, higher: Optional[bool]) -> Tuple[str, bool]:
    if isinstance(objective, (list, tuple)):
        if len(objective) != 1:
            raise InputError("objective: a search has one objective")
        objective = objective[0]
        higher = higher[0] if isinstance(higher, (list, tuple)) else higher
    known_higher = {"GFLOP/s": True, "TFLOP/s": True, "GB/s": True, "TB/s": True, "GFLOPS/W": True}
    wanted = "time" if objective is None else str(objective)
    if higher is None and wanted not in ("time", *known_higher):
        raise InputError("objective_higher_is_better: say which way is better for " + wanted)
    return wanted, known_higher.get(wanted, False) if higher is None else bool(higher)


def _restrictions(given: Any) -> List[Any]:
    if given is None:
        return []
    if callable(given) or isinstance(given, str):
        return [given]
    try:
        return list(given)
    except TypeError:
        raise InputError(
            "restrictions: expected a function, or a list of texts and functions"
        ) from None


def _simulated(
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


def _search(
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
            _say(
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
                _say(f"verify refused {config}")


def _asked(verify: Any, expected: Any, outputs: List[Any], atol: float) -> bool:
    """With `atol` where the function takes it."""
    taken = inspect.signature(verify).parameters
    named = "atol" in taken or any(p.kind is p.VAR_KEYWORD for p in taken.values())
    more = {"atol": atol} if named else {}
    return bool(verify(expected, outputs, **more))


def _report(
    rows: Sequence[Row],
    params: configs.Params,
    objective: str,
    env: Mapping[str, Any],
    metrics: Optional[Mapping[str, Any]],
) -> None:
    if not rows:
        print("no results to report")
        return
    best = env["best_config"]
    kind = " (predicted)" if env["time_kind"] == "predicted" else ""
    shown = [f"{name}={best[name]}" for name in params if name in best]
    for name in dict.fromkeys([objective, "time", *(metrics or {})]):
        unit = " ms" if name == "time" else ""
        value = best[name]
        shown.append(f"{name}={value:.6g}{unit}" if isinstance(value, float) else f"{name}={value}")
    print(f"best of {len(rows)} by {objective}{kind}: {', '.join(shown)}")


def run_kernel(
    kernel_name: str,
    kernel_source: Any,
    problem_size: Any,
    arguments: Sequence[Any],
    params: Mapping[str, Any],
    grid_div_x: Any = None,
    grid_div_y: Any = None,
    grid_div_z: Any = None,
    lang: Optional[str] = None,
    device: Any = 0,
    platform: int = 0,
    smem_args: Optional[Mapping[str, Any]] = None,
    cmem_args: Optional[Mapping[str, Any]] = None,
    texmem_args: Optional[Mapping[str, Any]] = None,
    compiler: Optional[str] = None,
    compiler_options: Optional[Sequence[str]] = None,
    defines: Optional[Mapping[str, Any]] = None,
    block_size_names: Optional[Sequence[str]] = None,
    quiet: bool = False,
    log: Any = None,
) -> List[Any]:
    """Runs one config once; returns all arguments as they are afterwards, arrays being new ones."""
    _check_lang(lang)
    _refuse("texmem_args", texmem_args, "there are no textures: take a pointer, and read by __ldg")
    _refuse("compiler", compiler, "kernels are compiled by NVRTC")
    request = _request(
        kernel_name,
        kernel_source,
        problem_size,
        arguments,
        {name: [value] for name, value in params.items()},
        (grid_div_x, grid_div_y, grid_div_z),
        block_size_names,
        smem_args,
        cmem_args,
        compiler_options,
        defines,
        quiet,
    )
    config = {name: values[0] for name, values in request.params.items()}
    return execute.run(request, config, devices.choose(device, quiet))
