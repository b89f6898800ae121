#include "engine/kernel/compile/machine_code.hpp"

#include <cstring>
#include <map>
#include <optional>

#include "engine/kernel/compile/elf_sections.hpp"

namespace fa_tune::kernel {
namespace {

constexpr std::string_view kLineSection = ".nv_debug_line_sass";
constexpr std::size_t kInstructionBytes = 16;
constexpr std::uint32_t kSymtabType = 2;
constexpr std::uint32_t kWithAddends = 4;     // relocations of 24 bytes, RELA
constexpr std::uint32_t kWithoutAddends = 9;  // of 16 bytes, REL
constexpr std::size_t kSymtabEntryBytes = 24;

// Thrown at what lies outside the bytes; caught before anybody else sees it.
struct CutShort {};

class DebugReader {
 public:
  explicit DebugReader(std::string_view bytes) : bytes_(bytes) {}

  std::size_t at() const { return at_; }
  bool done() const { return at_ >= bytes_.size(); }
  void go_to(std::size_t at) {
    if (at > bytes_.size()) throw CutShort();
    at_ = at;
  }
  template <typename Integer>
  Integer take() {
    Integer value;
    if (bytes_.size() - at_ < sizeof value) throw CutShort();
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  // LEB128 (DWARF 2, section 7.6).
  std::int64_t take_number(bool is_signed) {
    std::uint64_t value = 0;
    unsigned shift = 0;
    for (;;) {
      const auto byte = take<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      shift += 7;
      if ((byte & 0x80U) != 0) continue;
      if (is_signed && (byte & 0x40U) != 0 && shift < 64) value |= ~std::uint64_t{0} << shift;
      return static_cast<std::int64_t>(value);
    }
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

// The lines of one section of code, by offset: a line holds up to the next.
using Lines = std::map<std::uint64_t, std::uint32_t>;

const ElfSection* find(const std::vector<ElfSection>& sections, std::string_view name) {
  for (const ElfSection& section : sections)
    if (section.name == name) return &section;
  return nullptr;
}

// Which section of code an address in the line program is relative to, by where it stands there.
std::map<std::uint64_t, std::string> read_relocations(const std::vector<ElfSection>& sections) {
  std::map<std::uint64_t, std::string> targets;
  for (const char* const prefix : {".rel", ".rela"}) {
    const ElfSection* const table = find(sections, std::string(prefix) + std::string(kLineSection));
    if (table == nullptr || table->link >= sections.size()) continue;
    const std::string_view symbols = sections[table->link].bytes;
    if (sections[table->link].type != kSymtabType) continue;
    if (table->type != kWithAddends && table->type != kWithoutAddends) continue;
    DebugReader reader(table->bytes);
    while (!reader.done()) {
      const auto where = reader.take<std::uint64_t>();
      const auto info = reader.take<std::uint64_t>();
      if (table->type == kWithAddends) reader.take<std::uint64_t>();
      DebugReader symbol(symbols);
      symbol.go_to(static_cast<std::size_t>(info >> 32) * kSymtabEntryBytes + 6);
      const auto section = symbol.take<std::uint16_t>();
      if (section < sections.size()) targets[where] = sections[section].name;
    }
  }
  return targets;
}

// Runs the line program of one compilation unit; `add` gets each row.
class LineProgram {
 public:
  LineProgram(DebugReader& reader, const std::map<std::uint64_t, std::string>& targets)
      : reader_(reader), targets_(targets) {}

  void run(std::map<std::string, Lines>& lines) {
    const auto length = reader_.take<std::uint32_t>();
    const std::size_t end = reader_.at() + length;
    reader_.take<std::uint16_t>();  // version
    const auto header = reader_.take<std::uint32_t>();
    const std::size_t first = reader_.at() + header;
    const auto step = reader_.take<std::uint8_t>();
    reader_.take<std::uint8_t>();  // default of is_stmt
    const auto line_base = reader_.take<std::int8_t>();
    const auto line_range = reader_.take<std::uint8_t>();
    const auto first_special = reader_.take<std::uint8_t>();
    if (line_range == 0 || first_special == 0) throw CutShort();
    std::vector<std::uint8_t> operands(first_special, 0);
    for (std::size_t i = 1; i < first_special; ++i) operands[i] = reader_.take<std::uint8_t>();
    reader_.go_to(first);
    const auto row = [&] {
      if (!section_.empty()) lines[section_][address_] = static_cast<std::uint32_t>(line_);
    };
    while (reader_.at() < end) {
      const auto opcode = reader_.take<std::uint8_t>();
      if (opcode >= first_special) {
        const int advance = opcode - first_special;
        address_ += std::uint64_t{step} * static_cast<unsigned>(advance / line_range);
        line_ += line_base + advance % line_range;
        row();
      } else if (opcode == 0) {
        extended();
      } else if (opcode == 1) {  // copy
        row();
      } else if (opcode == 2) {  // advance_pc
        address_ += std::uint64_t{step} * static_cast<std::uint64_t>(reader_.take_number(false));
      } else if (opcode == 3) {  // advance_line
        line_ += reader_.take_number(true);
      } else if (opcode == 8) {  // const_add_pc
        address_ += std::uint64_t{step} * ((255U - first_special) / line_range);
      } else if (opcode == 9) {  // fixed_advance_pc
        address_ += reader_.take<std::uint16_t>();
      } else {
        for (unsigned i = 0; i < operands[opcode]; ++i) reader_.take_number(false);
      }
    }
  }

 private:
  void extended() {
    const auto length = static_cast<std::uint64_t>(reader_.take_number(false));
    const std::size_t begin = reader_.at();
    if (length == 0 || length > 1U << 20U) throw CutShort();
    const auto opcode = reader_.take<std::uint8_t>();
    if (opcode == 1) {  // end_sequence
      address_ = 0;
      line_ = 1;
      section_.clear();
    } else if (opcode == 2) {  // set_address
      const auto target = targets_.find(reader_.at());
      section_ = target == targets_.end() ? "" : target->second;
      address_ = reader_.take<std::uint64_t>();
    }
    reader_.go_to(begin + length);
  }

  DebugReader& reader_;
  const std::map<std::uint64_t, std::string>& targets_;
  std::uint64_t address_ = 0;
  std::int64_t line_ = 1;
  std::string section_;
};

Lines lines_of(const std::vector<ElfSection>& sections, const std::string& code) {
  std::map<std::string, Lines> lines;
  const ElfSection* const programs = find(sections, kLineSection);
  if (programs == nullptr) return {};
  const auto targets = read_relocations(sections);
  DebugReader reader(programs->bytes);
  while (!reader.done()) LineProgram(reader, targets).run(lines);
  return std::move(lines[code]);
}

bool is_line_info(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return false;
  line.remove_prefix(begin);
  return line.starts_with(".loc\t") || line.starts_with(".loc ") || line.starts_with(".file\t") ||
         line.starts_with(".file ");
}

}  // namespace

std::expected<std::vector<MachineInstruction>, std::string> read_machine_code(
    std::string_view cubin, const std::string& kernel) {
  const auto sections = read_elf_sections(cubin);
  if (!sections) return std::unexpected(sections.error());
  const std::string name = ".text." + kernel;
  const ElfSection* const code = find(*sections, name);
  if (code == nullptr) return std::unexpected("no section " + name);
  Lines lines;
  try {
    lines = lines_of(*sections, name);
  } catch (const CutShort&) {
    return std::unexpected(std::string(kLineSection) + " is cut short");
  }
  if (lines.empty()) return std::unexpected("no PTX lines for " + name);
  std::vector<MachineInstruction> instructions;
  instructions.reserve(code->bytes.size() / kInstructionBytes);
  DebugReader reader(code->bytes);
  while (code->bytes.size() - reader.at() >= kInstructionBytes) {
    const auto next = lines.upper_bound(reader.at());
    MachineInstruction instruction;
    if (next != lines.begin()) instruction.ptx_line = std::prev(next)->second;
    instruction.low = reader.take<std::uint64_t>();
    instruction.high = reader.take<std::uint64_t>();
    instructions.push_back(instruction);
  }
  return instructions;
}

PlainPtx without_line_info(std::string_view ptx) {
  PlainPtx plain;
  plain.text.reserve(ptx.size());
  plain.line.push_back(0);
  std::uint32_t number = 0;
  bool in_section = false;  // of names for lines
  while (!ptx.empty()) {
    const std::size_t end = std::min(ptx.find('\n'), ptx.size() - 1) + 1;
    const std::string_view line = ptx.substr(0, end);
    ptx.remove_prefix(end);
    if (line.starts_with("\t.section\t.debug_")) in_section = true;
    const bool drop = in_section || is_line_info(line);
    if (in_section && line.starts_with("\t}")) in_section = false;
    plain.line.push_back(drop ? 0 : ++number);
    if (!drop) plain.text += line;
  }
  return plain;
}

}  // namespace fa_tune::kernel
