"""A winner as a function of arrays, without a GPU."""

import ctypes
import unittest

import numpy
from fake_cuda import FakeCuda

from fa_tune import _arrays, compiled
from fa_tune._driver import Driver
from fa_tune.errors import MachineError


CALL = {
    "kernel": 0,
    "device": "NVIDIA H100 SXM",
    "capability": [9, 0],
    "grid": [2, 1, 1],
    "block": [4, 1, 1],
    "cluster": [1, 1, 1],
    "shared": 16,
    "tensors": [
        {"name": "x", "role": "input", "type": "f32", "dims": [2, 4]},
        {"name": "y", "role": "output", "type": "f32", "dims": [8]},
    ],
    "arguments": [
        {"tensor": "x"},
        {"tensor": "y"},
        {"scalar": "a", "type": "f32", "value": 2.5},
        {"scalar": "n", "type": "i32", "value": 8},
    ],
    "constants": [],
}


class OnDevice:
    """An array as CuPy shows one; its memory is the host's here, and stands for the device's."""

    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (array.ctypes.data, False),
            "strides": None if array.flags["C_CONTIGUOUS"] else array.strides,
            "version": 3,
        }


class Compiled(unittest.TestCase):
    def setUp(self):
        self.cuda = FakeCuda()
        Driver._instance = Driver(self.cuda)
        self.kernel = compiled.CompiledKernel("scale", b"\x7fELF", CALL)
        self.x = numpy.arange(8, dtype=numpy.float32).reshape(2, 4)

    def test_numpy_is_copied_there_and_back(self):
        result = self.kernel(self.x)
        numpy.testing.assert_array_equal(result, 2.5 * self.x.reshape(-1))
        self.assertEqual(self.cuda.launch, ([2, 1, 1, 4, 1, 1, 16], None, 0))
        self.assertEqual(self.cuda.memory, {})

    def test_scalars_and_results_may_be_given(self):
        y = numpy.zeros(8, numpy.float32)
        result = self.kernel(self.x, y=y, a=3.0, n=4)
        self.assertIs(result, y)
        numpy.testing.assert_array_equal(y, [0, 3, 6, 9, 0, 0, 0, 0])

    def test_what_lies_on_the_device_stays_there(self):
        y = numpy.zeros(8, numpy.float32)
        self.kernel(OnDevice(self.x), y=OnDevice(y))
        numpy.testing.assert_array_equal(y, 2.5 * self.x.reshape(-1))
        self.assertNotIn("cuMemAlloc_v2", self.cuda.calls)
        self.assertNotIn("cuStreamSynchronize", self.cuda.calls)

    def test_tensor_maps_are_made(self):
        arguments = [
            {
                "map": "x_map",
                "tensor": "x",
                "type": "f16",
                "box": [8, 2, 1],
                "swizzle": 64,
                "axes": [[2, 0, 1], [1, 0, 1], [0, 3, 1]],
            }
        ]
        tensors = [
            {"name": "x", "role": "input", "type": "f16", "dims": [6, 4, 16]},
            {"name": "y", "role": "output", "type": "f32", "dims": [1]},
        ]
        kernel = compiled.CompiledKernel("k", b"", {**CALL, "tensors": tensors, "arguments": arguments})
        seen = []

        def launched(config, function, parameters, extra):
            seen.append(ctypes.string_at(parameters[0], 128))
            return 0

        self.cuda.do_cuLaunchKernelEx = launched
        x = OnDevice(numpy.zeros((6, 4, 16), numpy.float16))
        kernel(x, y=OnDevice(numpy.zeros(1, numpy.float32)))
        address = x.array.ctypes.data
        self.assertEqual(
            self.cuda.map, [6, address, [16, 4, 3], [32, 128], [8, 2, 1], [1, 1, 1], [0, 2, 2, 0]]
        )
        self.assertEqual(seen, [b"\xab" * 128])

    def test_it_is_loaded_once(self):
        for _ in range(3):
            self.kernel(self.x)
        self.assertEqual(self.cuda.calls.count("cuModuleLoadData"), 1)

    def test_dlpack(self):
        class Speaks:
            def __init__(self, array):
                self.__dlpack__ = array.__dlpack__

        place = _arrays.place_of(Speaks(self.x))
        self.assertEqual(place, _arrays.Place(self.x.ctypes.data, 32, None, "float32", True))

    def test_what_does_not_fit_is_refused_before_a_launch(self):
        wide = numpy.zeros((2, 8), numpy.float32)[:, ::2]
        for array, error, said in [
            (self.x.astype(numpy.float64), TypeError, "x: expected float32"),
            (self.x[:1], ValueError, "x: expected the shape"),
            (wide, ValueError, "closely packed"),
            (OnDevice(wide), ValueError, "closely packed"),
            ([1, 2], TypeError, "expected an array"),
        ]:
            with self.assertRaisesRegex(error, said):
                self.kernel(array)
        with self.assertRaisesRegex(TypeError, "no argument 'z'"):
            self.kernel(self.x, z=1)
        with self.assertRaisesRegex(TypeError, "missing: x"):
            self.kernel(y=self.x)
        self.assertNotIn("cuLaunchKernelEx", self.cuda.calls)

    def test_another_gpu_is_refused(self):
        kernel = compiled.CompiledKernel("scale", b"", {**CALL, "capability": [8, 9]})
        with self.assertRaisesRegex(MachineError, r"sm_89.*sm_90"):
            kernel(self.x)

    def test_a_failure_frees_what_it_took(self):
        self.cuda.failing = "cuLaunchKernelEx"
        with self.assertRaisesRegex(MachineError, r"cuLaunchKernelEx failed: out of memory \(2\)"):
            self.kernel(self.x)
        self.assertEqual(self.cuda.memory, {})

    def test_without_a_driver_it_says_so(self):
        Driver._instance = None
        import os

        os.environ["FA_TUNE_LIBCUDA"] = "/none/libcuda.so.1"
        try:
            with self.assertRaisesRegex(MachineError, "no NVIDIA driver"):
                self.kernel(self.x)
        finally:
            del os.environ["FA_TUNE_LIBCUDA"]


if __name__ == "__main__":
    unittest.main()
