#pragma once

#include <string>

namespace fa_tune::source {

// A CUDA text without its functions for the host that no compiler of device code takes: main, those
// that launch a kernel (<<<) or name what the CUDA runtime has (cudaMalloc, cudaError_t), and those
// that call one of these. Blanks stand in their places, so that lines stay where they are;
// preprocessor lines within them are left. What has __global__ or __device__ is never one of them.
//
// Found without the grammar. Functions in classes are not looked at.
std::string without_host_functions(std::string text);

}  // namespace fa_tune::source
