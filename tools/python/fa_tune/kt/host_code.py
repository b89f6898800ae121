"""tune_kernel and run_kernel for host code: a function that returns its own time."""

from __future__ import annotations

import itertools
import os
import random
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

import numpy

from .. import _run
from .._driver import Driver
from ..errors import InputError, Interrupted, MachineError
from . import configs, host_build, host_calls, problem, results, strategies
from .host_calls import Caller, Failed
from .host_checks import Checks
from .results import Row
from .search import say

# Draws from a space too large to list that find nothing new, before it counts as tried.
_MOST_MISSES = 200_000

Config = Dict[str, Any]


def _gpu(code: host_build.Code, device: Any) -> Tuple[int, str]:
    """The GPU's number, and its name or the machine's."""
    named = device if isinstance(device, str) else os.environ.get("FA_TUNE_DEVICE", "")
    text = named if named and named != "auto" else str(0 if device is None else device)
    number = text[len("cuda:") :] if text.startswith("cuda:") else text
    if not code.is_cuda:
        return (int(number) if number.isdigit() else 0), _processor()
    if not number.isdigit():
        raise MachineError(f"device: host code of CUDA runs on a GPU alone, not on {text}")
    try:
        return int(number), Driver.get().name(int(number))
    except MachineError as error:
        raise MachineError(f"lang: this host code is CUDA, and needs a GPU: {error}") from None


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            named = [line for line in file if line.startswith("model name")]
        return named[0].split(":", 1)[1].strip()
    except (OSError, IndexError):
        return os.uname().machine


def _order(
    params: configs.Params, allowed: Callable[[Config], bool], drawn: bool, seed: Optional[int]
) -> Iterator[Config]:
    """The configs that are allowed, each once. Of a space too large to list they are drawn one by
    one."""
    if not drawn:
        yield from filter(allowed, configs.product(params))
        return
    source = random.Random(seed)
    if configs.count(params) <= configs.MOST_CONFIGS:
        listed = [tuple(config.values()) for config in configs.product(params) if allowed(config)]
        source.shuffle(listed)
        for values in listed:
            yield dict(zip(params, values))
        return
    seen: Set[Tuple[Any, ...]] = set()
    misses = 0
    while misses < _MOST_MISSES:
        config = {name: source.choice(list(values)) for name, values in params.items()}
        values = tuple(config.values())
        misses += 1
        if values not in seen and allowed(config):
            misses = 0
            seen.add(values)
            yield config


def _prepared(request: problem.Request, compiler: Any, quiet: bool) -> host_build.Code:
    host_calls.check(request.arguments)
    code = host_build.prepare(request, compiler)
    if code.left and not quiet:
        say(
            f"compiler_options: {' '.join(code.left)} names a GPU; the code is compiled for the "
            f"one that is here (-arch=native)"
        )
    return code


def search(
    request: problem.Request,
    compiler: Any,
    limits: Sequence[str],
    plan: strategies.Plan,
    device: Any,
    known: Sequence[Row],
    checks: Checks,
    iterations: int,
    seed: Optional[int],
    verbose: bool,
    quiet: bool,
) -> Tuple[List[Row], str]:
    """The rows of a search, failed configs among them, and the name of what it ran on."""
    code = _prepared(request, compiler, quiet)
    gpu, title = _gpu(code, device)
    passes = configs.passes(limits)
    before = {results.key_of(row, request.params) for row in known}

    def allowed(config: Config) -> bool:
        return (
            tuple(config.values()) not in before
            and passes(config)
            and host_build.fits(code, config)
        )

    left = None if plan.evaluations is None else max(0, plan.evaluations - len(known))
    order = itertools.islice(_order(request.params, allowed, plan.name == "random", seed), left)
    until = time.monotonic() + (plan.seconds or float("inf"))
    rows: List[Row] = []
    failures: Counter[str] = Counter()
    tell = _run.teller(False if quiet else None)
    try:
        with Caller(request.arguments, gpu) as caller:
            for config, row, reason in _tried(code, order, caller, checks, iterations, until):
                rows.append(row)
                failures.update([reason] if reason else [])
                named = ", ".join(f"{name}={value}" for name, value in config.items())
                took = reason or f"{row['time']:.6g} ms"
                tell(f"[{len(rows)}{'' if left is None else f'/{left}'}] {named}: {took}")
            if code.is_cuda and caller.complaint and not quiet:
                say(f"the arguments are not mapped for the GPU: {caller.complaint}")
    except KeyboardInterrupt:
        right = [row for row in rows if results.is_right(row)]
        raise Interrupted((right, {"device_name": title})) from None
    finally:
        if isinstance(tell, _run.Line):
            tell.end()
    failed = sum(failures.values())
    if failed and not quiet and (verbose or failed == len(rows)):
        told = "; ".join(f"{count} {reason}" for reason, count in failures.most_common(3))
        say(f"{failed} of {len(rows)} configs failed: {told}")
    return rows, title


def _tried(
    code: host_build.Code,
    order: Iterator[Config],
    caller: Caller,
    checks: Checks,
    iterations: int,
    until: float,
) -> Iterator[Tuple[Config, Row, str]]:
    """Each config with its row, and why it failed if it did. Compilers and calls take turns, so that
    the one does not disturb the times of the other."""
    workers = os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        while time.monotonic() < until:
            batch = list(itertools.islice(order, workers))
            if not batch:
                return
            with tempfile.TemporaryDirectory(prefix="fa-tune-") as name:
                folders = [Path(name) / str(i) for i in range(len(batch))]
                for folder in folders:
                    folder.mkdir()
                built = list(pool.map(host_build.build, itertools.repeat(code), batch, folders))
                for config, each in zip(batch, built):
                    if time.monotonic() >= until:
                        return
                    yield (config, *_timed(config, each, caller, checks, iterations))


def _timed(
    config: Config, built: host_build.Built, caller: Caller, checks: Checks, iterations: int
) -> Tuple[Row, str]:
    row: Row = {**config, **{name: 0.0 for name in results.TIMINGS}, "compile_time": built.ms}
    reason, kind = built.reason, "CompilationFailedConfig"
    if built.library is not None:
        kind = "RuntimeFailedConfig"
        try:
            caller.load(built.library, built.symbols)
            if checks.any:
                began = time.perf_counter()
                caller.fill()
                caller.call()
                reason = checks.refusal(caller.outputs(checks.wanted), config)
                row["verification_time"] = 1000 * (time.perf_counter() - began)
            if not reason:
                began = time.perf_counter()
                caller.fill()
                row["times"] = [caller.call() for _ in range(max(1, iterations))]
                row["time"] = float(numpy.mean(row["times"]))
                row["benchmark_time"] = 1000 * (time.perf_counter() - began)
        except Failed as error:
            reason = str(error)
    if reason:
        row.pop("times", None)
        row["time"] = kind
    row["timestamp"] = datetime.now(timezone.utc).isoformat()
    return row, reason


def run(
    request: problem.Request, compiler: Any, config: Config, device: Any, quiet: bool
) -> List[Any]:
    """All arguments after one call: arrays are new ones."""
    code = _prepared(request, compiler, quiet)
    gpu, _ = _gpu(code, device)
    with tempfile.TemporaryDirectory(prefix="fa-tune-") as folder:
        built = host_build.build(code, config, Path(folder))
        if built.library is None:
            raise InputError(f"the host code does not compile: {built.reason}")
        with Caller(request.arguments, gpu) as caller:
            try:
                caller.load(built.library, built.symbols)
                caller.fill()
                caller.call()
            except Failed as error:
                raise InputError(f"{request.kernel} {error}") from None
            return caller.outputs([True] * len(request.arguments))
