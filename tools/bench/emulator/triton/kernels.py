"""The kernels of a Python file, without the program around them.

Triton's tutorials are programs that need PyTorch and a GPU. What they decorate with @triton.jit is
taken out of a user's own copy, and made a module of its own; nothing of it is part of this project.
"""

import ast
import importlib.util
import tempfile
from pathlib import Path

_HEAD = """import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor
"""
_KEPT = tempfile.TemporaryDirectory(prefix="fa_tune-triton-")  # Triton reads the source again


def _is_jit(decorator):
    name = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(name) in ("triton.jit", "jit")


def load(file):
    """A module with the @triton.jit functions of `file`, without their autotuners."""
    text = Path(file).read_text()
    lines = text.splitlines()
    parts = [_HEAD]
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and any(map(_is_jit, node.decorator_list)):
            parts.append("@triton.jit\n" + "\n".join(lines[node.lineno - 1 : node.end_lineno]))
    name = "kernels_" + "".join(c if c.isalnum() else "_" for c in Path(file).stem)
    path = Path(_KEPT.name) / f"{name}.py"
    path.write_text("\n\n\n".join(parts) + "\n")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
