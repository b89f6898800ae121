#pragma once

#include <optional>
#include <string_view>

#include "engine/device/emulator/tensor_core/tensor_core.hpp"

namespace fa_tune::emulator {

// The types of matrix instructions by their words.
std::optional<Element> element_of(std::string_view word);
std::optional<Accumulator> accumulator_of(std::string_view word);
// PTX ISA, mma: which elements and sums go together.
bool go_together(Element a, Element b, Accumulator sums);

}  // namespace fa_tune::emulator
