#pragma once

#include <filesystem>
#include <string>

#include "engine/source/source_lines.hpp"

namespace fa_tune::community {

// A T1 file's kernel as a space of ours, as YAML: a custom problem (engine/problem/custom/spec.hpp)
// whose truth is `reference`, so that all that can be done with a space can be done with it.
//
// By Kernel Tuner's and BAT's conventions: every parameter is defined in the source, and where it
// names them kernel_tuner (1), block_size_x, ... and grid_size_x, ... (of the file's own
// ProblemSize; BAT's are in capitals), and the whole numbers of BenchmarkConfig; a block is
// LocalSize, else block_size_x, _y and _z (256, 1 and 1 where there is none); a grid is ProblemSize
// over the product of GridDivX, _Y and _Z, each a list or one expression (where they are not given
// or empty, the block's size, or 1 where nothing gives that), rounded up, else GlobalSize (X, Y and
// Z, a list, or one size), in threads if GlobalSizeType is OpenCL. Of the arguments: Vector or
// Scalar; a Type called float, double, half or int; MemType Constant, which fills the
// `__constant__` variable of its name, and is an argument too where the kernel has a parameter for
// it; AccessType ReadOnly, WriteOnly or ReadWrite; FillType Random (over [0, FillValue)), Constant,
// or Generator, which is taken for Random; a FillValue may stand in quotes; a Size may mention
// ProblemSize[0] and max(parameter). Of CompilerOptions those that compiler_policy.hpp knows; the
// language is C++17 and code is always optimized, so -std and -O are left out, and others with a
// warning. Where an argument is f64, results may differ by 1e-9 of their value.
//
// The sizes are problem_size_x, _y and _z. The reference is the one __global__ function of its
// file, else the one called as the T1 file's kernel; it takes the same arguments, one thread for
// each element of ProblemSize in blocks of 256, 32 x 8 or 32 x 4 x 2, and is told their sizes as
// block_size_x, ... and, as defines too, kernel_tuner and the parameters that have one value alone.
//
// The reference may be "self": the kernel itself, with the file's Defaults for its config, else the
// first values, else the valid config nearest to these. It then proves that all configs compute the
// same, and no more. It is the first preset.
struct T1Use {
  std::filesystem::path reference;
  std::string target = "h100";  // a device profile
};

// Throws UserError with the place in the T1 file, or the reference's name, for what does not fit.
// `lines` gets where the lines of the two sources come from.
std::string t1_as_space(const std::string& text, const std::filesystem::path& path,
                        const T1Use& use, source::SourceMaps* lines = nullptr);

}  // namespace fa_tune::community
