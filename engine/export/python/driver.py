import base64
import ctypes
import gzip
import math
import threading

import torch

# --- Launching, through the driver that PyTorch has loaded: nothing is compiled or built here.

_TYPES = {
    "f16": (torch.float16, None, 6),  # element type, ctypes' scalar, CUtensorMapDataType
    "bf16": (torch.bfloat16, None, 9),
    "f32": (torch.float32, ctypes.c_float, 7),
    "f64": (torch.float64, ctypes.c_double, 8),
    "i8": (torch.int8, ctypes.c_int8, 0),
    "u8": (torch.uint8, ctypes.c_uint8, 0),
    "bool": (torch.bool, ctypes.c_bool, 0),
    "i16": (torch.int16, ctypes.c_int16, 1),
    "u16": (torch.uint16, ctypes.c_uint16, 1),
    "i32": (torch.int32, ctypes.c_int32, 3),
    "u32": (torch.uint32, ctypes.c_uint32, 2),
    "i64": (torch.int64, ctypes.c_int64, 5),
    "u64": (torch.uint64, ctypes.c_uint64, 4),
    "complex64": (torch.complex64, None, 7),
    "complex128": (torch.complex128, None, 8),
    "e4m3": (getattr(torch, "float8_e4m3fn", None), None, 0),
    "e5m2": (getattr(torch, "float8_e5m2", None), None, 0),
}
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}  # CUtensorMapSwizzle
_L2_PROMOTION = 2  # CU_TENSOR_MAP_L2_PROMOTION_L2_128B
_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_NON_PORTABLE_CLUSTER = 14  # CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
_COOPERATIVE = 2  # CU_LAUNCH_ATTRIBUTE_COOPERATIVE
_CLUSTER_DIMENSION = 4  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
_PROGRAMMATIC = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED
_ALIGNMENT = 16  # bytes: what copies of 16 bytes and tensor maps ask of an address
_ROOM_ALIGNMENT = 256  # bytes: of workspaces, as cuMemAlloc's
_MOST_PREPARED = 1024  # launches that are kept ready

# PyTorch's public ways to the current stream and device make objects, which takes longer than a launch.
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
_raw_device = getattr(torch._C, "_cuda_getDevice", torch.cuda.current_device)
_driver_library = None
_here = threading.local()  # .device: whose context this thread has had made its own
_lock = threading.Lock()
_contexts = {}  # of devices, by index
_modules = {}  # (functions by entry, module) by (kernel, device)
_prepared = {}


class _Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_uint32 * 16)]


class _LaunchConfig(ctypes.Structure):
    _fields_ = [("sizes", ctypes.c_uint * 7), ("stream", ctypes.c_void_p)]
    _fields_ += [("attributes", ctypes.POINTER(_Attribute)), ("count", ctypes.c_uint)]


class _Map(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 128)]


def _driver():
    global _driver_library
    if _driver_library is None:
        _driver_library = ctypes.CDLL("libcuda.so.1")
    return _driver_library


def _check(code, what):
    if code == 0:
        return
    text = ctypes.c_char_p()
    _driver().cuGetErrorString(code, ctypes.byref(text))
    raise RuntimeError(f"{what} failed: {(text.value or b'unknown error').decode()} ({code})")


def _context(device):
    """PyTorch's own: the primary context of the device, by its number among those visible."""
    context = _contexts.get(device)
    if context is None:
        torch.cuda.current_stream(device)  # starts CUDA where nothing has
        context, handle = ctypes.c_void_p(), ctypes.c_int()
        _check(_driver().cuDeviceGet(ctypes.byref(handle), device), "cuDeviceGet")
        _check(_driver().cuDevicePrimaryCtxRetain(ctypes.byref(context), handle), "cuDevicePrimaryCtxRetain")
        _contexts[device] = context
    return context


class _Entered:
    """Makes a device's context the thread's for a while. A new thread of Python has none."""

    def __init__(self, device):
        self._device, self._wanted = device, _context(device)
        self._before = ctypes.c_void_p()

    def __enter__(self):
        _check(_driver().cuCtxGetCurrent(ctypes.byref(self._before)), "cuCtxGetCurrent")
        if self._before.value != self._wanted.value:
            _check(_driver().cuCtxSetCurrent(self._wanted), "cuCtxSetCurrent")

    def __exit__(self, *_):
        if self._before.value not in (None, self._wanted.value):
            _driver().cuCtxSetCurrent(self._before)
        else:
            _here.device = self._device


def _kernels_of(call):
    """Of its steps those that run a kernel."""
    return [step for step in call["steps"] if "entry" in step]


def _arguments_of(call):
    return [argument for step in _kernels_of(call) for argument in step["arguments"]]


def _load(kernel, device):
    """Its functions by their names, and the module, in the context of `device`, which is current."""
    loaded = _modules.get((kernel, device))
    if loaded is not None:
        return loaded
    with _lock:
        loaded = _modules.get((kernel, device))
        if loaded is not None:
            return loaded
        cuda, mode = _driver(), ctypes.c_int(_RELAXED)  # loading is no part of a graph under capture
        _check(cuda.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode)), "cuThreadExchangeStreamCaptureMode")
        try:
            module = ctypes.c_void_p()
            code = gzip.decompress(base64.b64decode(_KERNELS[kernel]["code"]))
            _check(cuda.cuModuleLoadData(ctypes.byref(module), code), "cuModuleLoadData")
            steps = [step for call in _CALLS if call["kernel"] == kernel for step in _kernels_of(call)]
            functions = {step["entry"]: _function(module, steps, step["entry"]) for step in steps}
        finally:
            cuda.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))
        _modules[kernel, device] = functions, module
        return functions, module


def _function(module, steps, entry):
    """A kernel of the module, allowed what the steps that run it ask for."""
    cuda, function = _driver(), ctypes.c_void_p()
    _check(cuda.cuModuleGetFunction(ctypes.byref(function), module, entry.encode()), "cuModuleGetFunction")
    steps = [step for step in steps if step["entry"] == entry]
    shared = max(step.get("shared_most", step["shared"]) for step in steps)
    _check(cuda.cuFuncSetAttribute(function, _MAX_DYNAMIC_SHARED, shared), "cuFuncSetAttribute")
    if any(step["cluster"][0] * step["cluster"][1] * step["cluster"][2] > 8 for step in steps):
        _check(cuda.cuFuncSetAttribute(function, _NON_PORTABLE_CLUSTER, 1), "cuFuncSetAttribute")
    return function


def _strides(tensor):
    """Its strides in elements; where a size is 1, what they would be if it were closely packed."""
    result, packed = [], 1
    for size, stride in zip(reversed(tensor.shape), reversed(tensor.stride())):
        result.append(packed if size == 1 else stride)
        packed = result[-1] * size
    return result[::-1]


def _tensor_map(tensor, argument):
    """The 128 bytes through which the copy engine sees a tensor; its dimensions innermost first."""
    dims, strides, element = [], [], tensor.element_size()
    of_tensor = _strides(tensor)
    for at, modulo, divisor in argument["axes"]:
        dims.append(modulo or tensor.shape[at] // divisor)
        strides.append(of_tensor[at] * divisor * element)
    rank = len(dims)
    room = ctypes.create_string_buffer(192)  # the map must lie at a multiple of 64
    place = (ctypes.addressof(room) + 63) & ~63
    code = _driver().cuTensorMapEncodeTiled(
        ctypes.c_void_p(place),
        ctypes.c_int(_TYPES[argument["type"]][2]),
        ctypes.c_uint32(rank),
        ctypes.c_void_p(tensor.data_ptr()),
        (ctypes.c_uint64 * rank)(*dims),
        (ctypes.c_uint64 * rank)(*strides[1:]),
        (ctypes.c_uint32 * rank)(*argument["box"]),
        (ctypes.c_uint32 * rank)(*[1] * rank),
        ctypes.c_int(0),
        ctypes.c_int(_SWIZZLES[argument["swizzle"]]),
        ctypes.c_int(_L2_PROMOTION),
        ctypes.c_int(0),
    )
    _check(code, "cuTensorMapEncodeTiled")
    result = _Map()
    ctypes.memmove(ctypes.byref(result), place, 128)
    return result


def _scalar(argument, value):
    """A scalar as the kernel takes it."""
    if "bytes" in argument:
        return (ctypes.c_uint8 * len(argument["bytes"]))(*argument["bytes"])
    element, kind, _ = _TYPES[argument["type"]]
    if kind is not None:
        return kind(value)
    number = torch.tensor(value, dtype=element)
    return ctypes.c_uint16(number.view(torch.int16).item() & 0xFFFF)


def _bytes_of(tensor):
    return ctypes.c_size_t(tensor.numel() * tensor.element_size())


class _Launch:
    """A kernel's start with its arguments, which live as long as this does."""

    def __init__(self, step, function, tensors, scalars, stream):
        self.values = []
        for argument in step["arguments"]:
            if "map" in argument:
                self.values.append(_tensor_map(tensors[argument["tensor"]], argument))
            elif "tensor" in argument:
                self.values.append(ctypes.c_uint64(tensors[argument["tensor"]].data_ptr()))
            else:
                name = argument["scalar"]
                self.values.append(_scalar(argument, scalars.get(name, argument["value"])))
        pointers = [ctypes.cast(ctypes.pointer(value), ctypes.c_void_p) for value in self.values]
        self.pointers = (ctypes.c_void_p * max(len(pointers), 1))(*pointers)
        attributes = []
        if step["cluster"] != [1, 1, 1]:
            attributes.append(_Attribute(_CLUSTER_DIMENSION))
            attributes[-1].value[:3] = step["cluster"]
        if step.get("cooperative"):
            attributes.append(_Attribute(_COOPERATIVE))
            attributes[-1].value[0] = 1
        if step.get("programmatic"):
            attributes.append(_Attribute(_PROGRAMMATIC))
            attributes[-1].value[0] = 1
        self.attributes = (_Attribute * 3)(*attributes)
        self.config = _LaunchConfig()
        self.config.sizes[:] = [*step["grid"], *step["block"], step["shared"]]
        self.config.stream = stream
        self.config.attributes = self.attributes
        self.config.count = len(attributes)
        self.call = _driver().cuLaunchKernelEx, (ctypes.byref(self.config), function, self.pointers, None)


class _Prepared:
    """What a call asks of the driver, with all arguments, ready to be asked again."""

    def __init__(self, call, tensors, scalars, device, stream):
        functions, module = _load(call["kernel"], device)
        self.device = device
        self.launches = []
        self.calls = [self._constant(module, name, tensors[name], stream) for name in call["constants"]]
        for step in call["steps"]:
            if "set" in step:
                self.calls.append(self._fill(tensors[step["set"]], step["value"], stream))
            elif "copy" in step:
                self.calls.append(self._copy(tensors[step["to"]].data_ptr(), tensors[step["copy"]], stream))
            else:
                self.launches.append(_Launch(step, functions[step["entry"]], tensors, scalars, stream))
                self.calls.append(self.launches[-1].call)

    @staticmethod
    def _fill(tensor, value, stream):
        at = ctypes.c_uint64(tensor.data_ptr())
        return _driver().cuMemsetD8Async, (at, ctypes.c_ubyte(value), _bytes_of(tensor), ctypes.c_void_p(stream))

    @staticmethod
    def _copy(to, tensor, stream):
        at = ctypes.c_uint64(tensor.data_ptr())
        return _driver().cuMemcpyDtoDAsync_v2, (ctypes.c_uint64(to), at, _bytes_of(tensor), ctypes.c_void_p(stream))

    @classmethod
    def _constant(cls, module, name, tensor, stream):
        """A copy to where a `__constant__` variable lies."""
        address, room = ctypes.c_uint64(), ctypes.c_size_t()
        code = _driver().cuModuleGetGlobal_v2(ctypes.byref(address), ctypes.byref(room), module, name.encode())
        _check(code, f"cuModuleGetGlobal of {name}")
        return cls._copy(address.value, tensor, stream)

    def launch(self):
        if getattr(_here, "device", None) == self.device == _raw_device():
            self._launch()
        else:
            with _Entered(self.device):
                self._launch()

    def _launch(self):
        for function, arguments in self.calls:
            code = function(*arguments)
            if code != 0:
                _check(code, function.__name__)


def _stream_of(device):
    return _raw_stream(device) if _raw_stream is not None else torch.cuda.current_stream(device).cuda_stream


def _ready(key, call_index, tensors, scalars, device, stream):
    """A launch, kept under a key that says all it rests on; with None it is not kept. `tensors`: all of
    the call's, by name, of its sizes; `scalars`: what is not as it was tuned."""
    with _Entered(device):
        prepared = _Prepared(_CALLS[call_index], tensors, scalars, device, stream)
    if key is not None:
        if len(_prepared) >= _MOST_PREPARED:
            _prepared.clear()
        _prepared[key] = prepared
    return prepared


def _is_packed(tensor):
    expected = 1
    for size, stride in zip(reversed(tensor.shape), reversed(tensor.stride())):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def _is_mappable(tensor):
    """What a tensor map takes: elements side by side, rows at multiples of 16 bytes."""
    if tensor.stride(-1) != 1:
        return False
    for size, stride in zip(tensor.shape[:-1], tensor.stride()[:-1]):
        if size != 1 and (stride <= 0 or stride * tensor.element_size() % _ALIGNMENT != 0):
            return False
    return True


def _taken(tensor, by_maps):
    """The tensor as the kernel can read it: itself, unless its strides or its address do not fit."""
    fits = _is_mappable(tensor) if by_maps else _is_packed(tensor)
    if fits and tensor.data_ptr() % _ALIGNMENT == 0:
        return tensor
    return tensor.clone(memory_format=torch.contiguous_format)


_by_maps = {}


def _only_by_maps(call_index, name):
    """Whether a kernel sees a tensor through maps alone, which know of strides."""
    known = _by_maps.get((call_index, name))
    if known is None:
        call = _CALLS[call_index]
        uses = [argument for argument in _arguments_of(call) if argument.get("tensor") == name]
        known = len(uses) > 0 and all("map" in argument for argument in uses)
        moved = [step.get(what) for step in call["steps"] for what in ("set", "copy", "to")]
        known = known and name not in call["constants"] and name not in moved
        _by_maps[call_index, name] = known
    return known


def _device_facts(device):
    return torch.cuda.get_device_capability(device), torch.cuda.get_device_name(device)


@torch.compiler.assume_constant_result
def _calls_on(device):
    """What of _CALLS can run there, what was tuned on a device of that name first."""
    known = _on_device.get(device)
    if known is None:
        capability, name = _device_facts(device)
        fitting = [i for i, call in enumerate(_CALLS) if tuple(call["capability"]) == tuple(capability)]
        fitting.sort(key=lambda i: _CALLS[i]["device"] != name)
        known = _on_device[device] = tuple(fitting)
    return known


_on_device = {}


def prepare(device=None):
    """Loads every kernel that the device can run; else each is loaded at its first use."""
    device = torch.cuda.current_device() if device is None else torch.device(device).index
    with _Entered(device):
        for call in _calls_on(device):
            _load(_CALLS[call]["kernel"], device)


_OPERATORS = "fa_tune_" + _IDENTITY  # the namespace in torch.ops
