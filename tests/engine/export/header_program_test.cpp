#include <doctest/doctest.h>

#include "engine/export/text.hpp"
#include "engine/util/file.hpp"
#include "tests/engine/export/packages.hpp"
#include "tests/engine/export/programs.hpp"
#include "tests/helpers.hpp"

// Exported headers in programs, which a compiler takes and which launch what was exported.
namespace fa_tune::test {

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

}  // namespace fa_tune::test
