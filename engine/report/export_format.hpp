#pragma once

#include <string_view>

namespace fa_tune {

// The marker lines round the block that is read back: "// fa-tune export 1 begin". The number is
// the format's, and goes up when a reader of the old one would be misled.
inline constexpr int kExportFormat = 1;
inline constexpr std::string_view kExportMarker = "// fa-tune export ";
inline constexpr std::string_view kExportBegin = "// fa-tune export 1 begin";
inline constexpr std::string_view kExportEnd = "// fa-tune export 1 end";

}  // namespace fa_tune
