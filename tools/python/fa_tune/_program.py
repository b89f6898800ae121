"""Where the program is, what it is told by its environment, and the `fa-tune` of the wheel."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Dict, List, Optional

HERE = Path(__file__).resolve().parent
PACKED = HERE / "data"
CHECKOUT = HERE.parent.parent.parent


def program() -> Path:
    """The binary: that of FA_TUNE_PROGRAM, else the wheel's, else the launcher of a checkout."""
    given = os.environ.get("FA_TUNE_PROGRAM")
    if given:
        return Path(given)
    packed = PACKED / "bin" / "fa-tune"
    if packed.is_file():
        return packed
    launcher = CHECKOUT / "tools" / "fa-tune"
    if launcher.is_file() and (CHECKOUT / "kernel_templates").is_dir():
        return launcher
    raise FileNotFoundError(
        "there is no fa-tune binary beside this package: install the wheel, or name a binary "
        "with FA_TUNE_PROGRAM"
    )


def nvrtc_of_wheels() -> Optional[Path]:
    """The libnvrtc that pip installed as a dependency, if it did."""
    try:
        spec = find_spec("nvidia")
    except (ImportError, ValueError):
        return None
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for found in sorted(Path(folder).glob("*/lib/libnvrtc.so.1[0-9]"), reverse=True):
            return found
    return None


def environment() -> Dict[str, str]:
    """The program's environment. What the user has set stays as it is."""
    variables = dict(os.environ)
    if (PACKED / "search_spaces").is_dir():
        variables.setdefault("FA_TUNE_ROOT", str(PACKED))
        nvrtc = nvrtc_of_wheels()
        if nvrtc is not None:
            variables.setdefault("FA_TUNE_NVRTC", str(nvrtc))
    return variables


def main(arguments: Optional[List[str]] = None) -> int:
    """Becomes the program: signals, terminal and exit code are its own."""
    try:
        binary = program()
        given = sys.argv[1:] if arguments is None else arguments
        os.execve(binary, [str(binary), *given], environment())
    except OSError as error:
        print(f"fa-tune: {error}", file=sys.stderr)
        return 3
    return 0
