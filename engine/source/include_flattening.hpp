#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/source/source_lines.hpp"

namespace fa_tune::source {

// Whether a file that includes `name` means a header of the C or C++ library or of the CUDA
// toolkit, not one of its own: <stdint.h>, "cuda_fp16.h", <cub/block/block_reduce.cuh>. The
// compiler knows where those are (engine/kernel/compile/compiler_headers.hpp); all other names are
// files to be found.
bool is_library_header(std::string_view name);

// The folder a template's files must lie in: the nearest one above `manifest` that is called
// kernel_templates, else the manifest's own.
std::filesystem::path template_root(const std::filesystem::path& manifest);

// The text of a CUDA file with every #include "x" replaced by that file's text between two comment
// lines, each file once, where it is first named; `#pragma once` lines are dropped, for there is
// one file now. x is looked for beside the file that names it, then in root/include, then in
// `folders`, which are paths below root. An include
// counts wherever it stands outside of comments, so inside #if it must not be the only one of its
// file. #include <...> stays as it is, and so does a library's header in quotes that is no file of
// theirs (is_library_header). A file that begins with "// fa-tune: defaults" is left out: it is
// for compilers that are given a template by itself. Line ends become '\n'. Functions that only a
// compiler of host code takes are left blank (host_functions.hpp).
//
// Throws UserError with file and line for a file that is missing or lies outside `root`, symbolic
// links followed, and for one that is no text.
std::string flatten_includes(const std::filesystem::path& file, const std::filesystem::path& root,
                             const std::vector<std::string>& folders = {});

// The same, and where its lines come from; files are called by their paths below root.
struct FlatText {
  std::string text;
  SourceLines lines;
};
FlatText flatten(const std::filesystem::path& file, const std::filesystem::path& root,
                 const std::vector<std::string>& folders = {});

}  // namespace fa_tune::source
