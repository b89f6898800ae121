#include "engine/device/emulator/decode/loader.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <new>

#include "engine/device/emulator/decode/decoder.hpp"

namespace fa_tune::emulator {

std::expected<Program, Diagnostic> load_program(std::string_view ptx, std::string_view kernel,
                                                TensorRule rule, GlobalMemory& memory) {
  std::vector<std::uint64_t> placed;
  std::map<std::string, std::uint64_t> constants;
  const auto place = [&](const Symbol& symbol) {
    const Allocation& allocation = memory.allocate(symbol.size, symbol.space != Space::constant);
    std::memset(allocation.bytes, 0, symbol.size);
    std::copy_n(reinterpret_cast<const std::byte*>(symbol.initial.data()),
                std::min<std::uint64_t>(symbol.initial.size(), symbol.size), allocation.bytes);
    placed.push_back(allocation.address);
    if (symbol.space == Space::constant) constants[std::string(symbol.name)] = allocation.address;
    return allocation.address;
  };
  const auto write = [&](std::uint64_t address, std::uint64_t value, int bytes) {
    const Allocation* allocation = memory.find(address);
    std::memcpy(allocation->bytes + (address - allocation->address), &value,
                static_cast<std::size_t>(bytes));
  };
  try {
    Module module = parse_module(ptx);
    Program program = Decoder(module, rule, {place, write}).decode(kernel);
    program.constant_variables = std::move(constants);
    return program;
  } catch (const LoadError& error) {
    for (const std::uint64_t address : placed) memory.release(address);
    return std::unexpected(error.diagnostic);
  } catch (const std::bad_alloc&) {
    for (const std::uint64_t address : placed) memory.release(address);
    return std::unexpected(
        Diagnostic{DiagnosticKind::load_failed,
                   "the kernel and its variables want more memory than there is"});
  }
}

}  // namespace fa_tune::emulator
