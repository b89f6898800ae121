// Exports for any size: what they launch is what the formulas say.

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
using expression::Residue;

namespace {

std::vector<Residue> formulas(const std::vector<std::string>& texts) {
  std::vector<Residue> all;
  for (const std::string& text : texts) all.push_back(Residue::of_text(text));
  return all;
}

Scalar number(const std::string& name, DType type, std::int64_t value, bool own = false) {
  Scalar scalar{.name = name, .bytes = std::vector<std::byte>(size_of(type)), .type = type};
  scalar.own = own;
  put_number(type, static_cast<double>(value), scalar.bytes.data());
  return scalar;
}

// y = rows x columns of x, by a kernel that is tuned at 8 x 64.
Package resizable() {
  PackagedCall call{.kernel = 0,
                    .shape = {{"rows", std::int64_t{8}}, {"columns", std::int64_t{64}}},
                    .given = {{"rows", std::int64_t{8}}, {"columns", std::int64_t{64}}},
                    .launch = {{2, 8, 1}, {32, 1, 1}, {1, 1, 1}, 256},
                    .arguments = {"x", "y", "columns", "tiles", "a"},
                    .maps = {},
                    .tensors = {{"x", DType::f32, Role::input, {8, 64}, {}, "RC"},
                                {"y", DType::f32, Role::output, {8}, {}, "R"}},
                    .scalars = {number("columns", DType::i32, 64),
                                number("tiles", DType::u8, 2, true), number("a", DType::f32, 3)},
                    .described = "rows=8 columns=64",
                    .device = "first GPU",
                    .origin = "trial 7"};
  call.any_size = AnySize{
      .sizes = {"columns", "rows"},
      .kernels = {{formulas({"ceil_div(columns, 32)", "rows", "1"}), formulas({"32", "1", "1"}),
                   formulas({"1", "1", "1"}), Residue::of_text("columns * 4")}},
      .dims = {{"x", formulas({"rows", "columns"})}, {"y", formulas({"rows"})}},
      .scalars = {{"columns", Residue::of_text("columns")},
                  {"tiles", Residue::of_text("ceil_div(columns, 32)")}},
      .required = {Residue::of_text("columns % 4 == 0")},
      .most_shared = 100000,
      .gated = "rows=3 columns=12"};
  return package_of("resizable", std::move(call));
}

// The same with a workspace, memory that is set and copied, and a second kernel.
Package resizable_steps() {
  Package package = resizable();
  package.name = "steps";
  package.kernels[0].image.more = {{"last", {}}};
  PackagedCall& call = package.calls[0];
  call.tensors.push_back({"parts", DType::f32, Role::workspace, {8, 2}, {}, "RN"});
  call.any_size->dims.emplace("parts", formulas({"rows", "ceil_div(columns, 32)"}));
  call.any_size->kernels.push_back({formulas({"1", "1", "1"}), formulas({"32", "1", "1"}),
                                    formulas({"1", "1", "1"}), Residue::of_text("0")});
  call.steps = {PlannedFill{"parts", 0},
                PlannedKernel{0, call.launch, {"x", "parts", "columns"}, {}},
                PlannedKernel{1, {{1, 1, 1}, {32, 1, 1}, {}, 0}, {"parts", "y", "tiles"}, {}}};
  return package;
}

// It sees x through a map: rows of 64 numbers, of which 8 lie behind one another.
Package resizable_mapped() {
  Package package = resizable();
  package.name = "mapped";
  PackagedCall& call = package.calls[0];
  call.arguments[0] = "x_map";
  call.maps = {{"x_map", "x", {64, 8}, 128, {}}};
  call.tensors[0].dims = {4, 2, 64};
  call.maps[0].box = {64, 2, 1};
  call.any_size->dims.at("x") = formulas({"rows / 2", "2 * columns", "64"});
  return package;
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin), to = text.find(end);
  REQUIRE(to != std::string::npos);
  return text.substr(from, to - from);
}

// Two for any sizes. Below 10 rows the second is done first, which takes no sizes above 200 columns;
// outside of 4 to 100 the first is taken.
Package dispatched() {
  Package two = resizable();
  two.name = "two";
  two.calls.push_back(two.calls[0]);
  two.calls[0].choice = 0;
  two.calls[1].choice = 1;
  two.calls[1].any_size->kernels[0].shared = Residue::of_text("columns * 8");
  two.calls[1].any_size->required.push_back(Residue::of_text("columns <= 200"));
  two.dispatch.emplace();
  const QueueFormulas rows = {Residue::of_text("rows"), Residue::of_text("1"),
                              Residue::of_text("1"), Residue::of_text("1"),
                              Residue::of_text("rows")};
  two.dispatch->costs = {{.choice = 0, .queues = {rows}, .fixed_us = 9.5, .step_us = 0},
                         {.choice = 1, .queues = {rows}, .fixed_us = 0, .step_us = 1}};
  two.dispatch->ranges = {{"rows", 4, 100}};
  two.dispatch->robust = {0, 1};
  return two;
}

}  // namespace

TEST_CASE("any size: the formulas in figures, and in words") {
  const Package package = resizable();
  const auto json = call_json(package, package.calls[0]);
  CHECK(json["any_size"]["kernels"][0]["grid"][0] == "ceil_div(columns, 32)");
  CHECK(json["any_size"]["dims"]["x"][1] == "columns");
  CHECK(json["any_size"]["required"][0] == "columns % 4 == 0");
  const Constants good = {{"columns", std::int64_t{12}}, {"rows", std::int64_t{3}}};
  const Constants bad = {{"columns", std::int64_t{13}}, {"rows", std::int64_t{3}}};
  CHECK(refusal_at(*package.calls[0].any_size, good).empty());
  CHECK(refusal_at(*package.calls[0].any_size, bad) == "columns % 4 == 0");
  CHECK(contents_lines(package, "# ").find("for any sizes; gated at rows=3 columns=12 too") !=
        std::string::npos);
}

TEST_CASE("any size: a module computes its launches from the tensors' shapes") {
  const std::string module = torch_module(resizable());
  std::string program = between(module, "_CALLS = ", "import base64") +
                        between(module, "# --- What a launch is", "# --- A function");
  program += R"(
at = _at_sizes(0, {"x": (3, 100), "y": (3,)})
assert at == 1 and _at_sizes(0, {"x": (3, 100)}) == 1, at
assert _CALLS[1]["steps"][0]["grid"] == [4, 3, 1] and _CALLS[1]["steps"][0]["shared"] == 400 and _CALLS[1]["steps"][0]["block"] == [32, 1, 1]
assert [t["dims"] for t in _CALLS[1]["tensors"]] == [[3, 100], [3]]
assert [a.get("value") for a in _CALLS[1]["steps"][0]["arguments"]] == [None, None, 100, 4, 3.0]
assert _CALLS[0]["steps"][0]["grid"] == [2, 8, 1] and _CALLS[0]["steps"][0]["shared_most"] == 100000
assert _at_sizes(0, {"x": (3, 101)}) == "columns % 4 == 0 must hold"
assert "tiles" in _at_sizes(0, {"x": (3, 32 * 256)})
assert "grid.y" in _at_sizes(0, {"x": (65536, 4)})
assert "above" in _at_sizes(0, {"x": (0, 4)}) or "1 to" in _at_sizes(0, {"x": (0, 4)})
assert "dimensions" in _at_sizes(0, {"x": (4,)})
assert len(_CALLS) == 2
)";
  program += R"(
)" + between(torch_module(dispatched()), "_CALLS = ", "import base64") +
             between(torch_module(dispatched()), "# --- What a launch is", "# --- A function") + R"(
assert _in_order([0, 1], {"x": (8, 64)}) == [1, 0]
assert _in_order([0, 1], {"x": (50, 64)}) == _in_order([0, 1], {"x": (3, 64)}) == [0, 1]
assert _in_order([0, 1], {"x": (8, 400)}) == [1, 0] and "200" in _at_sizes(1, {"x": (8, 400)})
)";
  const ScratchFolder folder;
  write_file(folder / "sizes.py", program);
  CHECK(runs(FA_TUNE_PYTHON " " + (folder / "sizes.py").string()));
  write_file(folder / "module.py", module);
  CHECK(runs(FA_TUNE_PYTHON " -m py_compile " + (folder / "module.py").string()));
  // A size that no tensor shows.
  Package package = resizable();
  package.calls[0].any_size->dims.at("x")[1] = Residue::of_text("columns * 2");
  CHECK(message_of<UserError>([&] { torch_module(package); }).find("the size columns is no") == 0);
}

#ifdef FA_TUNE_CUDA_INCLUDE
namespace {

// What a program with the header does, which tells why it ends otherwise than with 0.
bool works(const Package& package, const std::string& body) {
  const ScratchFolder folder;
  write_file(folder / (package.name + ".hpp"), cxx_header(package));
  write_file(folder / "use.cpp", "#include \"" + package.name + R"(.hpp"
#include <string>
struct Seen {
  unsigned grid[3], block[3], shared, attributes, cluster[3];
  CUstream stream;
  void** parameters;
};
std::string seen;
int last_int = 0;
unsigned char last_byte = 0;
struct Mapped {
  void* address;
  unsigned type, rank, box[5], swizzle;
  unsigned long long dims[5];
  unsigned strides[4];
} last_map;
bool is_mapped = false;
void tell(const Seen* told) {
  seen += "kernel " + std::to_string(told->grid[0]) + " " + std::to_string(told->grid[1]) + " " +
          std::to_string(told->shared) + "; ";
  std::memcpy(&last_int, told->parameters[2], sizeof last_int);
  if (is_mapped) std::memcpy(&last_map, told->parameters[0], sizeof last_map);
  std::memcpy(&last_byte, told->parameters[2], sizeof last_byte);
}
void tell_move(const char* what, CUdeviceptr, unsigned long long, std::size_t bytes) {
  seen += what + std::string(" ") + std::to_string(bytes) + "; ";
}
extern "C" void fake_tell(void (*)(const Seen*));
extern "C" void fake_tell_moves(void (*)(const char*, CUdeviceptr, unsigned long long, std::size_t));
template <typename T>
T* at(std::size_t address) {
  return reinterpret_cast<T*>(address);
}
int main() {
  fake_tell(tell);
  fake_tell_moves(tell_move);
  cuCtxSetCurrent(at<CUctx_st>(0x1000));
)" + body + "}\n");
  const std::string program = (folder / "use").string(), fake = (folder / "fake.o").string();
  REQUIRE(runs("cc -c -isystem " FA_TUNE_CUDA_INCLUDE " " FA_TUNE_ROOT
               "/tests/engine/export/fake_cuda.c -o " +
               fake));
  REQUIRE(runs(std::string(FA_TUNE_CXX) +
               " -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Werror -isystem " +
               FA_TUNE_CUDA_INCLUDE + " -I" + folder.path().string() + " " + program + ".cpp " +
               fake + " -o " + program));
  return runs(program);
}

}  // namespace

TEST_CASE("any size: a header launches at the caller's sizes" *
          doctest::test_suite("conditional")) {
  CHECK(works(resizable(), R"(
  resizable::Sizes sizes;
  const auto launch = [&] {
    seen = "";
    return resizable::launch(sizes, at<float>(16), at<float>(32));
  };
  if (launch() != CUDA_SUCCESS || seen != "kernel 2 8 256; " || last_int != 64) return 1;
  sizes.columns = 100;
  sizes.rows = 3;
  if (launch() != CUDA_SUCCESS || seen != "kernel 4 3 400; " || last_int != 100) return 2;
  if (resizable::why_not(sizes) != nullptr) return 3;
  sizes.columns = 101;
  if (launch() != CUDA_ERROR_NOT_FOUND || !seen.empty()) return 4;
  if (std::string(resizable::why_not(sizes)) != "columns % 4 == 0 must hold") return 5;
  sizes.columns = 25004;
  if (std::string(resizable::why_not(sizes)).find("tiles is") != 0) return 6;
  sizes.columns = 4;
  sizes.rows = 65536;
  if (std::string(resizable::why_not(sizes)).find("grid.y of scale is rows") != 0) return 7;
  sizes.rows = 0;
  if (std::string(resizable::why_not(sizes)) != "rows must be above 0") return 8;
  sizes.rows = std::int64_t{1} << 61;
  if (std::string(resizable::why_not(sizes)).find("beyond 64 bits") == std::string::npos) return 9;
)"));
  // A header of which one call is for the tuned sizes alone.
  Package two = resizable();
  two.calls.push_back(two.calls[0]);
  two.calls[1].any_size.reset();
  two.calls[1].launch.grid.x = 77;
  CHECK(works(two, R"(
  resizable::Sizes sizes;
  if (resizable::launch(sizes, at<float>(16), at<float>(32)) != CUDA_SUCCESS) return 1;
  sizes.rows = 5;
  if (resizable::launch(sizes, at<float>(16), at<float>(32)) != CUDA_SUCCESS) return 2;
  return seen == "kernel 2 8 256; kernel 2 5 256; " ? 0 : 3;
)"));
}

TEST_CASE("any size: a tensor map is that of the caller's sizes" *
          doctest::test_suite("conditional")) {
  CHECK(works(resizable_mapped(), R"(
  mapped::Sizes sizes;
  is_mapped = true;
  sizes.columns = 100;
  sizes.rows = 6;
  if (mapped::launch(sizes, at<float>(16), at<float>(32)) != CUDA_SUCCESS) return 1;
  if (last_map.rank != 3 || last_map.dims[0] != 64 || last_map.dims[1] != 200) return 2;
  if (last_map.dims[2] != 3 || last_map.strides[0] != 256 || last_map.strides[1] != 256 * 200) return 3;
  sizes.rows = 1;
  if (mapped::launch(sizes, at<float>(16), at<float>(32)) != CUDA_ERROR_NOT_FOUND) return 4;
)"));
}

TEST_CASE("any size: a header launches what its dispatch names, else the first that can" *
          doctest::test_suite("conditional")) {
  const Package two = dispatched();
  CHECK(works(two, R"(
  two::Sizes sizes;
  const auto launch = [&](std::int64_t rows, std::int64_t columns) {
    seen = "";
    sizes.rows = rows;
    sizes.columns = columns;
    return two::launch(sizes, at<float>(16), at<float>(32)) == CUDA_SUCCESS ? seen : "none";
  };
  if (launch(8, 64) != "kernel 2 8 512; ") return 1;
  if (launch(50, 64) != "kernel 2 50 256; ") return 2;
  if (launch(3, 64) != "kernel 2 3 256; ") return 3;
  if (launch(8, 400) != "kernel 13 8 1600; ") return 4;
  if (launch(8, 401) != "none") return 5;
)"));
}

TEST_CASE("any size: so does a header of several steps, with workspaces of these sizes" *
          doctest::test_suite("conditional")) {
  CHECK(works(resizable_steps(), R"(
  steps::Sizes sizes;
  sizes.columns = 100;
  sizes.rows = 3;
  if (steps::bytes_of_parts(sizes) != 48) return 1;
  if (steps::launch(sizes, at<float>(16), at<float>(32), at<float>(48)) != CUDA_SUCCESS) return 2;
  if (seen != "set 48; kernel 4 3 400; kernel 1 1 0; " || last_byte != 4) return 3;
  sizes.columns = 101;
  return steps::bytes_of_parts(sizes) == 0 ? 0 : 4;
)"));
}
#endif

}  // namespace fa_tune::test
