"""A tuned kernel as a function of arrays, launched through the CUDA driver."""

from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Mapping, Optional, Tuple

from . import _arrays
from ._driver import Driver
from .errors import MachineError

_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_NON_PORTABLE_CLUSTER = 14
_COOPERATIVE, _CLUSTER_DIMENSION, _PROGRAMMATIC = 2, 4, 6  # CU_LAUNCH_ATTRIBUTE_...
# CUtensorMapDataType; those of one byte are taken as u8.
_MAP_TYPES = {"u8": 0, "i8": 0, "e4m3": 0, "e5m2": 0, "bool": 0, "u16": 1, "i16": 1, "u32": 2}
_MAP_TYPES.update({"i32": 3, "u64": 4, "i64": 5, "f16": 6, "f32": 7, "f64": 8, "bf16": 9})
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}  # CUtensorMapSwizzle
_L2_PROMOTION = 2  # CU_TENSOR_MAP_L2_PROMOTION_L2_128B
_SCALARS = {
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
    "bool": ctypes.c_bool,
    "i8": ctypes.c_int8,
    "u8": ctypes.c_uint8,
    "i16": ctypes.c_int16,
    "u16": ctypes.c_uint16,
    "i32": ctypes.c_int32,
    "u32": ctypes.c_uint32,
    "i64": ctypes.c_int64,
    "u64": ctypes.c_uint64,
}


class _Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_uint32 * 16)]


class _LaunchConfig(ctypes.Structure):
    _fields_ = [
        ("sizes", ctypes.c_uint * 7),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    ]


class CompiledKernel:
    """A tuned kernel, to be called with arrays: those that it reads, in its order or by name.

    Results are made in the library of the first argument, unless given by name. Scalars have the
    values that they were tuned with, unless given by name. Arrays of PyTorch and CuPy stay where
    they are and the launch goes to their library's current stream; NumPy's are copied there and
    back.
    """

    def __init__(self, entry: str, code: bytes, call: Mapping[str, Any]) -> None:
        self.entry, self.code, self.call = entry, code, call
        self.tensors: Dict[str, Mapping[str, Any]] = {
            each["name"]: each for each in call["tensors"]
        }
        self.reads = [
            n for n, t in self.tensors.items() if t["role"] not in ("output", "workspace")
        ]
        self.writes = [
            n for n, t in self.tensors.items() if t["role"] not in ("input", "workspace")
        ]
        self.scalars = {a["scalar"]: a for a in call["arguments"] if "scalar" in a}
        self._home = 0
        self._loaded: Dict[int, Tuple[ctypes.c_void_p, ctypes.c_void_p]] = {}

    def on(self, device: int) -> "CompiledKernel":
        """The same for arrays of the host: these go to device 0 else."""
        self._home = device
        return self

    def __repr__(self) -> str:
        return f"CompiledKernel({', '.join(self.reads)} -> {', '.join(self.writes)})"

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """The result; several as a tuple."""
        given = self._bound(arrays, named)
        places = {name: self._checked(name, array) for name, array in given.items()}
        devices = {place.device for place in places.values() if place.device is not None}
        if len(devices) > 1:
            raise ValueError(f"the arrays lie on several devices: {sorted(devices)}")
        device = devices.pop() if devices else self._home
        driver = Driver.get()
        driver.enter(device)
        self._check_device(driver, device)
        there = [given[name] for name, place in places.items() if place.device is not None]
        stream = _arrays.stream_of(there[0]) if there else 0
        scalars = {name: value for name, value in named.items() if name in self.scalars}
        self._run(driver, device, places, scalars, stream)
        results = tuple(given[name] for name in self.writes)
        return results[0] if len(results) == 1 else results

    def _bound(self, arrays: Tuple[Any, ...], named: Mapping[str, Any]) -> Dict[str, Any]:
        if len(arrays) > len(self.reads):
            raise TypeError(
                f"takes {len(self.reads)} arrays ({', '.join(self.reads)}), not {len(arrays)}"
            )
        given = dict(zip(self.reads, arrays))
        for name, value in named.items():
            if name not in self.tensors and name not in self.scalars:
                raise TypeError(f"there is no argument '{name}'")
            if name in given:
                raise TypeError(f"'{name}' is given twice")
            if name in self.tensors:
                given[name] = value
        missing = [name for name in self.reads if name not in given]
        if missing or not given:
            raise TypeError(f"arrays are missing: {', '.join(missing)}")
        first = next(iter(given.values()))
        for name, tensor in self.tensors.items():
            if name not in given:
                dtype = _arrays.TYPES[tensor["type"]][1]
                given[name] = _arrays.empty_like(first, tensor["dims"], dtype)
        return given

    def _checked(self, name: str, array: Any) -> _arrays.Place:
        place, tensor = _arrays.place_of(array), self.tensors[name]
        size, dtype = _arrays.TYPES[tensor["type"]]
        wanted = size
        for extent in tensor["dims"]:
            wanted *= extent
        if place.dtype != dtype:
            raise TypeError(f"{name}: expected {dtype}, not {place.dtype}")
        if place.bytes != wanted:
            raise ValueError(f"{name}: expected the shape {tensor['dims']}, which it was tuned for")
        if not place.packed:
            raise ValueError(f"{name}: must lie closely packed, row by row")
        return place

    def _check_device(self, driver: Driver, device: int) -> None:
        wanted = tuple(self.call["capability"])
        found = driver.capability(device)
        if found != wanted:
            raise MachineError(
                f"the kernel was compiled for {self.call['device']} "
                f"(sm_{wanted[0]}{wanted[1]}), and device {device} is an sm_{found[0]}{found[1]}"
            )

    def _run(
        self,
        driver: Driver,
        device: int,
        places: Mapping[str, _arrays.Place],
        scalars: Mapping[str, Any],
        stream: int,
    ) -> None:
        if device not in self._loaded:
            self._loaded[device] = self._load(driver)
        module, function = self._loaded[device]
        own: Dict[str, int] = {}
        try:
            for name, place in places.items():
                if place.device is None:
                    own[name] = driver.allocate(place.bytes)
                    if name in self.reads:
                        driver.to_device(own[name], place.address, place.bytes)
            addresses = {name: own.get(name, place.address) for name, place in places.items()}
            for name in self.call.get("constants", []):
                key = name if isinstance(name, str) else name["tensor"]
                driver.call(
                    "cuMemcpyDtoDAsync_v2",
                    ctypes.c_uint64(driver.address_of(module, key)),
                    ctypes.c_uint64(addresses[key]),
                    ctypes.c_size_t(places[key].bytes),
                    ctypes.c_void_p(stream),
                )
            self._launch(driver, function, addresses, scalars, stream)
            if own:
                driver.synchronize(stream)
            for name, address in own.items():
                if name in self.writes:
                    driver.to_host(places[name].address, address, places[name].bytes)
        finally:
            for address in own.values():
                driver.free(address)

    def _load(self, driver: Driver) -> Tuple[ctypes.c_void_p, ctypes.c_void_p]:
        module, function = driver.load(self.code, self.entry)
        driver.call("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED, self.call["shared"])
        cluster = self.call["cluster"]
        if cluster[0] * cluster[1] * cluster[2] > 8:
            driver.call("cuFuncSetAttribute", function, _NON_PORTABLE_CLUSTER, 1)
        return module, function

    def _launch(
        self,
        driver: Driver,
        function: ctypes.c_void_p,
        addresses: Mapping[str, int],
        scalars: Mapping[str, Any],
        stream: int,
    ) -> None:
        values: List[Any] = []
        for argument in self.call["arguments"]:
            if "map" in argument:
                name = argument["tensor"]
                values.append(tensor_map(driver, argument, self.tensors[name], addresses[name]))
            elif "tensor" in argument:
                values.append(ctypes.c_uint64(addresses[argument["tensor"]]))
            else:
                values.append(scalar(argument, scalars.get(argument["scalar"])))
        pointers = [ctypes.cast(ctypes.pointer(value), ctypes.c_void_p) for value in values]
        packed = (ctypes.c_void_p * max(len(pointers), 1))(*pointers)
        attributes = []
        if self.call["cluster"] != [1, 1, 1]:
            attributes.append(_Attribute(_CLUSTER_DIMENSION))
            attributes[-1].value[:3] = self.call["cluster"]
        if self.call.get("cooperative"):
            attributes.append(_Attribute(_COOPERATIVE))
            attributes[-1].value[0] = 1
        if self.call.get("programmatic"):
            attributes.append(_Attribute(_PROGRAMMATIC))
            attributes[-1].value[0] = 1
        sizes = (*self.call["grid"], *self.call["block"], self.call["shared"])
        config = _LaunchConfig((ctypes.c_uint * 7)(*sizes), stream)
        config.attributes = (_Attribute * max(len(attributes), 1))(*attributes)
        config.count = len(attributes)
        driver.call("cuLaunchKernelEx", ctypes.byref(config), function, packed, None)


def tensor_map(
    driver: Driver, argument: Mapping[str, Any], tensor: Mapping[str, Any], address: int
) -> Any:
    """The 128 bytes through which the copy engine sees a tensor that lies closely packed."""
    element = _arrays.TYPES[argument["type"]][0]
    of_tensor = [element]
    for extent in reversed(tensor["dims"][1:]):
        of_tensor.insert(0, of_tensor[0] * extent)
    axes = argument["axes"]  # innermost first: dimension of the tensor, modulo, divisor
    dims = [modulo or tensor["dims"][at] // divisor for at, modulo, divisor in axes]
    strides = [of_tensor[at] * divisor for at, _, divisor in axes]
    rank = len(axes)
    room = ctypes.create_string_buffer(192)  # the map must lie at a multiple of 64
    place = (ctypes.addressof(room) + 63) & ~63
    driver.call(
        "cuTensorMapEncodeTiled",
        ctypes.c_void_p(place),
        ctypes.c_int(_MAP_TYPES[argument["type"]]),
        ctypes.c_uint32(rank),
        ctypes.c_void_p(address),
        (ctypes.c_uint64 * rank)(*dims),
        (ctypes.c_uint64 * rank)(*strides[1:]),
        (ctypes.c_uint32 * rank)(*argument["box"]),
        (ctypes.c_uint32 * rank)(*[1] * rank),
        ctypes.c_int(0),
        ctypes.c_int(_SWIZZLES[argument["swizzle"]]),
        ctypes.c_int(_L2_PROMOTION),
        ctypes.c_int(0),
    )
    result = (ctypes.c_uint8 * 128)()
    ctypes.memmove(result, place, 128)
    return result


def scalar(argument: Mapping[str, Any], value: Any) -> Any:
    """A scalar as the kernel takes it: `value`, or if it is None what it was tuned with."""
    if "bytes" in argument and value is None:
        return (ctypes.c_uint8 * len(argument["bytes"]))(*argument["bytes"])
    kind = _SCALARS.get(argument.get("type", ""))
    if kind is not None:
        return kind(argument["value"] if value is None else value)
    if argument.get("type") == "f16":
        import numpy

        half = numpy.float16(argument["value"] if value is None else value)
        return ctypes.c_uint16(int(half.view(numpy.uint16)))
    raise MachineError(f"'{argument.get('scalar')}' is of a type that cannot be set here")
