#pragma once

#include <string>

#include "engine/kernel/compile/compiler.hpp"

namespace fa_tune::kernel {

// What a compiler calls the text of a kernel: "scale.cu" for "scale<4, float>".
std::string unit_name(const std::string& kernel);

// The failure's message as the author of the source knows it. The line of the text becomes that of
// his file, by Source::origin: "mine.cu(3): error: ...". An error in a header also says which of
// his lines made the instance. Where what is wrong is the name of a #define, that a space's
// parameter of this name stands there too; where a name is missing that is a template parameter,
// that it has no #define. One line.
std::string located(const CompileFailure& failure, const Source& source);

}  // namespace fa_tune::kernel
