#include "engine/report/export.hpp"

#include <cstdlib>
#include <sstream>

#include <doctest/doctest.h>

#include "engine/report/table.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "tests/db/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::report;

namespace {

constexpr const char* kManifest = R"(source: scale.cu
kernel: scale
problem: attention
parameters: [WIDTH]
derived:
  THREADS: WIDTH * 32
launch:
  grid: [ceil_div(problem.Lq, THREADS), problem.H, 1]
  block: [THREADS, 1, 1]
  shared: WIDTH * 128
arguments: [O]
)";

ExportFacts some_facts() {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t run = store.begin_run(a_run());
  ExportFacts facts = export_facts(
      store, store.record_trial(a_trial(run, 1, 80), {}, {},
                                "#define WIDTH 4\nextern \"C\" __global__ void scale(float* o) {\n"
                                "  o[0] *= WIDTH;\n}\n"));
  facts.version = "0.1.0";
  facts.template_name = "scale";
  facts.manifest_text = kManifest;
  facts.kernel = "scale";
  facts.config.set("CAUSAL", true);
  facts.settings = {{"shape.B", std::int64_t{1}}, {"causal", true}, {"dtype", std::string("fp16")}};
  facts.launch = {{4, 8, 1}, {128, 1, 1}, {}, 512};
  return facts;
}

void check_same(const Exported& back, const ExportFacts& facts) {
  CHECK(back.template_name == facts.template_name);
  CHECK(back.manifest_text == facts.manifest_text);
  CHECK(back.kernel == facts.kernel);
  CHECK(back.arch == facts.arch);
  CHECK(back.target == facts.target);
  CHECK(back.cuda_text == facts.body);
  CHECK(back.config == facts.config);
  CHECK(back.problem == facts.problem);
  CHECK(back.settings == facts.settings);
  CHECK(back.shape == facts.shape);
  CHECK_FALSE(back.edited);
}

std::string refusal(const std::string& text) {
  return message_of<UserError>([&] { (void)parse_exported(text, "w.cu"); });
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// The comment lines above the body are comments to a compiler too, and the body is code.
bool compiles(const std::filesystem::path& folder, const std::string& text) {
  write_file(folder / "winner.cu", text);
  const std::string command = std::string(FA_TUNE_CXX) + " -fsyntax-only -x c++ -D__global__= " +
                              (folder / "winner.cu").string() + " 2>/dev/null";
  return std::system(command.c_str()) == 0;  // NOLINT(cert-env33-c): no name of others is in it
}

}  // namespace

TEST_CASE("export: the head of the file says where it came from") {
  const std::string text = export_text(some_facts());
  CHECK(text.substr(0, text.find("// fa-tune export")) ==
        R"(// Kernel scale of template scale, exported by fa-tune 0.1.0.
// Build: nvcc -arch=sm_89 -c FILE.cu
//
// space      l4, hash 5ace
// problem    attention B=1 D=64 H=8 Lq=512 causal=true
// trial      1: number 1 of run 1, seed 18446744073709551615
// device     emulator:l4, emulator of NVIDIA L4
// compiler   NVRTC 13.0 for sm_89, limits of l4
// when       2026-01-02T03:04:06Z
// time       80.00 us predicted, interval 79.20 .. 80.80 us, stage screen
// verdict    passed; 12 gate cases, worst error 0.4 of what is allowed
// config     mma BLOCK_M=1 CAUSAL=true
// grid       4 x 8 x 1 blocks = [ceil_div(problem.Lq, THREADS), problem.H, 1]
// block      128 x 1 x 1 threads = [THREADS, 1, 1]
// shared     512 bytes dynamic = WIDTH * 128
// resources  96 registers, 0 bytes spilled, 1024 bytes static shared
//
)");
}

TEST_CASE("export and back again is the same, and compiles") {
  const ScratchFolder folder;
  const ExportFacts facts = some_facts();
  const std::string text = export_text(facts);
  check_same(parse_exported(text, "w.cu"), facts);
  CHECK(compiles(folder.path(), text));
  check_same(read_exported(folder / "winner.cu"), facts);
  CHECK_FALSE(compiles(folder.path(), text + "}"));
}

TEST_CASE("export: no manifest ends the comment") {
  const ScratchFolder folder;
  for (const char* hostile :
       {"# */ int x = ;", "#define */", "# *\\/ */*/", "# ends in a backslash \\", R"(# ??/)",
        "# // fa-tune export 1 end", "// fa-tune export 1 begin", "# \r int x = ;",
        "# ü \xe2\x80\xa8 x", R"("quoted" 'text' \n \u0041)", ""}) {
    ExportFacts facts = some_facts();
    facts.manifest_text = std::string(kManifest) + "because: |\n  " + hostile + "\n  int y = ;";
    const std::string text = export_text(facts);
    CAPTURE(hostile);
    check_same(parse_exported(text, "w.cu"), facts);
    CHECK(compiles(folder.path(), text));
    CHECK(compiles(folder.path(), "/*\n" + replaced(text, facts.body, "") + "*/\n" + facts.body));
  }
  ExportFacts facts = some_facts();
  facts.device_name = "evil\nint x = ;\\";
  CHECK(compiles(folder.path(), export_text(facts)));
  CHECK_FALSE(has(export_text(facts).substr(0, export_text(facts).find("// {")), "\\"));
  facts.manifest_text = "launch: \xff";
  CHECK_THROWS_AS(export_text(facts), UserError);
}

TEST_CASE("export: an edited body is noticed and read, an edited head is no matter") {
  const ExportFacts facts = some_facts();
  const std::string text = export_text(facts);
  const Exported edited = parse_exported(replaced(text, "*= WIDTH", "+= WIDTH"), "w.cu");
  CHECK(edited.edited);
  CHECK(has(edited.cuda_text, "+= WIDTH"));
  check_same(parse_exported("// mine\n" + text, "w.cu"), facts);
  // The body's first line is known by its place in the file.
  const Exported moved = parse_exported("// mine\n" + text, "w.cu");
  CHECK(moved.file == "w.cu");
  std::istringstream lines("// mine\n" + text);
  std::string line;
  for (int i = 0; i < moved.body_line; ++i) std::getline(lines, line);
  CHECK(line == moved.cuda_text.substr(0, moved.cuda_text.find('\n')));
  // The body may hold marker lines of its own: the first block counts.
  ExportFacts twice = facts;
  twice.body += text;
  check_same(parse_exported(export_text(twice), "w.cu"), twice);
}

TEST_CASE("export: what is not whole is refused with the line") {
  const std::string text = export_text(some_facts());
  CHECK(has(refusal(""), "w.cu: no line '// fa-tune export 1 begin'"));
  CHECK(has(refusal("__global__ void k() {}\n"), "'fa-tune export' made"));
  CHECK(has(refusal(replaced(text, "export 1 begin", "export 2 begin")), "w.cu:18: expected"));
  CHECK(has(refusal(text.substr(0, text.find("// fa-tune export 1 end"))), "the file ends before"));
  CHECK(has(refusal(replaced(text, "//  \"kernel\"", "\"kernel\"")), "w.cu:21: expected a line"));
  CHECK(has(refusal(replaced(text, "\"kernel\": ", "\"kernel\" ")), "w.cu:21: expected JSON"));
  CHECK(has(refusal(replaced(text, "\"kernel\"", "\"colonel\"")), "unknown key 'colonel'"));
  CHECK(has(refusal(replaced(text, "//  \"kernel\": \"scale\",\n", "")), "\"kernel\" is missing"));
  CHECK(has(refusal(replaced(text, "\"kernel\": \"scale\"", "\"kernel\": 3")), "must be a string"));
  // Neither may name a file: the compiler would open the one, the reader of profiles the other.
  for (const char* const kernel : {"k\\n#include <x>", "scale;", "", "scale<1"})
    CHECK(has(refusal(replaced(text, "\"kernel\": \"scale\"",
                               std::string("\"kernel\": \"") + kernel + "\"")),
              "must be the name of a kernel"));
  for (const char* const target : {"/x.yaml", "../l4", "l4.yaml", ""})
    CHECK(has(refusal(replaced(text, "\"target\": \"l4\"",
                               std::string("\"target\": \"") + target + "\"")),
              "must be a name"));
  CHECK(has(refusal(replaced(text, "\"BLOCK_M\": 1", "\"BLOCK_M\": " + std::string(200'000, '['))),
            "deeper than 64 levels"));
  CHECK(has(refusal(replaced(text, "\"BLOCK_M\": 1", "\"BLOCK_M\": null")), "\"config\":"));
  CHECK(has(refusal(replaced(text, "\"source: scale.cu\"", "7")), "list of strings"));
  CHECK_THROWS_AS(read_exported("/nonexistent/w.cu"), UserError);
}

TEST_CASE("export: every cut of the file is refused or, in the body alone, noticed") {
  const std::string text = export_text(some_facts());
  const std::size_t body = text.find("#define WIDTH");
  for (std::size_t length = 0; length < text.size(); ++length) {
    const std::string cut = text.substr(0, length);
    if (length + 1 < body)
      CHECK_THROWS_AS(parse_exported(cut, "w.cu"), UserError);
    else
      CHECK(parse_exported(cut, "w.cu").edited);
  }
}

}  // namespace fa_tune::test
