#pragma once

#include <filesystem>
#include <string>

#include "engine/source/source_lines.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::space {

// CUDA files that a space names itself: the `source` of each template that is written out under
// `templates`, and of each map under `problem`. A space that is kept with a run, or in an exported
// kernel, must not change with those files, so its text carries them:
//
//   files:
//     scale_add.cu: |
//       extern "C" __global__ void scale_add(...) ...
//
// flat, by the names that `source` gives. Whoever wants one file only may write them there
// himself. A problem's .npy files are too large for that: `arrays: {x.npy: {at: PATH, sha256:
// ...}}` says where they are and what they must be.

// The text of a space file with all such files that it does not carry yet; as it is if it names
// none. They are looked for in the file's own folder, then in root/kernel_templates, and must lie
// within it, symbolic links followed; `include` beside `source` lists folders there that
// #include "..." is looked up in. Throws UserError at the `source` for one that is missing, is no
// text or is too large. `lines` gets where the lines of each come from.
std::string with_files(const std::string& text, const std::filesystem::path& path,
                       const std::filesystem::path& root, source::SourceMaps* lines = nullptr);

// An entry of `files`: its text as a block of literal lines.
std::string carried(const std::string& name, const std::string& text);

// What the text of a space, given as its root, carries for a `source`. Throws UserError at the
// source if that is nothing.
const std::string& carried_file(const YamlNode& space, const YamlNode& source);

}  // namespace fa_tune::space
