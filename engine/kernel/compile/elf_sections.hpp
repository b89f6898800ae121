#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace fa_tune::kernel {

// One section of an ELF file. `bytes` points into the file that was read; it is empty for a section
// that takes no room in the file (NOBITS), whose size is in `size` all the same.
struct ElfSection {
  std::string name;
  std::uint32_t type = 0;
  std::uint64_t size = 0;
  std::uint32_t link = 0;  // the section that this one needs: that with the names of symbols
  std::string_view bytes;
};

// One symbol of an ELF file that lies in a section.
struct ElfSymbol {
  std::string name;
  std::string section;
  bool is_object = false;  // data, as variables are
};

// The sections of a 64-bit little-endian ELF file, which a cubin is (System V ABI, chapter 4).
// Every offset is checked against the file, so cut or hostile bytes give an error, one line.
std::expected<std::vector<ElfSection>, std::string> read_elf_sections(std::string_view file);
// Its symbols, in the same way. None where it has no table of them.
std::expected<std::vector<ElfSymbol>, std::string> read_elf_symbols(std::string_view file);

}  // namespace fa_tune::kernel
