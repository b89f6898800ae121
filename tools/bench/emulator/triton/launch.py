#!/usr/bin/env python3
"""Runs a launch that `fa-tune emulate` reads on a GPU, once. Needs the driver alone.

    launch.py LAUNCH.json

What numbers the inputs hold that no file has decides nothing here: they are ones, where not zeros.
"""

import ctypes
import json
import re
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "python"))

from fa_tune._driver import Driver  # noqa: E402

SCALARS = {"u8": ctypes.c_uint8, "i32": ctypes.c_int32, "u32": ctypes.c_uint32, "i64": ctypes.c_int64,
           "u64": ctypes.c_uint64, "f32": ctypes.c_float}  # fmt: skip
ONES = {"f16": b"\x00\x3c", "f32": b"\x00\x00\x80\x3f"}
MAP = re.compile(r"(\w+)\[([\dx]+)\]=zeros,box=([\dx]+),swizzle=(\w+)")
MAP_TYPES = {"u8": 0, "u16": 1, "u32": 2, "u64": 4}  # CU_TENSOR_MAP_DATA_TYPE_...
SWIZZLES = {"none": 0, "32": 1, "64": 2, "128": 3}
MOST_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


def size_of(dtype):
    return int(dtype.lstrip("biuf")) // 8


def ptx_of(launch, told):
    """Triton 3.9 names a version of PTX newer than CUDA 13.0 reads, and uses nothing of it."""
    text = (launch.parent / told["file"]).read_bytes()
    return re.sub(rb"(?m)^\.version 9\.\d+$", b".version 9.0", text) + b"\0"


def npy_data(file):
    """What is behind the header of a .npy file, format version 1.0."""
    npy = file.read_bytes()
    return npy[10 + int.from_bytes(npy[8:10], "little") :]


def content_of(buffer, folder, addresses):
    """Its bytes; none where nobody has written it."""
    fill, size = buffer.get("fill", ""), size_of(buffer["dtype"])
    if fill.startswith("file:"):
        content = bytearray(npy_data(folder / fill.removeprefix("file:")))
    else:
        one = bytes(size) if fill == "zeros" else ONES.get(buffer["dtype"], bytes(size))
        content = bytearray(one * buffer["shape"][0] if fill else b"")
    for each in buffer.get("addresses", []):
        struct.pack_into("<Q", content, 8 * each["element"], addresses[each["buffer"]] + each["offset"])
    return bytes(content)


def tensor_map(driver, address, text):
    """A map of rows without gaps, as fa_tune.record_triton writes it."""
    dtype, sizes, box, swizzle = MAP.fullmatch(text).groups()
    sizes, box = ([int(n) for n in reversed(numbers.split("x"))] for numbers in (sizes, box))
    rank, strides = len(sizes), [size_of(dtype)]
    for n in sizes[:-1]:
        strides.append(strides[-1] * n)
    memory = ctypes.create_string_buffer(128 + 64)
    encoded = (ctypes.c_char * 128).from_buffer(memory, -ctypes.addressof(memory) % 64)
    driver.call("cuTensorMapEncodeTiled", encoded, MAP_TYPES[dtype], rank, ctypes.c_uint64(address),
                (ctypes.c_uint64 * rank)(*sizes), (ctypes.c_uint64 * rank)(*strides[1:]),
                (ctypes.c_uint32 * rank)(*box), (ctypes.c_uint32 * rank)(*[1] * rank),
                0, SWIZZLES[swizzle], 0, 0)  # fmt: skip
    return encoded


def run(launch):
    """The driver, and where the buffers lie."""
    told = json.loads(launch.read_text())
    driver = Driver.get()
    driver.enter(0)
    ptx = ptx_of(launch, told)
    _, kernel = driver.load(ptx, told["kernel"])
    threads = [int(n) for n in re.search(rb"\.reqntid\s+([\d, ]+)", ptx)[1].split(b",")]
    shared = told.get("shared", 0)
    driver.call("cuFuncSetAttribute", kernel, MOST_DYNAMIC_SHARED, shared)
    buffers = {}
    for name, buffer in told["buffers"].items():
        content = content_of(buffer, launch.parent, buffers)
        buffers[name] = driver.allocate(buffer["shape"][0] * size_of(buffer["dtype"]))
        if content:
            driver.to_device(buffers[name], ctypes.cast(content, ctypes.c_void_p).value, len(content))
    values = []
    for each in told["args"]:
        if isinstance(each, dict):
            address = buffers[each["buffer"]] + each.get("offset", 0)
            mapped = "map" in each
            values.append(tensor_map(driver, address, each["map"]) if mapped else ctypes.c_uint64(address))
        else:
            kind, number = each.split("=")
            values.append(SCALARS[kind](float(number) if kind == "f32" else int(number)))
    pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
    sizes = [*told.get("grid", [1, 1, 1]), *(threads + [1, 1])[:3]]
    driver.call("cuLaunchKernel", kernel, *sizes, shared, None, pointers, None)
    driver.synchronize(0)
    return driver, buffers


if __name__ == "__main__":
    run(Path(sys.argv[1]))
