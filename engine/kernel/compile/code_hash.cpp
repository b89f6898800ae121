#include "engine/kernel/compile/code_hash.hpp"

#include <algorithm>

#include "engine/kernel/compile/elf_sections.hpp"
#include "engine/util/hash.hpp"

namespace fa_tune::kernel {
namespace {

// ".nv.constant3" holds the module's __constant__ variables, ".nv.constant2.<kernel>" literals of
// one kernel. Bank 0 is left out: the driver writes a launch's arguments there.
bool is_constant_of(const std::string& section, const std::string& kernel) {
  constexpr std::string_view start = ".nv.constant";
  if (!section.starts_with(start)) return false;
  const std::size_t dot = section.find('.', start.size());
  const std::string bank = section.substr(start.size(), dot - start.size());
  return bank != "0" && (dot == std::string::npos || section.substr(dot + 1) == kernel);
}

std::string_view trim(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

std::string without_comments(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    if (!quoted && rest.starts_with("//")) {
      i += std::min(rest.find('\n'), rest.size()) - 1;
    } else if (!quoted && rest.starts_with("/*")) {
      const std::size_t end = rest.find("*/", 2);
      i += (end == std::string_view::npos ? rest.size() : end + 2) - 1;
      result += ' ';
    } else {
      if (text[i] == '"') quoted = !quoted;
      if (text[i] == '\n') quoted = false;
      result += text[i];
    }
  }
  return result;
}

}  // namespace

std::expected<std::string, std::string> cubin_code_hash(std::string_view cubin,
                                                        const std::string& kernel) {
  const auto sections = read_elf_sections(cubin);
  if (!sections) return std::unexpected(sections.error());
  std::string identity;
  bool found = false;
  const auto add = [&identity](std::string_view what, const ElfSection& section) {
    identity += std::string(what) + " " + std::to_string(section.size) + "\n";
    identity += section.bytes;
  };
  for (const ElfSection& section : *sections) {
    if (section.name == ".text." + kernel) {
      add("text", section);
      found = true;
    } else if (section.name == ".nv.shared." + kernel) {
      add("shared", section);
    } else if (section.name.starts_with(".nv.global")) {
      add(section.name, section);
    } else if (is_constant_of(section.name, kernel)) {
      add(section.name.substr(0, section.name.find('.', 1 + section.name.find('.', 1))), section);
    }
  }
  if (!found) return std::unexpected("the cubin holds no section .text." + kernel);
  return sha256(identity);
}

std::string ptx_code_hash(std::string_view ptx) {
  const std::string plain = without_comments(ptx);
  std::string normalized;
  normalized.reserve(plain.size());
  for (std::size_t start = 0; start < plain.size();) {
    const std::size_t end = std::min(plain.find('\n', start), plain.size());
    const std::string_view line = trim(std::string_view(plain).substr(start, end - start));
    if (!line.empty()) normalized.append(line).push_back('\n');
    start = end + 1;
  }
  return sha256(normalized);
}

}  // namespace fa_tune::kernel
