#include "engine/kernel/compile/located_error.hpp"

#include <doctest/doctest.h>

#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::kernel;

namespace {

// Two #define lines and a blank one; then three lines of mine.cu, two of part.cuh, the rest of mine.cu.
Source source(const std::string& kernel = "k") {
  Origin origin;
  origin.lines.add(1, "mine.cu", 1);
  origin.lines.add(4, "part.cuh", 2);
  origin.lines.add(6, "mine.cu", 5);
  origin.lines = origin.lines.with_inserted(1, 3, "the #define lines");
  origin.defined = {"BLOCK", "A"};
  origin.template_parameters = {"PER"};
  return {"", kernel, "", std::make_shared<const Origin>(std::move(origin))};
}

std::string told(const std::string& message, const std::string& rest = "",
                 const std::string& kernel = "k") {
  return located({message, "k.cu(1): warning: other\n\n" + message + "\n" + rest}, source(kernel));
}

}  // namespace

TEST_CASE("located: an error is at its file's own line") {
  CHECK(told("k.cu(5): error: bad") == "mine.cu(2): error: bad");
  CHECK(told("k.cu(7): error: bad") == "part.cuh(2): error: bad");
  CHECK(told("k.cu(9): error: bad") == "mine.cu(5): error: bad");
  CHECK(told("k.cu(2): error: bad") == "the #define lines(2): error: bad");
  CHECK(told("scale.cu(9): error: bad", "", "scale<4, float>") == "mine.cu(5): error: bad");
  CHECK(told("k.cu(9): error: \"n\" has been declared (declared at line 5)") ==
        "mine.cu(5): error: \"n\" has been declared (declared at mine.cu(2))");
  CHECK(told("k.cu(9): error: \"n\" (declared at line 5 of \"other.h\")") ==
        "mine.cu(5): error: \"n\" (declared at line 5 of \"other.h\")");
}

TEST_CASE("located: what is no line of the text stays as it is") {
  for (const char* message :
       {"", "64000 bytes of static shared memory", "k.cu(x): error: bad", "k.cu(0): error: bad",
        "(5): error: bad", "k.cu(99999999999): error: bad", "error: a (5): b", "): "})
    CHECK(told(message) == message);
  CHECK(located({"k.cu(5): error: bad", ""}, {"", "k", ""}) == "k.cu(5): error: bad");
}

TEST_CASE("located: an error in an instance says where that was asked for") {
  const std::string note = "  template <class T> void f(T t) { t.go(); }\n                  ^\n";
  CHECK(told("k.cu(7): error: no class",
             note + "          detected during:\n            instantiation "
                    "of \"void g(T)\" at line 8\n            "
                    "instantiation of \"void f(T)\" at line 9\n\n") ==
        "part.cuh(2): error: no class; instantiated at mine.cu(5)");
  CHECK(told("/usr/cub/a.cuh(7): error: no class",
             note + "          detected during instantiation of \"void f(T)\" at line 9 of "
                    "\"k.cu\"\n\n") ==
        "/usr/cub/a.cuh(7): error: no class; instantiated at mine.cu(5)");
  CHECK(told("/usr/cub/a.cuh(7): error: no class",
             note + "          detected during instantiation of \"void f(T)\" at line 9\n\n") ==
        "/usr/cub/a.cuh(7): error: no class");
}

TEST_CASE("located: a name that is #defined for the space is told") {
  CHECK(told("k.cu(9): error: expected an identifier", "    int BLOCK = 5;\n        ^\n\n") ==
        "mine.cu(5): error: expected an identifier; BLOCK is #defined for the space's parameter or "
        "define of that name: rename one of the two");
  CHECK(told("/usr/cub/a.cuh(7): error: expected an identifier",
             "  template <class A>\n                  ^\n\n") ==
        "/usr/cub/a.cuh(7): error: expected an identifier; the parameter A is also a name in "
        "/usr/cub/a.cuh: rename it in the space");
  CHECK(told("k.cu(9): error: identifier \"PER\" is undefined") ==
        "mine.cu(5): error: identifier \"PER\" is undefined; it is a parameter that the kernel's "
        "name "
        "gives to a template, so it is not #defined");
  // Not where the name is beside the place, or what is wrong is another thing.
  CHECK(told("k.cu(9): error: expected an identifier", "    int BLOCK = 5;\n              ^\n\n") ==
        "mine.cu(5): error: expected an identifier");
  CHECK(told("k.cu(9): error: no such member", "    BLOCK.x = 5;\n    ^\n\n") ==
        "mine.cu(5): error: no such member");
}

TEST_CASE("located: as NVRTC says it") {
  const auto compiler = open_nvrtc();
  const auto said = [&](const std::string& text, const std::string& kernel) {
    Source asked{"#define BLOCK 4\n\n" + text, kernel, ""};
    Origin origin{source::SourceLines::of_file("mine.cu").with_inserted(1, 2, "lines"), {"BLOCK"}};
    asked.origin = std::make_shared<const Origin>(std::move(origin));
    const auto outcome = compiler->compile({asked, "sm_89", BinaryKind::ptx, {}});
    REQUIRE_FALSE(outcome.has_value());
    return located(outcome.error(), asked);
  };
  CHECK(said("__global__ void k(int* x) {\n  *x = y;\n}\n", "k") ==
        "mine.cu(2): error: identifier \"y\" is undefined");
  CHECK(said("__global__ void k(int* x) {}\n", "j") ==
        "the kernel's name j: error: identifier \"j\" is undefined");
  CHECK(test::has(said("template <int BLOCK> __global__ void k(int* x) {}\n", "k<4>"),
                  "mine.cu(1): error: expected a \",\" or \">\"; BLOCK is #defined"));
  CHECK(said("template <class T> __device__ void f(T t) { t.go(); }\n"
             "__global__ void k(int* x) {\n  f(*x);\n}\n",
             "k") ==
        "mine.cu(1): error: expression must have class type but it has type \"int\"; instantiated "
        "at mine.cu(3)");
}

}  // namespace fa_tune::test
