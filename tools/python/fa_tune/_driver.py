"""The CUDA driver by ctypes. Nothing is built."""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any, Dict, Optional, Tuple

from .errors import MachineError

_CAPABILITY = (75, 76)  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
_PORTABLE, _DEVICE_MAPPED = 1, 2  # CU_MEMHOSTREGISTER_...
_NOT_READY = 600  # CUDA_ERROR_NOT_READY


class Driver:
    """libcuda, with a context for each device that is asked for."""

    _instance: Optional["Driver"] = None
    _lock = threading.Lock()

    def __init__(self, library: Any) -> None:
        self._library = library
        self._contexts: Dict[int, ctypes.c_void_p] = {}
        self.call("cuInit", ctypes.c_uint(0))

    @classmethod
    def get(cls) -> "Driver":
        with cls._lock:
            if cls._instance is None:
                name = os.environ.get("FA_TUNE_LIBCUDA") or "libcuda.so.1"
                try:
                    library = ctypes.CDLL(name)
                except OSError as error:
                    raise MachineError(
                        f"no NVIDIA driver here, so a kernel cannot be launched: {error}"
                    ) from None
                cls._instance = Driver(library)
            return cls._instance

    def call(self, name: str, *arguments: Any) -> None:
        self._check(name, getattr(self._library, name)(*arguments))

    def _check(self, name: str, code: int) -> None:
        if code == 0:
            return
        text = ctypes.c_char_p()
        self._library.cuGetErrorString(code, ctypes.byref(text))
        said = (text.value or b"unknown error").decode(errors="replace")
        raise MachineError(f"{name} failed: {said} ({code})")

    def count(self) -> int:
        number = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(number))
        return number.value

    def capability(self, device: int) -> Tuple[int, int]:
        handle, number, both = ctypes.c_int(), ctypes.c_int(), []
        self.call("cuDeviceGet", ctypes.byref(handle), device)
        for attribute in _CAPABILITY:
            self.call("cuDeviceGetAttribute", ctypes.byref(number), attribute, handle)
            both.append(number.value)
        return both[0], both[1]

    def name(self, device: int) -> str:
        handle, text = ctypes.c_int(), ctypes.create_string_buffer(256)
        self.call("cuDeviceGet", ctypes.byref(handle), device)
        self.call("cuDeviceGetName", text, 256, handle)
        return text.value.decode(errors="replace")

    def bus_id(self, device: int) -> str:
        """As NVML and nvidia-smi name it: 00000000:01:00.0, say."""
        handle, text = ctypes.c_int(), ctypes.create_string_buffer(32)
        self.call("cuDeviceGet", ctypes.byref(handle), device)
        self.call("cuDeviceGetPCIBusId", text, 32, handle)
        return text.value.decode(errors="replace")

    def enter(self, device: int) -> None:
        """Makes the device's primary context, which PyTorch and CuPy have too, this thread's."""
        with self._lock:
            if device not in self._contexts:
                context, handle = ctypes.c_void_p(), ctypes.c_int()
                self.call("cuDeviceGet", ctypes.byref(handle), device)
                self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), handle)
                self._contexts[device] = context
        self.call("cuCtxSetCurrent", self._contexts[device])

    def load(self, code: bytes, entry: str) -> Tuple[ctypes.c_void_p, ctypes.c_void_p]:
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), code)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
        return module, function

    def allocate(self, size: int) -> int:
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 1)))
        return address.value

    def free(self, address: int) -> None:
        self.call("cuMemFree_v2", ctypes.c_uint64(address))

    def register_host(self, address: int, size: int) -> None:
        """Lets kernels use memory of the host's, at the address that it has there."""
        flags = _PORTABLE | _DEVICE_MAPPED
        self.call("cuMemHostRegister_v2", ctypes.c_void_p(address), ctypes.c_size_t(size), flags)

    def to_device(self, address: int, source: int, size: int) -> None:
        self.call(
            "cuMemcpyHtoD_v2",
            ctypes.c_uint64(address),
            ctypes.c_void_p(source),
            ctypes.c_size_t(size),
        )

    def to_host(self, target: int, address: int, size: int) -> None:
        self.call(
            "cuMemcpyDtoH_v2",
            ctypes.c_void_p(target),
            ctypes.c_uint64(address),
            ctypes.c_size_t(size),
        )

    def address_of(self, module: ctypes.c_void_p, name: str) -> int:
        address, size = ctypes.c_uint64(), ctypes.c_size_t()
        self.call(
            "cuModuleGetGlobal_v2", ctypes.byref(address), ctypes.byref(size), module, name.encode()
        )
        return address.value

    def is_done(self, stream: int) -> bool:
        """Whether all that was launched there is over."""
        code: int = self._library.cuStreamQuery(ctypes.c_void_p(stream))
        if code != _NOT_READY:
            self._check("cuStreamQuery", code)
        return code == 0

    def synchronize(self, stream: int) -> None:
        self.call("cuStreamSynchronize", ctypes.c_void_p(stream))
