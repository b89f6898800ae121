#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/kernel_image.hpp"

namespace fa_tune::kernel {

// The instructions of `kernel` in a cubin for sm_70 or newer, 128 bits each, with the PTX lines
// that ptxas made them from. Those are in the section .nv_debug_line_sass of what is compiled with
// --generate-line-info: a line program of DWARF 2 (section 6.2 there). Every offset is checked
// against the file. An error is one line; it is one too where there are no lines.
std::expected<std::vector<MachineInstruction>, std::string> read_machine_code(
    std::string_view cubin, const std::string& kernel);

// PTX that --generate-line-info has been taken out of again, to the byte what it is without.
struct PlainPtx {
  std::string text;
  std::vector<std::uint32_t> line;  // by line of the PTX it was, from 1 on: its line here, or 0
};
PlainPtx without_line_info(std::string_view ptx);

}  // namespace fa_tune::kernel
