"""The program's commands as functions. Each is one call of the program and reads its JSON."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ._run import Progress, checked, json_of, option, run
from .errors import Interrupted, NothingPassed, error_of
from .winner import Time, Winner

PathLike = Union[str, "os.PathLike[str]"]
Kernel = Union[Winner, int, str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Counts:
    all: int
    passed: int
    failed: int
    duplicate: int


@dataclass(frozen=True)
class Search:
    """What a search came to."""

    run: int
    state: str
    trials: Counts
    seconds: float
    best: Optional[Winner]
    baseline_us: Optional[float]
    plain_us: Optional[float]
    db: Path
    raw: Mapping[str, Any] = field(repr=False, default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """What the gate says of a kernel, suite by suite."""

    passed: bool
    suites: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Race:
    """Two kernels beside each other. `ratio` is B's time over A's, with its bounds."""

    verdict: str
    ratio: float
    low: float
    high: float
    raw: Mapping[str, Any] = field(repr=False, default_factory=dict)


def _search(document: Mapping[str, Any], db: PathLike) -> Search:
    found = document.get("best")
    best = None
    if found:
        best = Winner(
            trial=int(found["trial"]),
            run=int(document["run"]),
            config=dict(found["config"]),
            time=Time.of(found["time_us"]),
            stage=str(found.get("stage", "")),
            db=Path(db),
        )
    return Search(
        run=int(document["run"]),
        state=str(document["state"]),
        trials=Counts(**{name: int(document["trials"][name]) for name in Counts.__annotations__}),
        seconds=float(document["seconds"]),
        best=best,
        baseline_us=document.get("baseline_us"),
        plain_us=document.get("plain_us"),
        db=Path(db),
        raw=document,
    )


def evolve(
    space: Optional[PathLike] = None,
    *,
    device: Optional[str] = None,
    budget: Union[int, str, None] = None,
    db: PathLike = "fa.db",
    settings: Optional[Mapping[str, object]] = None,
    seed: Optional[int] = None,
    strategy: Optional[str] = None,
    reference: Optional[PathLike] = None,
    target: Optional[str] = None,
    warm: Optional[str] = None,
    finals: bool = True,
    jobs: Optional[int] = None,
    resume: Optional[int] = None,
    progress: Progress = None,
) -> Search:
    """Searches a space for its fastest correct kernel.

    `settings` is what `--set` takes: {"sizes.rows": 64}. `device` is that of FA_TUNE_DEVICE if not
    given, else auto. On Ctrl-C an Interrupted, which is a KeyboardInterrupt, has the Search so far
    as `found`; where nothing passed, a NothingPassed is raised.
    """
    words: List[str] = ["evolve", "--format=json"]
    words += option("space", None if space is None else os.fspath(space))
    words += option("device", device or os.environ.get("FA_TUNE_DEVICE"))
    words += option("budget", budget) + option("db", os.fspath(db))
    for name, value in (settings or {}).items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        words += option("set", f"{name}={text}")
    words += option("seed", seed) + option("strategy", strategy) + option("target", target)
    words += option("reference", None if reference is None else os.fspath(reference))
    words += option("warm", warm) + option("jobs", jobs) + option("resume", resume)
    if not finals:
        words.append("--no-finals")
    done = run(words, progress)
    found = _search(json_of(done.output), db) if done.output.strip() else None
    if done.code == 130:
        raise Interrupted(found)
    if done.code != 0 or found is None:
        raise error_of(done.code, done.message)
    return found


def best(
    db: PathLike = "fa.db",
    *,
    limit: int = 10,
    run: Optional[int] = None,
    space: Optional[str] = None,
    device: Optional[str] = None,
    shape: Optional[str] = None,
    time_kind: Optional[str] = None,
) -> List[Winner]:
    """The fastest kernels of a database that passed, fastest first."""
    words = ["best", "--format=json"] + option("db", os.fspath(db)) + option("limit", limit)
    words += option("run", run) + option("space", space) + option("device", device)
    words += option("shape", shape) + option("time-kind", time_kind)
    try:
        return [Winner.of_row(row, db) for row in json_of(checked(words))]
    except NothingPassed:
        return []


def _named(kernel: Kernel) -> str:
    if isinstance(kernel, Winner):
        return str(kernel.trial)
    return str(kernel) if isinstance(kernel, int) else os.fspath(kernel)


def _database_of(kernels: Sequence[Kernel], db: Optional[PathLike]) -> str:
    for kernel in kernels:
        if db is None and isinstance(kernel, Winner):
            return str(kernel.db)
    return os.fspath(db) if db is not None else "fa.db"


def verify(
    kernel: Kernel,
    *,
    db: Optional[PathLike] = None,
    device: Optional[str] = None,
    suites: Sequence[str] = (),
    seed: Optional[int] = None,
) -> Verdict:
    """Gates a kernel again, on fresh inputs: a Winner, a trial's number or an exported .cu file."""
    words = ["verify", "--format=json"]
    if isinstance(kernel, (Winner, int)):
        words += option("trial", _named(kernel)) + option("db", _database_of([kernel], db))
    else:
        words.append(os.fspath(kernel))
    words += option("device", device or os.environ.get("FA_TUNE_DEVICE")) + option("seed", seed)
    for suite in suites:
        words += option("suite", suite)
    done = run(words)
    if done.code == 130:
        raise Interrupted()
    if done.code not in (0, 1) or not done.output.strip():
        raise error_of(done.code, done.message)
    return Verdict(done.code == 0, json_of(done.output)["suites"])


def bench(
    a: Kernel,
    b: Kernel,
    *,
    db: Optional[PathLike] = None,
    space: Optional[PathLike] = None,
    device: Optional[str] = None,
    processes: Optional[int] = None,
    l2: Optional[str] = None,
    seed: Optional[int] = None,
) -> Race:
    """Races two kernels: trials, exported files or presets of `space`."""
    words = ["bench", "--format=json"] + option("db", _database_of([a, b], db))
    words += option("space", None if space is None else os.fspath(space))
    words += option("device", device or os.environ.get("FA_TUNE_DEVICE"))
    words += option("processes", processes) + option("l2", l2) + option("seed", seed)
    found: Dict[str, Any] = json_of(checked([*words, "--", _named(a), _named(b)]))
    ratio = found["ratio"]
    return Race(found["verdict"], ratio["median"], ratio["low"], ratio["high"], found)


def export(
    kernel: Union[Winner, int, None] = None,
    out: PathLike = "winner.cu",
    *,
    format: str = "cu",
    db: Optional[PathLike] = None,
    run: Optional[int] = None,
    any_size: bool = False,
) -> Path:
    """Writes a kernel for programs: cu, ptx, header or torch; a run's trials as t4 or cachefile."""
    words = ["export", *option("as", format), *option("out", os.fspath(out))]
    words += option("db", _database_of([] if kernel is None else [kernel], db))
    words += option("run", run) + (["--any-size"] if any_size else [])
    if kernel is not None:
        words += option("trial", _named(kernel))
    checked(words)
    return Path(out)


@dataclass(frozen=True)
class Database:
    """A database of runs, as methods of what the functions of this module take it for."""

    path: Path

    def __init__(self, path: PathLike = "fa.db") -> None:
        object.__setattr__(self, "path", Path(path))

    def best(self, **filters: Any) -> List[Winner]:
        return best(self.path, **filters)

    def evolve(self, space: Optional[PathLike] = None, **options: Any) -> Search:
        return evolve(space, db=self.path, **options)

    def export(
        self, kernel: Union[Winner, int, None] = None, out: PathLike = "winner.cu", **options: Any
    ) -> Path:
        return export(kernel, out, db=self.path, **options)

    def check(self) -> Mapping[str, Any]:
        """Reads the whole file; raises NothingPassed where it is not sound."""
        found: Mapping[str, Any] = json_of(
            checked(["db", "check", "--format=json", str(self.path)])
        )
        return found

    def failures(self, run: Optional[int] = None) -> Any:
        words = ["failures", "--format=json", *option("db", self.path), *option("run", run)]
        return json_of(checked(words))

    def insights(self, run: Optional[int] = None) -> Any:
        words = ["insights", "--format=json", *option("db", self.path), *option("run", run)]
        return json_of(checked(words))
