"""Arrays of PyTorch, CuPy, NumPy and whoever speaks DLPack: where they lie, and what they are."""

from __future__ import annotations

import ctypes
import sys
from typing import Any, NamedTuple, Optional

# The program's names of types; bytes; NumPy's names.
TYPES = {
    "f16": (2, "float16"),
    "bf16": (2, "bfloat16"),
    "f32": (4, "float32"),
    "f64": (8, "float64"),
    "i8": (1, "int8"),
    "u8": (1, "uint8"),
    "bool": (1, "bool"),
    "i16": (2, "int16"),
    "u16": (2, "uint16"),
    "i32": (4, "int32"),
    "u32": (4, "uint32"),
    "i64": (8, "int64"),
    "u64": (8, "uint64"),
    "complex64": (8, "complex64"),
    "complex128": (16, "complex128"),
    "e4m3": (1, "float8_e4m3fn"),
    "e5m2": (1, "float8_e5m2"),
}


class Place(NamedTuple):
    """Where an array lies. `device` is None for memory of the host."""

    address: int
    bytes: int
    device: Optional[int]
    dtype: str
    packed: bool


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("dimensions", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    ]


_DLPACK_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
_DLPACK_CUDA = 2


def is_torch(array: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def is_numpy(array: Any) -> bool:
    return type(array).__module__.split(".")[0] == "numpy"


def _is_packed(shape: Any, strides: Any) -> bool:
    """`strides` in elements; what has one element in a direction may have any there."""
    expected = 1
    for size, stride in zip(reversed(tuple(shape)), reversed(tuple(strides))):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def _count(shape: Any) -> int:
    total = 1
    for size in shape:
        total *= int(size)
    return total


def place_of(array: Any) -> Place:
    """Raises TypeError for what is no array."""
    if is_torch(array):
        device = array.device.index if array.is_cuda else None
        dtype = str(array.dtype).rsplit(".", 1)[-1]
        size = array.numel() * array.element_size()
        return Place(array.data_ptr(), size, device, dtype, array.is_contiguous())
    if hasattr(array, "__cuda_array_interface__"):
        return _of_interface(array)
    if is_numpy(array) and hasattr(array, "ctypes"):
        packed = bool(array.flags["C_CONTIGUOUS"])
        return Place(array.ctypes.data, array.nbytes, None, str(array.dtype), packed)
    if hasattr(array, "__dlpack__"):
        return _of_dlpack(array)
    raise TypeError(
        f"expected an array of PyTorch, CuPy or NumPy, or one with __dlpack__ or "
        f"__cuda_array_interface__, not {type(array).__name__}"
    )


def _of_interface(array: Any) -> Place:
    import numpy

    told = array.__cuda_array_interface__
    dtype = numpy.dtype(told["typestr"])
    strides = told.get("strides")
    packed = strides is None or _is_packed(
        told["shape"], [stride // dtype.itemsize for stride in strides]
    )
    device = getattr(getattr(array, "device", None), "id", 0)
    size = _count(told["shape"]) * dtype.itemsize
    return Place(int(told["data"][0] or 0), size, int(device), str(dtype), packed)


def _of_dlpack(array: Any) -> Place:
    capsule = array.__dlpack__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = pointer(capsule, b"dltensor")
    tensor = ctypes.cast(ctypes.c_void_p(address), ctypes.POINTER(_Tensor)).contents
    shape = tensor.shape[: tensor.dimensions]
    strides = tensor.strides[: tensor.dimensions] if tensor.strides else None
    name = _DLPACK_CODES.get(tensor.code, "unknown")
    dtype = "bool" if name == "bool" else f"{name}{tensor.bits}"
    return Place(
        (tensor.data or 0) + tensor.offset,
        _count(shape) * ((tensor.bits * tensor.lanes + 7) // 8),
        tensor.device_id if tensor.device_type == _DLPACK_CUDA else None,
        dtype,
        strides is None or _is_packed(shape, strides),
    )


def stream_of(array: Any) -> int:
    """The stream that its library works on now; the default one where it has no such thing."""
    if is_torch(array):
        import torch

        return int(torch.cuda.current_stream(array.device).cuda_stream)
    if type(array).__module__.split(".")[0] == "cupy":
        import cupy

        return int(cupy.cuda.get_current_stream().ptr)
    return 0


def empty_like(array: Any, dims: Any, dtype: str) -> Any:
    """A new array of the same library, on the same device."""
    if is_torch(array):
        import torch

        return torch.empty(tuple(dims), dtype=getattr(torch, dtype), device=array.device)
    if type(array).__module__.split(".")[0] == "cupy":
        import cupy

        return cupy.empty(tuple(dims), dtype=dtype)
    import numpy

    return numpy.empty(tuple(dims), dtype=dtype)
