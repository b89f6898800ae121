#include "engine/source/named_files.hpp"

#include <ctime>

#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::source;

namespace {

// What is said of it, "" where it may be compiled.
std::string said(const std::string& source) {
  try {
    refuse_foreign_files(source, "k");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

// tests/tools/space/named_files.py has what the compiler takes of these, and more of them.
TEST_CASE("named files: a file of nobody's is refused however its include is spelt") {
  for (const std::string blank :
       {"", " ", "\t", "\f", "\v", "\r", "\\\n", "/* */", "/* a\n/* b */"})
    for (const std::string mark : {"#", "%:", "?\?="})
      for (const std::string path : {"\"/etc/passwd\"", "</etc/passwd>", "<../x>", "\"x/../../y\"",
                                     "\"private.txt\"", "<a\\b>", "<a b>", "P", "\\u0050"}) {
        CAPTURE(blank + mark + blank + "include " + blank + path);
        CHECK(said("int a;\n" + blank + mark + blank + "include" + (path == "P" ? " " : "") +
                   blank + path + "\n") != "");
      }
  CHECK(has(said("#include\f\"private.txt\"\n"), "names the file 'private.txt'"));
  CHECK(has(said("# /* a /* b */ include P\n"), "what a macro says"));
  CHECK(has(said("#incl\\u0075de P\n"), "with an escape"));
  CHECK(has(said(std::string("#in\0clude P\n", 12)), "zero byte"));
}

TEST_CASE("named files: headers of libraries, and what only looks like an include, may stay") {
  for (const std::string text :
       {"#include <cuda_fp16.h>\n", "#include \"math.h\"\n", "#\tinclude\f<cub/block/a.cuh> // b\n",
        "// #include \"old.cuh\"\n", "/*\n#include \"old.cuh\"\n*/\n", "x = \"#include P\";\n",
        "#define DIV(a, b) ((a) / (b))\n#if DIV(N, 2) > 1\n#endif\n",
        "#define C(a, b) a##b\n#define K asm(\"mma.m16\")\n#if N > 2\n#endif\n",
        "#define C(a, b) a##b\n#if C(N, M)\n#endif\n", "#if defined(__has_include)\n#endif\n",
        "#ifdef __has_include\n#if __has_include(<cub/cub.cuh>)\n#endif\n#endif\n", "#include",
        "#error include P\n", "int include = 3; // include \"P\"\n"})
    CHECK_MESSAGE(said(text) == "", text);
}

TEST_CASE("named files: nobody asks whether a file is there") {
  for (const std::string text :
       {"#if __has_include(\"/x\")\n", "#if __has_include\f(\v</x>)\n", "#if __has_include(P)\n",
        "#if 0\n#elif __has_include_next(<../x>)\n", "#define H __has_include\n",
        "#define H(x) __has_include(x)\n", "#define C(a, b) a##b\n#if C(__has_, include)(\"/x\")\n",
        "#define C(a, b) a%:%:b\n#define Q C(__has_, include)(\"/x\")\n#if Q\n",
        "#define AB \"../x\"\n#define C(a, b) a##b\n#if C(__has_, include)(C(A, B))\n",
        "#if _CCCL_PP_CAT(__has_, include)(\"/x\")\n"})
    CHECK_MESSAGE(said(text) != "", text);
}

TEST_CASE("named files: no text takes long") {
  // Of processors: the machine may be busy. Steps that grow with the square would take hours.
  const std::clock_t before = std::clock();
  for (const std::string piece :
       {"*/#", "#", "include<", "#include/*", "#define A B\n#if A\n", "\\ "}) {
    std::string text;
    while (text.size() < (std::size_t{1} << 20)) text += piece;
    (void)said(text);
  }
  CHECK(std::clock() - before < 20 * CLOCKS_PER_SEC);
}

TEST_CASE("named files: a kernel's name cannot end the expression it is given as") {
  for (const std::string name : {"k", "ns::k", "k<64, float>", "k<ns::T<2>>"})
    CHECK(is_kernel_name(name));
  for (const std::string name :
       {"", "k\n#include <x>", "k;", "k<1", "k)", "1k", "k\r", "k<\"x\">", "k /**/"})
    CHECK_FALSE_MESSAGE(is_kernel_name(name), name);
}

}  // namespace fa_tune::test
