#include "engine/kernel/compile/elf_sections.hpp"

#include <bit>
#include <cstring>
#include <optional>

namespace fa_tune::kernel {
namespace {

constexpr std::uint32_t kNoBits = 8;
constexpr std::uint32_t kSymbolTable = 2;
constexpr std::size_t kSymbolBytes = 24;
constexpr unsigned kObject = 1;
constexpr std::size_t kFileHeaderBytes = 64;
constexpr std::size_t kSectionHeaderBytes = 64;

static_assert(std::endian::native == std::endian::little);

template <typename Integer>
Integer integer_at(std::string_view bytes, std::size_t offset) {
  Integer value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Part of the file, or nothing where it would reach past the end. Written without a sum of
// untrusted numbers, which could wrap.
std::optional<std::string_view> slice(std::string_view file, std::uint64_t offset,
                                      std::uint64_t size) {
  if (offset > file.size() || size > file.size() - offset) return std::nullopt;
  return file.substr(offset, size);
}

struct RawSection {
  std::uint32_t name_offset;
  std::uint32_t type;
  std::uint64_t offset;
  std::uint64_t size;
  std::uint32_t link;
};

RawSection raw_section(std::string_view table, std::size_t index) {
  const std::string_view header = table.substr(index * kSectionHeaderBytes, kSectionHeaderBytes);
  return {integer_at<std::uint32_t>(header, 0), integer_at<std::uint32_t>(header, 4),
          integer_at<std::uint64_t>(header, 24), integer_at<std::uint64_t>(header, 32),
          integer_at<std::uint32_t>(header, 40)};
}

std::optional<std::string_view> content(std::string_view file, const RawSection& section) {
  if (section.type == kNoBits) return std::string_view{};
  return slice(file, section.offset, section.size);
}

}  // namespace

std::expected<std::vector<ElfSection>, std::string> read_elf_sections(std::string_view file) {
  using namespace std::string_view_literals;
  if (file.size() < kFileHeaderBytes || !file.starts_with("\x7f\x45LF\x02\x01"sv))
    return std::unexpected("not a 64-bit little-endian ELF file");
  const auto table_offset = integer_at<std::uint64_t>(file, 0x28);
  const auto entry_bytes = integer_at<std::uint16_t>(file, 0x3a);
  const auto count = integer_at<std::uint16_t>(file, 0x3c);
  const auto names_index = integer_at<std::uint16_t>(file, 0x3e);
  if (entry_bytes != kSectionHeaderBytes)
    return std::unexpected("ELF section headers of an unknown size");
  const auto table = slice(file, table_offset, std::uint64_t{count} * kSectionHeaderBytes);
  if (!table) return std::unexpected("ELF section headers lie outside the file");
  if (names_index >= count) return std::unexpected("ELF file without section names");
  const auto names = content(file, raw_section(*table, names_index));
  if (!names) return std::unexpected("ELF section names lie outside the file");

  std::vector<ElfSection> sections;
  sections.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const RawSection raw = raw_section(*table, i);
    const std::optional<std::string_view> bytes = content(file, raw);
    if (!bytes) return std::unexpected("an ELF section lies outside the file");
    const std::size_t end = names->find('\0', raw.name_offset);
    if (raw.name_offset >= names->size() || end == std::string_view::npos)
      return std::unexpected("an ELF section's name lies outside the file");
    sections.push_back({std::string(names->substr(raw.name_offset, end - raw.name_offset)),
                        raw.type, raw.size, raw.link, *bytes});
  }
  return sections;
}

std::expected<std::vector<ElfSymbol>, std::string> read_elf_symbols(std::string_view file) {
  const auto sections = read_elf_sections(file);
  if (!sections) return std::unexpected(sections.error());
  std::vector<ElfSymbol> symbols;
  for (const ElfSection& table : *sections) {
    if (table.type != kSymbolTable) continue;
    if (table.link >= sections->size()) return std::unexpected("ELF symbols without names");
    const std::string_view names = (*sections)[table.link].bytes;
    for (std::size_t at = 0; at + kSymbolBytes <= table.bytes.size(); at += kSymbolBytes) {
      const std::string_view symbol = table.bytes.substr(at, kSymbolBytes);
      const auto name = integer_at<std::uint32_t>(symbol, 0);
      const auto section = integer_at<std::uint16_t>(symbol, 6);
      const std::size_t end = names.find('\0', name);
      if (name >= names.size() || end == std::string_view::npos)
        return std::unexpected("an ELF symbol's name lies outside the file");
      // Others are absolute, or of another file.
      if (section == 0 || section >= sections->size()) continue;
      symbols.push_back({std::string(names.substr(name, end - name)), (*sections)[section].name,
                         (static_cast<unsigned char>(symbol[4]) & 0xfU) == kObject});
    }
  }
  return symbols;
}

}  // namespace fa_tune::kernel
