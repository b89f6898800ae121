#include "engine/source/declarations.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "engine/source/identifier_substitution.hpp"

namespace fa_tune::test {

using namespace fa_tune::source;

TEST_CASE("declarations: kernels, their lines and their parameters") {
  const Declarations found = declarations(R"cu(// __global__ void not_this(int);
#include <x>
extern "C" __global__ void __launch_bounds__(256, 2)
first(const float* x, /* int, int */ float a = f(1, 2), int n) { g(x); }
/* template <int N> */
template <int PER, typename T = float, class... Rest>
__global__ void second(T (&x)[PER], Map<T, 4> map) {}
const char* text = "__global__ void third(int)";
__global__ void fourth(void);
__global__ void fifth();
)cu");
  REQUIRE(found.kernels.size() == 4);
  CHECK(found.kernels[0].name == "first");
  CHECK(found.kernels[0].line == 4);
  CHECK(found.kernels[0].count == 3);
  CHECK(found.kernels[0].parameters == "const float* x, float a = f(1, 2), int n");
  CHECK_FALSE(found.kernels[0].is_template);
  CHECK(found.kernels[1].name == "second");
  CHECK(found.kernels[1].line == 7);
  CHECK(found.kernels[1].count == 2);
  CHECK(found.kernels[1].is_template);
  CHECK(found.kernels[2].name == "fourth");
  CHECK(found.kernels[2].count == 0);
  CHECK(found.kernels[3].count == 0);
  CHECK_FALSE(found.kernels[3].is_template);
  CHECK_FALSE(found.may_hide_kernels);
  CHECK(found.template_parameters == std::map<std::string, int>{{"PER", 6}, {"T", 6}, {"Rest", 6}});
}

TEST_CASE("declarations: a kernel is seen behind attributes of all kinds") {
  for (const char* text :
       {"extern \"C\" { __global__ __launch_bounds__(64) void k(int a, int b) {} }",
        "namespace n { static __global__ void __cluster_dims__(2, 1) k(int a, int b); }",
        "__global__ void HEADERS_BOUNDS(128) k(int a, int b) {}",
        "__global__ void k(int a, int b) noexcept {}",
        "#define OWN_BOUNDS(n)\n__global__ void OWN_BOUNDS(4) k(int a,\n  int b) {}",
        "template <class T>\n__launch_bounds__(2) __global__ void k(T a, int b) {}"}) {
    CAPTURE(text);
    const auto kernels = declarations(text).kernels;
    const auto found = std::ranges::find(kernels, "k", &KernelDeclaration::name);
    REQUIRE(found != kernels.end());
    CHECK(found->count == 2);
    CHECK(found->is_template == std::string_view(text).starts_with("template"));
  }
}

TEST_CASE("declarations: template parameters of any list, and nothing else") {
  const auto names = [](const char* text) {
    std::vector<std::string> all;
    for (const auto& [name, line] : declarations(text).template_parameters)
      all.push_back(name + std::to_string(line));
    return all;
  };
  using Names = std::vector<std::string>;
  CHECK(names("template <\n  int A,\n  bool B = (A > 2), int C = 1\n>\nstruct S {};") ==
        Names{"A2", "B3", "C3"});
  CHECK(names("template <template <class, int D> class F, int C = sizeof(int)> void f();") ==
        Names{"C1", "D1", "F1"});
  CHECK(names("template <class T, Pair<int, T> V> void f();") == Names{"T1", "V1"});
  CHECK(names("template <> __global__ void k<4>(int);").empty());
  CHECK(names("template __global__ void k<A, B>(int);").empty());
  CHECK(names("template <class> void f(int N);").empty());
  CHECK(names("bool f() { return a template < b; }").empty());
  CHECK(names("// template <int N>\nconst char* s = \"template <int N>\";").empty());
}

TEST_CASE("declarations: what macros may make or change") {
  const Declarations found = declarations(R"(#define WIDTH 4
#ifdef PER
#elif defined(OTHER) && \
      MORE > 2
#endif
#undef GONE
__global__ void k(int n ARGUMENTS) {}
#define ARGUMENTS , int m
__global__ void l(int n
#if WIDE
  , int m
#endif
  ) {}
)");
  CHECK(found.macros == std::map<std::string, int>{{"ARGUMENTS", 8}, {"WIDTH", 1}});
  CHECK(found.conditions.at("PER") == 2);
  CHECK(found.conditions.at("MORE") == 3);
  CHECK_FALSE(found.conditions.contains("WIDTH"));
  CHECK(found.undefined == std::set<std::string>{"GONE"});
  REQUIRE(found.kernels.size() == 2);
  CHECK_FALSE(found.kernels[0].count.has_value());
  CHECK_FALSE(found.kernels[1].count.has_value());
  CHECK_FALSE(found.may_hide_kernels);
  CHECK(declarations("#define K __global__ void\n").may_hide_kernels);
  CHECK(declarations("#define K(a) k_##a\n").may_hide_kernels);
  CHECK(declarations("#define K(a) a\n__global__ void K(scale)(int n) {}\n").may_hide_kernels);
}

TEST_CASE("declarations: texts of nothing but beginnings take no time") {
  for (const char* beginning :
       {"__global__ ", "template <", "template <a b,", "#define ", "#if a\n", "\n", "/*", "\"", "'",
        "__global__ (", "#\\\n", "\\\n", "texture<", "texture <(", "tex2D ", "this_grid "}) {
    std::string text;
    while (text.size() < 262'144) text += beginning;
    CHECK(declarations(text).kernels.empty());
  }
  CHECK(declarations("").kernels.empty());
}

TEST_CASE("declarations: the names of kernels, as a T1 file's reference asks for them") {
  using Names = std::vector<std::string>;
  const auto names = [](const std::string& text) {
    Names found;
    for (const KernelDeclaration& kernel : declarations(text).kernels) found.push_back(kernel.name);
    return found;
  };
  CHECK(names("__global__ void k(int n) { f(n); }") == Names{"k"});
  CHECK(names("extern \"C\" __global__ void __launch_bounds__(256, 2)\nk1 (float* a);\n"
              "template <int n> __global__ __cluster_dims__(2) void k2(){}") == Names{"k1", "k2"});
  CHECK(names("static __device__ int f(int);").empty());
  CHECK(names("__global__").empty());
  CHECK(names("__global__ void k; int g(int);").empty());
  // What would be too deep or too long for a backtracking search.
  const std::string parentheses(2'000'000, '(');
  CHECK(names("__global__ " + parentheses).empty());
  CHECK(names("__global__ " + std::string(2'000'000, 'a')).empty());
}

TEST_CASE("declarations: headers that are included, and the text without comments") {
  const Declarations found = declarations(
      "#include <cuda/std/cstdint>\n  # include \"a b.h\" // x\n// #include <no.h>\n"
      "/* #include <nor.h> */ #include <c.h>\nconst char* s = \"\\n#include <s.h>\";\n"
      "#include MACRO\n#include <open");
  CHECK(found.includes == std::set<std::string>{"cuda/std/cstdint", "a b.h", "c.h"});
  CHECK(without_quotes("a // b\n/* c\n*/ \"d\" e") == "a     \n    \n       e");
}

TEST_CASE("declarations: in whose #ifndef a macro stands") {
  const Declarations found = declarations(R"cu(#ifndef tuned
#if FAST
#define A 1
#endif
#define B 1
#else
#define C 1
#endif
#define D 1
#define B 2
)cu");
  using Names = std::vector<std::string>;
  CHECK(found.unless.at("A") == Names{"tuned", ""});
  CHECK(found.unless.at("B") == Names{"tuned"});
  CHECK(found.unless.at("C") == Names{""});
  CHECK(found.unless.at("D").empty());
}

TEST_CASE("declarations: textures and surfaces by all their spellings") {
  for (const char* text :
       {"__global__ void k(cudaTextureObject_t t) {}",
        "__global__ void k(cudaSurfaceObject_t t) {}",
        "texture<float, cudaTextureType2D, cudaReadModeElementType> t;", "texture < uchar4, 2 > t;",
        "surface<void, 2> s;", "float v = tex1Dfetch<float>(t, i);", "v = tex2D(t, x, y);",
        "v = tex2DLod<float4>(t, x, y, 0);", "v = tex2Dgather<float4>(t, x, y);",
        "v = tex3D\n  <float>(t, x, y, z);", "v = texCubemap<float>(t, x, y, z);",
        "surf2Dwrite(v, s, x, y);", "surf1Dread<float>(s, x);", "__global__ void k(CUtexObject t);",
        "#define READ(t, x) tex1D<float>(t, x)"}) {
    CAPTURE(text);
    CHECK(declarations(text).texture);
  }
  for (const char* text :
       {"// tex2D(t, x, y)", "/* cudaTextureObject_t */", "f(\"tex2D(t)\");", "int texture = 3;",
        "if (texture < width && a > b) {}", "float tex2Dim = 1; int tex1D = 0; tex1D = 2;",
        "use(texture < n, 3 > 2);", "my_tex2D(t);", "struct texture_like<float> t;"}) {
    CAPTURE(text);
    CHECK_FALSE(declarations(text).texture);
  }
  const auto found =
      declarations("#if TEXTURE\n  v = tex2D<float>(t, x, y);\n#else\n#endif\n").texture;
  REQUIRE(found);
  CHECK(found->name == "tex2D");
  CHECK(found->line == 2);
  CHECK(found->column == 7);
  CHECK(found->conditional);
  // What every config has counts for more.
  CHECK_FALSE(declarations("#ifdef A\ntex1D(t);\n#endif\nsurf2Dread(s);\n").texture->conditional);
}

TEST_CASE("declarations: a grid that syncs") {
  const auto found =
      declarations("namespace cg = cooperative_groups;\n  auto g = cg::this_grid();\ng.sync();\n")
          .grid_sync;
  REQUIRE(found);
  CHECK(found->name == "this_grid");
  CHECK(found->line == 2);
  CHECK(found->column == 16);
  CHECK(declarations("void f(cg::grid_group g) { cg::sync(g); }").grid_sync);
  CHECK_FALSE(declarations("int i = cg::this_grid().thread_rank();").grid_sync);
  CHECK_FALSE(declarations("cg::this_thread_block().sync();  // this_grid().sync()").grid_sync);
}

}  // namespace fa_tune::test
