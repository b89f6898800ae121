"""tune_kernel and run_kernel, with Kernel Tuner 1.5's arguments."""

from __future__ import annotations

import time
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ..errors import InputError
from . import (
    configs,
    devices,
    execute,
    host_checks,
    host_code,
    observe,
    precision,
    problem,
    results,
)
from . import source, strategies
from .launch import Geometry
from .results import Row
from .search import say, search, simulated

_KERNELS = ("CUDA", "CUPY", "NVCUDA")
_HOST = ("C", "C++")


def _refuse(name: str, given: Any, why: str) -> None:
    if given:
        raise InputError(f"{name}: {why}")


def _check_lang(lang: Optional[str], given: Mapping[str, Any]) -> bool:
    """Whether host code is meant. Refuses the arguments that it, or a kernel, cannot have."""
    named = "CUDA" if lang is None else str(lang).upper()
    if named not in (*_KERNELS, *_HOST):
        raise InputError(
            f"lang: {lang!r} is not tuned here, only kernels in CUDA C++ and host code in C and C++"
        )
    _refuse("texmem_args", given["texmem_args"], "there are no textures: take a pointer, read by __ldg")
    if named in _KERNELS:
        _refuse("compiler", given["compiler"], "kernels are compiled by NVRTC; host code has one")
        return False
    for name in ("smem_args", "cmem_args"):
        _refuse(name, given[name], "are a kernel's, and host code launches its own")
    _refuse("observers", given.get("observers"), "watch kernels; host code returns its own time")
    return True


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
    is_host: bool = False,
) -> problem.Request:
    if not isinstance(kernel_name, str) or not kernel_name.strip():
        raise InputError("kernel_name: expected the name of a function of the source")
    left = source.options_of(compiler_options)["left"]
    if left and not quiet and not is_host:
        say(f"compiler_options: {', '.join(left)} mean nothing to NVRTC, or not here")
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
    parallel_runner: Any = None,
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
    is_host = _check_lang(lang, given)
    _refuse("objectives", objectives, "a search has one objective")
    for name in ("parallel", "parallel_runner"):
        if given[name] is not None and not isinstance(given[name], int):
            raise InputError(f"{name}: expected a number, True or False, not {given[name]!r}")
    wanted, higher = results.objective_of(objective, objective_higher_is_better)
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
        is_host,
    )
    limits = [configs.restriction(e, request.params) for e in _restrictions(restrictions)]
    plan = strategies.plan(strategy, strategy_options, drawn=is_host)
    watchers = observe.Observers(observers, iterations)
    path = results.path_of_cache(cache) if cache else None
    cached = results.load_cache(path, request.kernel, request.params) if path else []
    passes = configs.passes(limits)
    known = [row for row in cached if passes(row)]
    kind = "measured"
    if plan.note and not quiet and not simulation_mode:
        say(plan.note)
    if simulation_mode:
        rows, title = simulated(path, known, plan, seed), "simulation"
    elif is_host:
        checks = host_checks.Checks(answer, verify, atol, request.arguments)
        fresh, title = host_code.search(
            request,
            compiler,
            limits,
            plan,
            device,
            known,
            checks,
            iterations,
            seed,
            verbose,
            quiet,
        )
    else:
        chosen = devices.choose(device, quiet)
        watchers.check(chosen, answer)
        kind = "predicted" if chosen.is_emulator else kind
        fresh, title = search(
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
    if not simulation_mode:
        rows = known + fresh
        cached += fresh
    right = [row for row in rows if results.is_right(row)]
    results.add_metrics(right, metrics)
    if path is not None and not simulation_mode:
        size = problem_size if not callable(problem_size) else "function"
        results.write_cache(
            path, title, request.kernel, results.plain(size), request.params, wanted, cached
        )
    env: Dict[str, Any] = {
        "device_name": title,
        "iterations": iterations,
        "compiler_options": list(compiler_options or []),
        "time_kind": kind,
    }
    for name in results.TIMINGS:
        env[f"total_{name}"] = sum(float(row.get(name) or 0) for row in rows)
    if right:
        env["best_config"] = results.best_of(right, wanted, higher)
    env["overhead_time"] = 1000 * (time.perf_counter() - began)
    if not quiet:
        results.report(right, request.params, wanted, env, metrics)
    return right, env


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
    given = dict(locals())
    is_host = _check_lang(lang, given)
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
        is_host,
    )
    config = {name: values[0] for name, values in request.params.items()}
    if is_host:
        return host_code.run(request, compiler, config, device, quiet)
    return execute.run(request, config, devices.choose(device, quiet))
