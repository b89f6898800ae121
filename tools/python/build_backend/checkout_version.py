"""The version, from the one place that states it: project(... VERSION ...) of the C++ build."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Mapping

HERE = Path(__file__).resolve().parent.parent


def checkout() -> Path:
    """The folder of the C++ project: around this one, or within a source distribution."""
    packed = HERE / "checkout"
    return packed if (packed / "CMakeLists.txt").is_file() else HERE.parent.parent


def dynamic_metadata(field: str, settings: Mapping[str, Any]) -> str:
    if field != "version" or settings:
        raise ValueError("only the version is read here, and without settings")
    text = (checkout() / "CMakeLists.txt").read_text(encoding="utf-8")
    found = re.search(r"project\(fa_tune VERSION ([0-9.]+)", text)
    if found is None:
        raise ValueError("CMakeLists.txt states no version")
    return found.group(1)
