#include "engine/device/emulator/ir/program.hpp"

#include <fmt/format.h>

namespace fa_tune::emulator {

const std::string& SourceLines::of(std::size_t op) const {
  static const std::string none;
  if (op >= of_ops.size() || of_ops[op] == kUnknown) return none;
  return texts[of_ops[op]];
}

std::string line_text(const Program& program, const Op& op) {
  const auto index = static_cast<std::size_t>(&op - program.ops.data());
  const std::string& source = program.sources.of(index);
  return source.empty() ? fmt::format("PTX line {}", op.line)
                        : fmt::format("{} (PTX line {})", source, op.line);
}

}  // namespace fa_tune::emulator
