"""A kernel's source as Kernel Tuner takes it: a text, a file, or a function that writes it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from ..errors import InputError

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.M)
_MOST_INCLUDED = 1000


class Parameter(NamedTuple):
    name: str
    written: bool


class Source(NamedTuple):
    text: str
    files: Mapping[str, str]  # what it includes, by the name that it has there
    file: Optional[Path] = None  # that it was read from

    @property
    def folder(self) -> Path:
        return self.file.parent if self.file else Path(".")

    @property
    def suffix(self) -> str:
        return self.file.suffix if self.file else ""


def _looks_like_file(text: str) -> bool:
    short = len(text) < 1000 and "\n" not in text and not re.search(r"[{};]", text)
    return short and re.search(r"\.(cu|cuh|c|cc|cpp|cxx|h|hpp|ptx)$", text.strip()) is not None


def read(given: Any, config: Optional[Mapping[str, Any]], options: Sequence[str]) -> Source:
    """`config` is that which a function is asked for."""
    if isinstance(given, (list, tuple)):
        if len(given) != 1:
            raise InputError(
                "kernel_source: a list of several files is host code with its kernels, which "
                "needs lang='C'; name the one file that has the kernel"
            )
        given = given[0]
    folders = [Path(o[2:]) for o in options if o.startswith("-I") and len(o) > 2]
    file: Optional[Path] = None
    if callable(given) and not isinstance(given, Path):
        try:
            text = given(dict(config or {}))
        except Exception as error:
            raise InputError(f"kernel_source: the function failed: {error!r}") from error
        if not isinstance(text, str):
            raise InputError(f"kernel_source: the function gave {type(text).__name__}, not a text")
        if _looks_like_file(text):
            return read(text, config, options)
    elif isinstance(given, Path) or (isinstance(given, str) and _looks_like_file(given)):
        file = Path(given)
        try:
            text = file.read_text(encoding="utf-8")
        except OSError as error:
            raise InputError(f"kernel_source: {error}") from None
    elif isinstance(given, str):
        text = given
    else:
        raise InputError(f"kernel_source: expected a text, a file or a function, not {given!r}")
    made = Source(text, {}, file)
    return made._replace(files=_included(text, [made.folder, *folders]))


def _included(text: str, folders: Sequence[Path]) -> Dict[str, str]:
    found: Dict[str, str] = {}
    pending = list(_INCLUDE.findall(text))
    while pending and len(found) < _MOST_INCLUDED:
        name = pending.pop()
        if name in found or name.startswith("/") or ".." in Path(name).parts:
            continue
        for folder in folders:
            if (folder / name).is_file():
                found[name] = (folder / name).read_text(encoding="utf-8")
                pending += _INCLUDE.findall(found[name])
                break
    return found


def blank_comments(text: str) -> str:
    return _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def _closing(text: str, at: int, pair: str) -> int:
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == pair[0]) - (text[i] == pair[1])
        if depth == 0:
            return i
    return len(text)


def parameters(text: str, kernel: str) -> Optional[List[Parameter]]:
    """Of the kernel as the source declares it. None where it is not found, as behind a macro."""
    name = re.escape(kernel.split("<")[0].strip())
    plain = blank_comments(text)
    for match in re.finditer(rf"__global__[^;{{}}]*?\b{name}\s*\(", plain):
        end = _closing(plain, match.end() - 1, "()")
        opening = re.match(r"\s*\{", plain[end + 1 :])
        if opening is None:  # declared alone
            continue
        start = end + opening.end()
        body = plain[start : _closing(plain, start, "{}") + 1]
        return [_parameter(each, body) for each in _split(plain[match.end() : end])]
    return None


def _split(text: str) -> List[str]:
    parts, depth, last = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "<([") - (letter in ">)]")
        if letter == "," and depth == 0:
            parts.append(text[last:i])
            last = i + 1
    parts.append(text[last:])
    return [part for part in parts if part.strip() not in ("", "void")]


def _parameter(declared: str, body: str) -> Parameter:
    declared = declared.split("=")[0]
    words = re.findall(r"[A-Za-z_]\w*", declared)
    name = words[-1] if words else ""
    constant = re.search(r"\bconst\b[^*]*\*|\*?\bconst\b\s*\w+\s*\*", declared) is not None
    return Parameter(name, not constant and _may_be_written(name, body))


def _may_be_written(name: str, body: str) -> bool:
    """False where the body only ever reads `name[...]`: whatever else it does may write."""
    for match in re.finditer(rf"\b{re.escape(name)}\b", body):
        before = body[: match.start()].rstrip()
        after = body[match.end() :].lstrip()
        if not after.startswith("["):
            return True
        at = len(body) - len(after)
        rest = body[_closing(body, at, "[]") + 1 :].lstrip()
        if before.endswith(("&", "++", "--", "*")) and not before.endswith("&&"):
            return True
        if rest.startswith(("++", "--")) or re.match(r"([-+*/%&|^]|<<|>>)?=(?!=)", rest):
            return True
        if rest.startswith((".", "[")):  # a member, or a row: looked into no further
            if re.match(r"(\.\w+|\[[^\]]*\])\s*([-+*/%&|^]|<<|>>)?=(?!=)", rest):
                return True
    return False


def options_of(given: Optional[Sequence[str]]) -> Dict[str, List[str]]:
    """Compiler options by what becomes of them: kept, defines, left (out)."""
    result: Dict[str, List[str]] = {"kept": [], "defines": [], "left": []}
    for option in given or []:
        if not isinstance(option, str):
            raise InputError(f"compiler_options: expected texts, not {option!r}")
        known = re.fullmatch(
            r"--?(use_fast_math|maxrregcount=\d+|fmad=\w+|ftz=\w+|restrict)", option
        )
        if known:
            result["kept"].append("--" + known.group(1))
        elif re.fullmatch(r"-D\w+(=.*)?", option):
            name, _, value = option[2:].partition("=")
            result["defines"].append(f"#define {name} {value or '1'}")
        elif not re.match(
            r"-I|--?std=|-O\d|--?(gpu-)?arch(itecture)?|-w$|--?lineinfo|--?generate-line", option
        ):
            result["left"].append(option)
    return result
