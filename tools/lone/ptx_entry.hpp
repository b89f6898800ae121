#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/kernel_image.hpp"

namespace fa_tune::lone {

// What a kernel's declaration in PTX says of its launch.
struct PtxEntry {
  std::string name;
  std::optional<Dim3> block;    // .reqntid
  std::optional<Dim3> cluster;  // .reqnctapercluster
};

// All `.entry` functions of a text, in its order. Of what is no PTX, whatever looks like one: who
// loads the text says what is wrong with it.
std::vector<PtxEntry> entries_of(std::string_view ptx);

// The one called `name`, or the only one where `name` is empty. Throws UserError, which begins with
// `file` and names those there are.
PtxEntry choose_entry(const std::string& ptx, const std::string& name, const std::string& file);

}  // namespace fa_tune::lone
