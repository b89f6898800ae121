// Kernel scale of template mine, exported by fa-tune 0.1.0.
// Build: nvcc -arch=sm_89 -c FILE.cu
//
// space      scale, hash f1eed9c75de80d5eda98596b71c55c3a39b162f208c16050c527fb72fa7a4a80
// problem    custom n=4000
// trial      1: number 1 of run 1, seed 1
// device     emulator:l4, emulated NVIDIA L4
// compiler   NVRTC 13.0.88 for sm_89, limits of l4
// when       2026-11-23T09:23:51Z
// time       1.72 us predicted, interval 1.72 .. 1.72 us, stage screen
// verdict    passed; 11 gate cases, worst error 0.0441 of what is allowed
// config     mine BLOCK=128 PER=1
// grid       32 x 1 x 1 blocks = [ceil_div(problem.n, BLOCK * PER)]
// block      128 x 1 x 1 threads = [BLOCK]
// shared     0 bytes dynamic = 0
// resources  10 registers, 0 bytes spilled, 0 bytes static shared
// argument   x: pointer to f32 [4000], read
// argument   y: pointer to f32 [4000], written whole
// argument   a: f32, 2.5
// argument   n: i32, n
//
// fa-tune export 1 begin
// {
//  "template": "mine",
//  "kernel": "scale",
//  "arch": "sm_89",
//  "target": "l4",
//  "config": {
//   "template": "mine",
//   "BLOCK": 128,
//   "PER": 1
//  },
//  "problem": "custom",
//  "settings": {
//   "space": "space: scale\ntarget: l4\nproblem:\n  kind: custom\n  sizes: [{n: 4000}, {n: 1}, {n: 300}]\n  arguments:\n    - {name: x, type: f32, shape: [n]}\n    - {name: y, type: f32, shape: [n], role: output}\n    - {name: a, type: f32, value: 2.5}\n    - {name: n, type: i32, value: n}\n  reference: {source: plain.cu, kernel: plain, launch: {grid: [\"ceil_div(problem.n, 256)\"], block: [256]}}\ntemplates:\n  mine: {source: mine.cu, kernel: scale, launch: {grid: [\"ceil_div(problem.n, BLOCK * PER)\"], block: [BLOCK]}}\nparameters:\n  BLOCK: [64, 128, 256]\n  PER: [1, 2]\nfiles:\n  \"plain.cu\": |2+\n    extern \"C\" __global__ void plain(const float* x, float* y, float a, int n) {\n      const int i = blockIdx.x * blockDim.x + threadIdx.x;\n      if (i < n) y[i] = a * x[i];\n    }\n  \"mine.cu\": |2+\n    extern \"C\" __global__ void scale(const float* x, float* y, float a, int n) {\n    #pragma unroll PER\n      for (int k = 0; k < PER; ++k) {\n        const int i = blockIdx.x * BLOCK * PER + threadIdx.x + k * BLOCK;\n        if (i < n) y[i] = a * x[i];\n      }\n    }\n"
//  },
//  "shape": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": 1}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}},
// "shapes": {
//   "n": 4000
//  },
//  "launch": {
//   "grid": [
//    32,
//    1,
//    1
//   ],
//   "block": [
//    128,
//    1,
//    1
//   ],
//   "cluster": [
//    1,
//    1,
//    1
//   ],
//   "dynamic_shared_bytes": 0
//  },
//  "body_sha256": "de50ec8b4c5f1458a9f7b3a5fbddf115ec72fe07f15fd99dada2d05b0fdf5566",
//  "manifest": [
//   "source: mine.cu",
//   "kernel: scale",
//   "launch: {grid: [\"ceil_div(problem.n, BLOCK * PER)\"], block: [BLOCK]}",
//   "problem: custom",
//   "parameters: [BLOCK, PER]",
//   "arguments: [x, y, a, n]",
//   ""
//  ]
// }
// fa-tune export 1 end
#define BLOCK 128
#define PER 1

extern "C" __global__ void scale(const float* x, float* y, float a, int n) {
#pragma unroll 1
  for (int k = 0; k < PER; ++k) {
    const int i = blockIdx.x * BLOCK * PER + threadIdx.x + k * BLOCK;
    if (i < n) y[i] = a * x[i];
  }
}
