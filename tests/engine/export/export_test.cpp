#include <cstdlib>
#include <cstring>

#include <doctest/doctest.h>

#include "engine/export/package_json.hpp"
#include "engine/export/text.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "tests/engine/export/programs.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::exports;
using namespace fa_tune::problem;

namespace {

Scalar real(const std::string& name, float value) {
  Scalar scalar{.name = name, .bytes = std::vector<std::byte>(sizeof value), .type = DType::f32};
  std::memcpy(scalar.bytes.data(), &value, sizeof value);
  return scalar;
}

Scalar whole(const std::string& name, std::int32_t value) {
  Scalar scalar{.name = name, .bytes = std::vector<std::byte>(sizeof value)};
  std::memcpy(scalar.bytes.data(), &value, sizeof value);
  return scalar;
}

// y = a * x, with a table in constant memory and x seen through a map.
Package some_package() {
  PackagedCall call{.kernel = 0,
                    .shape = {{"n", std::int64_t{64}}, {"rows", std::int64_t{32}}},
                    .given = {{"n", std::int64_t{64}}, {"rows", std::int64_t{32}}},
                    .launch = {{4, 2, 1}, {128, 1, 1}, {2, 1, 1}, 512},
                    .arguments = {"X_map", "y", "a", "n"},
                    .maps = {{"X_map", "x", {64, 8}, 128, {}}},
                    .tensors = {{"x", DType::f16, Role::input, {32, 64}, {}, "RN"},
                                {"y", DType::f32, Role::output, {32, 64}, {}, "RN"},
                                {"unused", DType::f32, Role::input, {1}, {}, "N"},
                                {"table", DType::f32, Role::input, {16}, {}, "N", true}},
                    .scalars = {whole("n", 64), real("a", 2.5F), whole("unseen", 3)},
                    .described = "n=64 rows=32",
                    .device = "NVIDIA H100",
                    .origin = "trial 7"};
  return package_of("scale_add", std::move(call));
}

// counts = 0, then y = first(x, parts), parts = counts, and last(parts, y, a).
Package package_of_steps() {
  Package package = some_package();
  package.name = "steps";
  package.kernels[0].image.more = {{"last", {}}};
  PackagedCall& call = package.calls[0];
  call.tensors.push_back({"counts", DType::i32, Role::output, {32}, {}, "N"});
  call.tensors.push_back({"parts", DType::i32, Role::workspace, {4, 8}, {}, "NN"});
  call.steps = {PlannedFill{"counts", 3},
                PlannedKernel{0, call.launch, {"X_map", "y", "parts"}, call.maps},
                PlannedCopy{"counts", "parts"},
                PlannedKernel{1, {{7, 1, 1}, {32, 1, 1}, {}, 64}, {"parts", "y", "a"}, {}}};
  call.launch = {};
  call.arguments = {};
  call.maps = {};
  return package;
}

// Python's own verdict: it compiles, and what stands before the common part has these values.
bool is_python(const ScratchFolder& folder, const std::string& module, const std::string& check) {
  const std::string head = module.substr(0, module.find("\nimport base64"));
  write_file(folder / "module.py", module);
  write_file(folder / "head.py", head + "\nassert " + check + "\n");
  const std::string python = std::string(FA_TUNE_PYTHON) + " ";
  return runs(python + "-m py_compile " + (folder / "module.py").string()) &&
         runs(python + (folder / "head.py").string());
}

const char* const kHostile =
    "a\" ' \"\"\" ''' \\ */ ``` ?\?/ \n\r\t import os; os.abort() // # \xff \xc3\xbc "
    "\xf0\x9f\x98\x80 ${x} {0} %s "
    "\xe2\x80\xa8 end";

Package hostile_package() {
  Package package = some_package();
  package.version = package.calls[0].described = package.calls[0].device = kHostile;
  package.calls[0].origin = std::string("ends in a backslash \\") + kHostile + "\\";
  package.kernels[0].source_hash = kHostile;
  package.problem = kHostile;
  return package;
}

}  // namespace

namespace {

// y of complex numbers and a mask of bools, by a struct of 24 bytes, a size and a flag.
Package typed_package() {
  Package package = some_package();
  PackagedCall& call = package.calls[0];
  call.launch.cluster = {1, 1, 1};
  call.arguments = {"z", "mask", "how", "count", "flag"};
  call.maps = {};
  call.tensors = {{"z", DType::f32, Role::output, {7, 2}, {}, "", false, true},
                  {"mask", DType::boolean, Role::input, {7}, {}}};
  Scalar how{.name = "how",
             .bytes = std::vector<std::byte>(24),
             .parts = {{"scale", DType::f32, 0}, {"id", DType::i64, 8}, {"bits", DType::u16, 16}}};
  put_number(DType::f32, 2.5, how.bytes.data());
  put_integer(DType::i64, -3, how.bytes.data() + 8);
  put_integer(DType::u16, 65535, how.bytes.data() + 16);
  Scalar count{.name = "count", .bytes = std::vector<std::byte>(8), .type = DType::u64};
  put_integer(DType::u64, ~std::uint64_t{0}, count.bytes.data());
  call.scalars = {how, count, {.name = "flag", .bytes = {std::byte{1}}, .type = DType::boolean}};
  package.name = "typed";
  return package;
}

}  // namespace

TEST_CASE("export: complex numbers, bools, structs and integers of 64 bits") {
  const Package package = typed_package();
  const auto json = call_json(package, package.calls[0]);
  CHECK(json["tensors"][0]["type"] == "complex64");
  CHECK(json["tensors"][0]["dims"] == nlohmann::json({7}));
  CHECK(json["tensors"][1]["type"] == "bool");
  CHECK(json["arguments"][2]["value"] == nlohmann::json({2.5, -3, 65535}));
  CHECK(json["arguments"][2]["bytes"].size() == 24);
  CHECK(json["arguments"][3]["value"] == 18446744073709551615ULL);
  CHECK(json["arguments"][4]["value"] == 1);
  const ScratchFolder folder;
  CHECK(is_python(folder, torch_module(package),
                  "_CALLS[0]['steps'][0]['arguments'][3]['value'] == 2**64 - 1 and "
                  "_CALLS[0]['steps'][0]['arguments'][2]['bytes'][16:18] == [255, 255]"));
  Package mapped = package;
  mapped.calls[0].maps = {{"z", "z", {2, 7}, 0, {}}};
  CHECK(has(message_of<UserError>([&] { (void)torch_module(mapped); }), "'z' is of complex"));
}

TEST_CASE("export: a cooperative launch is one wherever it goes") {
  Package package = some_package();
  CHECK_FALSE(call_json(package, package.calls[0]).contains("cooperative"));
  CHECK(has(cxx_header(package), "{2, 1, 1}, 512, false, "));
  package.calls[0].launch.cooperative = true;
  CHECK(call_json(package, package.calls[0])["cooperative"] == true);
  CHECK(has(cxx_header(package), "{2, 1, 1}, 512, true, "));
  CHECK(has(ptx_text(package), "\"cooperative\": true"));
  const ScratchFolder folder;
  CHECK(is_python(folder, torch_module(package), "_CALLS[0]['steps'][0]['cooperative'] is True"));
}

TEST_CASE("export: a programmatic launch is one wherever it goes") {
  Package package = some_package();
  CHECK_FALSE(call_json(package, package.calls[0]).contains("programmatic"));
  CHECK(has(cxx_header(package), "{2, 1, 1}, 512, false, false, "));
  package.calls[0].launch.programmatic = true;
  CHECK(call_json(package, package.calls[0])["programmatic"] == true);
  CHECK(has(cxx_header(package), "{2, 1, 1}, 512, false, true, "));
  CHECK(has(ptx_text(package), "\"programmatic\": true"));
  const ScratchFolder folder;
  CHECK(is_python(folder, torch_module(package), "_CALLS[0]['steps'][0]['programmatic'] is True"));
}

TEST_CASE("export: a call in figures") {
  const Package package = some_package();
  const auto json = call_json(package, package.calls[0]);
  CHECK(json["capability"] == nlohmann::json({9, 0}));
  CHECK(json["grid"] == nlohmann::json({4, 2, 1}));
  CHECK(json["cluster"] == nlohmann::json({2, 1, 1}));
  REQUIRE(json["tensors"].size() == 3);  // in the kernel's order, and what it does not see left out
  CHECK(json["tensors"][0]["name"] == "x");
  CHECK(json["tensors"][1]["role"] == "output");
  CHECK(json["tensors"][2]["name"] == "table");
  CHECK(json["constants"] == nlohmann::json({"table"}));
  REQUIRE(json["arguments"].size() == 4);
  CHECK(json["arguments"][0]["axes"].dump() == "[[1,0,1],[0,0,1]]");
  CHECK(json["arguments"][1]["tensor"] == "y");
  CHECK(json["arguments"][2]["value"] == 2.5);
  CHECK(json["arguments"][3]["value"] == 64);
  PackagedCall strange = package.calls[0];
  strange.arguments.emplace_back("nobody");
  CHECK(has(message_of<UserError>([&] { (void)call_json(package, strange); }), "'nobody'"));
}

TEST_CASE("export: several kernels in figures, each with what it is started with") {
  const ScratchFolder folder;
  const Package package = package_of_steps();
  const auto json = call_json(package, package.calls[0]);
  CHECK_FALSE(json.contains("grid"));
  CHECK_FALSE(json.contains("arguments"));
  REQUIRE(json["steps"].size() == 4);
  CHECK(json["steps"][0].dump() == R"({"set":"counts","value":3})");
  CHECK(json["steps"][1]["entry"] == "scale");
  CHECK(json["steps"][1]["cluster"] == nlohmann::json({2, 1, 1}));
  CHECK(json["steps"][1]["arguments"][0]["axes"].dump() == "[[1,0,1],[0,0,1]]");
  CHECK(json["steps"][2].dump() == R"({"copy":"counts","to":"parts"})");
  CHECK(json["steps"][3]["entry"] == "last");
  CHECK(json["steps"][3]["arguments"][2]["value"] == 2.5);
  std::string names;
  for (const Tensor& tensor : tensors_in_order(package.calls[0])) names += tensor.name + " ";
  CHECK(names == "counts x y parts table ");
  CHECK(scalars_in_order(package.calls[0]).size() == 1);
  CHECK(is_python(folder, torch_module(package),
                  "_CALLS[0]['steps'][0] == {'set': 'counts', 'value': 3} and "
                  "_CALLS[0]['steps'][3]['entry'] == 'last'"));
  CHECK(has(ptx_text(package), "\"entry\": \"last\""));
}

TEST_CASE("export: the digest sees code and launches, not words") {
  const Package package = some_package();
  Package words = package;
  words.calls[0].origin = "elsewhere";
  CHECK(identity(words) == identity(package));
  Package code = package;
  code.kernels[0].image.bytes += ' ';
  CHECK(identity(code) != identity(package));
  Package grid = package;
  ++grid.calls[0].launch.grid.x;
  CHECK(identity(grid) != identity(package));
}

TEST_CASE("export: a module is Python") {
  const ScratchFolder folder;
  const std::string module = torch_module(some_package());
  CHECK(is_python(folder, module,
                  "_CALLS[0]['steps'][0]['arguments'][2]['value'] == 2.5 and "
                  "_CALLS[0]['steps'][0]['entry'] == 'scale'"));
  CHECK_FALSE(is_python(folder, module, "_CALLS[0]['steps'][0]['shared'] == 513"));
  CHECK_FALSE(is_python(folder, "(" + module, "True"));
  CHECK(has(module, "def launch("));
}

TEST_CASE("export: a module in the place of PyTorch's attention, or of its own name") {
  const ScratchFolder folder;
  Package package = some_package();
  package.problem = "attention";
  const Constants off = {{"lse", false},
                         {"capped", false},
                         {"alibi", false},
                         {"window_left", std::int64_t{-1}},
                         {"window_right", std::int64_t{-1}},
                         {"dtype", std::string("fp16")},
                         {"causal", true},
                         {"Lq", std::int64_t{64}},
                         {"Lk", std::int64_t{64}},
                         {"causal_alignment", std::string("bottom_right")}};
  package.calls[0].shape = off;
  const std::string plain = torch_module(package);
  CHECK(is_python(folder, plain, "_CALLS[0]['shape']['causal'] is True"));
  CHECK(has(plain, "def attention("));
  package.calls.push_back(package.calls[0]);
  // Another corner is another function, unless the two are one.
  package.calls[1].shape["Lq"] = std::int64_t{32};
  CHECK(has(message_of<UserError>([&] { (void)torch_module(package); }), "features of their own"));
  package.calls.erase(package.calls.begin());
  CHECK(has(torch_module(package), "def launch("));
}

TEST_CASE("export: names of strangers stay where they are written") {
  const ScratchFolder folder;
  const Package package = hostile_package();
  CHECK(is_python(folder, torch_module(package),
                  "len(_CALLS) == 1 and _CALLS[0]['device'].startswith('a\\\" \\'')"));
  const std::string ptx = ptx_text(package);
  const std::size_t code = ptx.find(package.kernels[0].image.bytes);
  REQUIRE(code != std::string::npos);
  std::size_t lines = 0;
  for (std::size_t at = 0; at < code; at = ptx.find('\n', at) + 1, ++lines)
    CHECK(ptx.substr(at, 3) == "// ");
  CHECK(lines > 10);
  CHECK(comment_text("a */ b \\ c \n d ?\?/ **/") == "a * / b _ c _ d __/ ** /");
}

TEST_CASE("export: a PTX file says as JSON how it is launched") {
  const std::string text = ptx_text(some_package());
  const std::string begin = "// launch begin\n", end = "// launch end\n";
  std::string block = text.substr(text.find(begin) + begin.size(),
                                  text.find(end) - text.find(begin) - begin.size());
  for (std::size_t at = 0; (at = block.find("\n// ", at)) != std::string::npos;)
    block.erase(at + 1, 3);
  const auto json = nlohmann::json::parse(block.substr(3));
  CHECK(json["entry"] == "scale");
  CHECK(json["block"] == nlohmann::json({128, 1, 1}));
  CHECK(text.ends_with("ELF and code"));
}

#ifdef FA_TUNE_CUDA_INCLUDE
namespace {

// g++'s verdict, warnings being errors, on a program that is linked with a libcuda of the tests'.
bool compiles(const ScratchFolder& folder, const std::string& source, const std::string& more) {
  return runs(std::string(FA_TUNE_CXX) +
              " -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Werror -isystem " +
              FA_TUNE_CUDA_INCLUDE + " -I" + folder.path().string() + " " + source + " " + more);
}

}  // namespace

TEST_CASE("export: a program with two headers launches what was exported" *
          doctest::test_suite("conditional")) {
  const ScratchFolder folder;
  Package package = some_package();
  package.name = "first";
  for (const char* device : {"first GPU", "second GPU"}) {
    PackagedCall call = package.calls[0];
    call.device = device;
    call.shape["rows"] = call.given["rows"] = std::int64_t{16};
    call.launch.grid.x = call.device == "second GPU" ? 9 : 8;
    package.calls.push_back(call);
  }
  write_file(folder / "first.hpp", cxx_header(package));
  package.name = "second";
  write_file(folder / "second.hpp", cxx_header(package));
  const std::string here = FA_TUNE_ROOT "/tests/engine/export/";
  const std::string program = (folder / "use").string(), fake = (folder / "fake.o").string();
  REQUIRE(runs("cc -c -isystem " FA_TUNE_CUDA_INCLUDE " " + here + "fake_cuda.c -o " + fake));
  REQUIRE(compiles(folder, here + "header_use.cpp", fake + " -o " + program));
  CHECK(runs(program));
  ++package.calls[0].launch.block.x;
  package.name = "first";
  write_file(folder / "first.hpp", cxx_header(package));
  REQUIRE(compiles(folder, here + "header_use.cpp", fake + " -o " + program));
  CHECK_FALSE(runs(program));
}

TEST_CASE("export: a header hands a struct over by value" * doctest::test_suite("conditional")) {
  const ScratchFolder folder;
  write_file(folder / "typed.hpp", cxx_header(typed_package()));
  write_file(folder / "use.cpp", R"(#include "typed.hpp"
struct Seen {
  unsigned sizes[11];
  CUstream stream;
  void** parameters;
};
struct How {
  float scale;
  long long id;
  unsigned short bits;
};
How how{};
std::uint64_t count = 0;
bool flag = false;
void tell(const Seen* told) {
  std::memcpy(&how, told->parameters[2], sizeof how);
  std::memcpy(&count, told->parameters[3], sizeof count);
  std::memcpy(&flag, told->parameters[4], sizeof flag);
}
extern "C" void fake_tell(void (*)(const Seen*));
int main() {
  fake_tell(tell);
  cuCtxSetCurrent(reinterpret_cast<CUctx_st*>(0x1000));
  const CUresult code = typed::launch({}, reinterpret_cast<float2*>(0x6000),
                                      reinterpret_cast<const bool*>(0x8000));
  const bool right = how.scale == 2.5F && how.id == -3 && how.bits == 65535;
  return code == CUDA_SUCCESS && right && count == ~std::uint64_t{0} && flag ? 0 : 1;
}
)");
  const std::string program = (folder / "use").string(), fake = (folder / "fake.o").string();
  REQUIRE(runs("cc -c -isystem " FA_TUNE_CUDA_INCLUDE " " FA_TUNE_ROOT
               "/tests/engine/export/fake_cuda.c -o " +
               fake));
  REQUIRE(compiles(folder, (folder / "use.cpp").string(), fake + " -o " + program));
  CHECK(runs(program));
}

TEST_CASE("export: a program with a header of several kernels launches them in order" *
          doctest::test_suite("conditional")) {
  const ScratchFolder folder;
  write_file(folder / "steps.hpp", cxx_header(package_of_steps()));
  const std::string here = FA_TUNE_ROOT "/tests/engine/export/";
  const std::string program = (folder / "use").string(), fake = (folder / "fake.o").string();
  REQUIRE(runs("cc -c -isystem " FA_TUNE_CUDA_INCLUDE " " + here + "fake_cuda.c -o " + fake));
  REQUIRE(compiles(folder, here + "header_steps_use.cpp", fake + " -o " + program));
  CHECK(runs(program));
}

TEST_CASE("export: a header of strangers' names compiles" * doctest::test_suite("conditional")) {
  const ScratchFolder folder;
  Package package = hostile_package();
  package.name = "hostile";
  write_file(folder / "hostile.hpp", cxx_header(package));
  const std::string program = (folder / "hostile.cpp").string();
  write_file(program, "#include \"hostile.hpp\"\nint main() { return 0; }\n");
  CHECK(compiles(folder, program, "-fsyntax-only"));
  write_file(program, "#include \"hostile.hpp\"\nint main() { return hostile::nothing; }\n");
  CHECK_FALSE(compiles(folder, program, "-fsyntax-only"));
}
#else
TEST_CASE("export: headers" * doctest::test_suite("conditional")) {
  fa_tune::test::skip("there is no cuda.h to compile them with");
}
#endif

TEST_CASE("export: one header for shapes that differ in numbers alone") {
  Package package = some_package();
  package.name = "x";
  package.calls.push_back(package.calls[0]);
  package.calls[0].given["layout"] = std::string("BHSD");
  package.calls[1].given["layout"] = std::string("BSHD");
  CHECK(has(message_of<UserError>([&] { (void)cxx_header(package); }), "differ in layout"));
}

TEST_CASE("export: one function for one kind of kernel") {
  Package package = some_package();
  package.calls.push_back(package.calls[0]);
  CHECK_NOTHROW(check_one_signature(package));
  package.calls[1].tensors[1].type = DType::f16;
  CHECK(has(message_of<UserError>([&] { (void)torch_module(package); }), "f16 y output"));
}

TEST_CASE("export: base64 is RFC 4648's") {
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("foobar") == "Zm9vYmFy");
}

}  // namespace fa_tune::test
