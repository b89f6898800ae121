#include "tests/fuzz/try_ptx.hpp"

#include <cstring>
#include <vector>

#include "engine/device/emulator/decode/loader.hpp"
#include "engine/device/emulator/exec/grid.hpp"
#include "engine/device/emulator/frontend/ast.hpp"
#include "engine/device/emulator/frontend/lexer.hpp"

namespace fa_tune::test {
namespace {

using namespace fa_tune::emulator;

constexpr std::uint64_t kMostMemory = std::uint64_t{16} << 20;
constexpr std::uint64_t kBudget = 20'000;
constexpr std::size_t kMostKernels = 2;

// Names of kernels; empty if the text is none or wants more memory than a test should take.
std::vector<std::string> kernels_of(std::string_view text, std::string& why) {
  std::vector<std::string> names;
  try {
    const Module module = parse_module(text);
    std::uint64_t bytes = 0;
    for (const Symbol& symbol : module.symbols) bytes += symbol.size;
    std::uint64_t frames = 0;
    for (const Function& function : module.functions) frames += function.frame_bytes;
    if (bytes > kMostMemory || frames > 64 * 1024) {
      why = "wants much memory";
      return names;
    }
    for (const Function& function : module.functions) {
      if (function.is_entry && names.size() < kMostKernels) names.emplace_back(function.name);
    }
    if (names.empty()) why = "has no kernel";
  } catch (const LoadError& error) {
    why = error.diagnostic.message;
  }
  return names;
}

std::string run(const Program& program, GlobalMemory& memory) {
  if (program.dynamic_shared_begin > 256 * 1024) return "wants much shared memory";
  const Allocation& buffer = memory.allocate(4096, true);
  std::vector<std::byte> arguments(program.parameter_bytes);
  for (std::size_t i = 0; i < program.parameter_sizes.size(); ++i) {
    if (program.parameter_sizes[i] != sizeof(buffer.address)) continue;
    std::memcpy(arguments.data() + program.parameter_offsets[i], &buffer.address,
                sizeof(buffer.address));
  }
  LaunchContext context;
  context.program = &program;
  context.config.block = {40, 1, 1};
  context.parameters = arguments;
  context.memory = &memory;
  context.budget = kBudget;
  const auto diagnostic = run_grid(context, 1, nullptr);
  return diagnostic ? diagnostic->message : "ran";
}

}  // namespace

std::string try_ptx(std::string_view text) {
  std::string outcome;
  for (const std::string& name : kernels_of(text, outcome)) {
    GlobalMemory memory;
    const auto program = load_program(text, name, TensorRule::hopper, memory);
    outcome = program ? run(*program, memory) : program.error().message;
  }
  return outcome;
}

}  // namespace fa_tune::test
