#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/lone/kernel_file.hpp"
#include "tools/lone/run.hpp"

namespace fa_tune::lone {

// A word of "accept": device::Checks::unfenced_mbarriers.
inline constexpr std::string_view kUnfencedMbarriers = "unfenced_mbarriers";

// One launch as a JSON file describes it, of the user's own or one that fa_tune.record_triton wrote:
//
//   {"file": "add.ptx",                   .ptx or .cu
//    "kernel": "add",                     may be left out where the PTX has only one
//    "device": "a100",                    a device profile
//    "accept": ["unfenced_mbarriers"],    what is no finding: as --accept
//    "grid": [4], "block": [128], "cluster": [1], "shared": 0, "cooperative": false,
//    "programmatic": false,
//    "buffers": {
//      "x":   {"dtype": "f32", "shape": [1000], "fill": "normal:1"},     as in argument_spec.hpp
//      "y":   {"dtype": "f32", "shape": [1000], "fill": "file:y.npy", "save": "y_after.npy"},
//      "out": {"dtype": "f32", "shape": [1000], "save": "out.npy"},      nobody has written it
//      "all": {"dtype": "u64", "shape": [2], "fill": "zeros",            addresses of others, which
//              "addresses": [{"element": 1, "buffer": "x", "offset": 8}]}},    stand before it
//    "args": ["i32=1000", "struct:i32[8]=iota",                          as in argument_spec.hpp
//             {"buffer": "x"}, {"buffer": "y", "offset": 256},           offset in bytes
//             {"buffer": "x", "map": "f32[10x100]=zeros,box=2x4"}]}      a tensor map over it
//
// `block` and `cluster` may be left out where the PTX has .reqntid and .reqnctapercluster. All files
// are in the launch file's folder: whoever runs a stranger's folder reads and writes there alone.
struct LaunchFile {
  SourceFile source;
  LoneLaunch launch;
  std::string device;                                                // empty: it says none
  std::vector<std::pair<std::size_t, std::filesystem::path>> saves;  // of launch.arguments

  // Throws UserError with file, line and column.
  static LaunchFile load(const std::filesystem::path& file);
};

// The launch files of a folder, in the order of their names. Throws UserError where there is none.
std::vector<std::filesystem::path> launch_files_of(const std::filesystem::path& folder);

}  // namespace fa_tune::lone
