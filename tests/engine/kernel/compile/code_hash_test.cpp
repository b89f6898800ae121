#include "engine/kernel/compile/code_hash.hpp"

#include <cstring>
#include <random>

#include <doctest/doctest.h>

#include "engine/kernel/compile/elf_sections.hpp"

namespace fa_tune::test {

using namespace fa_tune::kernel;

namespace {

struct Part {
  std::string name;
  std::string bytes;
};

void put(std::string& file, std::size_t offset, auto value) {
  std::memcpy(file.data() + offset, &value, sizeof value);
}

// A minimal ELF64 file with the sections given, then the section of names.
std::string make_elf(const std::vector<Part>& parts) {
  std::string file("\x7f\x45LF\x02\x01\x01", 7);
  file.resize(64);
  std::string names(1, '\0');
  struct Row {
    std::uint32_t name, type;
    std::uint64_t offset, size;
  };
  std::vector<Row> rows = {{0, 0, 0, 0}};
  for (const Part& part : parts) {
    rows.push_back({static_cast<std::uint32_t>(names.size()), 1, file.size(), part.bytes.size()});
    names += part.name + '\0';
    file += part.bytes;
  }
  rows.push_back({static_cast<std::uint32_t>(names.size()), 3, file.size(), 0});
  names += std::string(".shstrtab") + '\0';
  rows.back().size = names.size();
  file += names;
  const std::uint64_t table = file.size();
  file.resize(file.size() + rows.size() * 64);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    put(file, table + i * 64, rows[i].name);
    put(file, table + i * 64 + 4, rows[i].type);
    put(file, table + i * 64 + 24, rows[i].offset);
    put(file, table + i * 64 + 32, rows[i].size);
  }
  put(file, 0x28, table);
  put(file, 0x3a, std::uint16_t{64});
  put(file, 0x3c, static_cast<std::uint16_t>(rows.size()));
  put(file, 0x3e, static_cast<std::uint16_t>(rows.size() - 1));
  return file;
}

std::string hash_of(const std::vector<Part>& parts, const std::string& kernel) {
  const auto hash = cubin_code_hash(make_elf(parts), kernel);
  return hash ? *hash : "error: " + hash.error();
}

}  // namespace

TEST_CASE("cubin hash: instructions, constants and shared memory count; names and notes do not") {
  const std::string base = hash_of({{".text.k", "code"}, {".note", "a"}}, "k");
  CHECK(base.size() == 64);
  CHECK(base == hash_of({{".note", "other"}, {".text.k", "code"}, {".text.l", "more"}}, "k"));
  CHECK(base == hash_of({{".text.renamed", "code"}}, "renamed"));
  CHECK(base == hash_of({{".text.k", "code"}, {".nv.constant0.k", "launch"}}, "k"));
  CHECK(base == hash_of({{".text.k", "code"}, {".nv.constant2.l", "1"}}, "k"));
  CHECK(base != hash_of({{".text.k", "cod_"}}, "k"));
  CHECK(base != hash_of({{".text.k", "code"}, {".nv.constant3", "1"}}, "k"));
  CHECK(base != hash_of({{".text.k", "code"}, {".nv.shared.k", "1"}}, "k"));
  CHECK(hash_of({{".text.k", "code"}, {".nv.constant2.k", "1"}}, "k") !=
        hash_of({{".text.k", "code"}, {".nv.constant2.k", "2"}}, "k"));
  CHECK(hash_of({{".text.k", "code"}}, "l") == "error: the cubin holds no section .text.l");
}

TEST_CASE("ELF: a file cut anywhere is an error, not a crash") {
  const std::string file = make_elf({{".text.k", "code"}, {".nv.constant3", "12345678"}});
  REQUIRE(read_elf_sections(file).has_value());
  for (std::size_t size = 0; size < file.size(); ++size)
    // A copy of that size, so that a sanitizer sees a read behind its end.
    CHECK_FALSE(read_elf_sections(std::string(file.data(), size)).has_value());
}

TEST_CASE("ELF: bytes set to extremes and at random are survived") {
  const std::string file = make_elf({{".text.k", "code"}, {".nv.constant3", "12345678"}});
  for (std::size_t at = 0; at < file.size(); ++at)
    for (const char value : {'\x00', '\x7f', '\xff', '\x80', '\x01'}) {
      std::string hostile = file;
      hostile[at] = value;
      (void)cubin_code_hash(hostile, "k");
    }
  std::mt19937 random(1);
  for (int round = 0; round < 5'000; ++round) {
    std::string hostile = file;
    for (int i = 0; i < 8; ++i)
      hostile[random() % hostile.size()] = static_cast<char>(random() % 256);
    (void)cubin_code_hash(hostile, "k");
  }
  std::string far = file;
  put(far, 0x28, UINT64_MAX - 10);
  CHECK_FALSE(read_elf_sections(far).has_value());
}

TEST_CASE("PTX hash: comments, blank lines and indentation do not count") {
  const std::string plain = ptx_code_hash(".version 9.0\nret;\n");
  CHECK(plain ==
        ptx_code_hash("// made by X\n\n  .version 9.0   // 9\n/* two\nlines */\tret;\r\n"));
  CHECK(plain == ptx_code_hash(".version 9.0\nret;"));
  CHECK(plain != ptx_code_hash(".version 9.0\nret; ret;\n"));
  CHECK(ptx_code_hash(".file \"a//b\"\n") != ptx_code_hash(".file \"a//c\"\n"));
  CHECK(ptx_code_hash("/* never closed") == ptx_code_hash(""));
  CHECK(ptx_code_hash("//") == ptx_code_hash(""));
}

}  // namespace fa_tune::test
