"""A libcuda of Python's, for tests without a GPU: its device memory is the host's, and whatever it
launches computes y = a * x."""

import ctypes


class FakeCuda:
    """Functions by their names; what was called is kept."""

    def __init__(self):
        self.calls, self.memory, self.failing = [], {}, None
        self.busy = 0  # how often a stream is found at work before it is done

    def __getattr__(self, name):
        if name.startswith("do_"):
            return lambda *_: 0

        def function(*arguments):
            self.calls.append(name)
            if name == self.failing:
                return 2
            return getattr(self, "do_" + name)(*arguments)

        return function

    def do_cuGetErrorString(self, code, text):
        text._obj.value = b"out of memory"
        return 0

    def do_cuDeviceGet(self, handle, number):
        handle._obj.value = number
        return 0

    def do_cuDevicePrimaryCtxRetain(self, context, handle):
        context._obj.value = 100 + handle.value  # 0 would be no context
        return 0

    def do_cuCtxSetCurrent(self, context):
        self.entered = context.value - 100
        return 0

    def do_cuDeviceGetCount(self, count):
        count._obj.value = 1
        return 0

    def do_cuDeviceGetAttribute(self, number, attribute, handle):
        number._obj.value = {75: 9, 76: 0}[attribute]
        return 0

    def do_cuDeviceGetName(self, text, size, handle):
        text.value = b"NVIDIA H100 SXM"
        return 0

    def do_cuDeviceGetPCIBusId(self, text, size, handle):
        text.value = b"0000:1B:00.0"
        return 0

    def do_cuStreamQuery(self, stream):
        self.busy -= 1
        return 600 if self.busy >= 0 else 0

    def do_cuMemAlloc_v2(self, address, size):
        room = (ctypes.c_uint8 * size.value)()
        address._obj.value = ctypes.addressof(room)
        self.memory[address._obj.value] = room
        return 0

    def do_cuMemFree_v2(self, address):
        return 0 if self.memory.pop(address.value, None) is not None else 1

    def do_cuMemcpyHtoD_v2(self, to, source, size):
        ctypes.memmove(to.value, source.value, size.value)
        return 0

    def do_cuMemcpyDtoH_v2(self, to, source, size):
        ctypes.memmove(to.value, source.value, size.value)
        return 0

    def do_cuTensorMapEncodeTiled(self, place, kind, rank, address, dims, strides, box, steps, *more):
        if place.value % 64 or address.value % 16:
            return 1
        rank = rank.value
        facts = [kind.value, address.value, list(dims)[:rank], list(strides)[: rank - 1], list(box)[:rank]]
        self.map = [*facts, list(steps)[:rank], [each.value for each in more]]
        ctypes.memset(place.value, 0xAB, 128)
        return 0

    def do_cuLaunchKernelEx(self, config, function, parameters, extra):
        config = config._obj
        self.launch = (list(config.sizes), config.stream, config.count)
        x, y = (ctypes.cast(parameters[i], ctypes.POINTER(ctypes.c_uint64))[0] for i in (0, 1))
        a = ctypes.cast(parameters[2], ctypes.POINTER(ctypes.c_float))[0]
        n = ctypes.cast(parameters[3], ctypes.POINTER(ctypes.c_int32))[0]
        for i in range(n):
            value = ctypes.c_float.from_address(x + 4 * i).value
            ctypes.c_float.from_address(y + 4 * i).value = a * value
        return 0
