"""tune_kernel with constant and shared memory, names of blocks, types, and an output that follows from the config."""

import os
import unittest

import numpy

from fa_tune import tune_kernel

os.environ["FA_TUNE_DEVICE"] = "emulator:h100"

ROWS = """
#ifndef PER
#define PER 1
#endif
__constant__ float weights[4];
// Rows of 32: result[row] is 4 weights times sums, in as many blocks as parts says.
__global__ void rows(double *partial, const float *x, bool negate, unsigned char *seen) {
    extern __shared__ float room[];
    const int row = blockIdx.y;
    float sum = 0;
    for (int i = threadIdx.x + blockIdx.x * TX; i < 32; i += TX * parts) sum += x[row * 32 + i];
    room[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        float all = 0;
        for (int i = 0; i < TX; ++i) all += room[i];
        partial[row * 4 + blockIdx.x] = (negate ? -1 : 1) * weights[row % 4] * all;
        seen[row] = 1;
    }
}
"""


class Rows(unittest.TestCase):
    def setUp(self):
        drawn = numpy.random.default_rng(2)
        self.x = drawn.standard_normal((6, 32)).astype(numpy.float32)
        self.weights = numpy.array([1, 2, 3, 4], numpy.float32)
        self.partial = numpy.zeros((6, 4))
        seen = numpy.zeros(6, numpy.uint8)
        self.arguments = [self.partial, self.x, numpy.bool_(True), seen]
        self.sums = -(self.x.sum(1, dtype=numpy.float64) * numpy.resize(self.weights, 6))

    def tune(self, **options):
        return tune_kernel(
            "rows",
            ROWS,
            ("parts", 6),
            self.arguments,
            {"TX": [4, 8], "parts": [1, 2, 4]},
            grid_div_x=[],
            grid_div_y=[],
            block_size_names=["TX"],
            cmem_args={"weights": self.weights},
            smem_args={"size": lambda p: p["TX"] * 4},
            compiler_options=["-DPER=2", "--std=c++17", "-use_fast_math"],
            quiet=True,
            **options,
        )

    def test_what_follows_from_the_config_need_not_be_compared(self):
        rows, _ = self.tune()
        self.assertEqual(len(rows), 6)
        rows, _ = self.tune(answer=[None, None, None, numpy.ones(6, numpy.uint8)])
        self.assertEqual(len(rows), 6)
        rows, _ = self.tune(answer=[None, None, None, numpy.array([1, 1, 1, 1, 1, 0], numpy.uint8)])
        self.assertEqual(rows, [])

    def test_an_answer_of_one_config_refuses_the_others(self):
        expected = numpy.zeros((6, 4))
        expected[:, 0] = self.sums
        rows, _ = self.tune(answer=[expected, None, None, None], atol=1e-4)
        self.assertEqual({row["parts"] for row in rows}, {1})


if __name__ == "__main__":
    unittest.main()
