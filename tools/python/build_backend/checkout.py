"""The build of the wheel: scikit-build-core's, told where the C++ project lies.

That project is the folder two above this one, which a source distribution cannot reach into. So one
carries a copy of what the build reads, and a build takes whichever is there.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, Dict, List, Optional

from checkout_version import HERE, checkout
from scikit_build_core import build as core

get_requires_for_build_sdist = core.get_requires_for_build_sdist
get_requires_for_build_wheel = core.get_requires_for_build_wheel

# All that the target fa-tune and its data come from.
PARTS = [
    "CMakeLists.txt",
    "CMakePresets.json",
    "LICENSE",
    "db",
    "engine",
    "kernel_templates",
    "search_spaces",
    "tools/CMakeLists.txt",
    "tools/bench",
    "tools/cmake",
    "tools/commands",
    "tools/lone",
    "tools/main.cpp",
]


def _tag_with_glibc() -> None:
    """Makes the wheel's tag say which glibc it needs at most: the one that it is linked with.

    scikit-build-core asks sysconfig for the platform, which takes it from this variable.
    """
    name, version = os.confstr("CS_GNU_LIBC_VERSION").split()  # type: ignore[union-attr]
    major, minor = version.split(".")[:2]
    if name == "glibc":
        tag = f"manylinux_{major}_{minor}_{os.uname().machine}"
        os.environ.setdefault("_PYTHON_HOST_PLATFORM", tag)


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: Optional[Dict[str, Any]] = None
) -> str:
    _tag_with_glibc()
    return core.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def build_wheel(
    wheel_directory: str,
    config_settings: Optional[Dict[str, Any]] = None,
    metadata_directory: Optional[str] = None,
) -> str:
    _tag_with_glibc()
    source = checkout()
    settings: Dict[str, Any] = {"cmake.source-dir": str(source)}
    if source != HERE / "checkout":  # what tools/portable has built need not be built again
        settings["build-dir"] = str(source / "build" / "portable")
    settings.update(config_settings or {})
    return core.build_wheel(wheel_directory, settings, metadata_directory)


def _without_results(_: str, names: List[str]) -> List[str]:
    return [name for name in names if name in ("results", "__pycache__", "build")]


def build_sdist(sdist_directory: str, config_settings: Optional[Dict[str, Any]] = None) -> str:
    packed = HERE / "checkout"
    source = checkout()
    made = source != packed
    try:
        if made:
            shutil.rmtree(packed, ignore_errors=True)
            for part in PARTS:
                _copy(source / part, packed / part)
        return core.build_sdist(sdist_directory, config_settings)
    finally:
        if made:
            shutil.rmtree(packed, ignore_errors=True)


def _copy(origin: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if origin.is_dir():
        shutil.copytree(origin, target, ignore=_without_results)
    else:
        shutil.copy2(origin, target)
