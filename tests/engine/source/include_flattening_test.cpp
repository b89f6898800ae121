#include "engine/source/include_flattening.hpp"

#include <sstream>

#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::source;
using test::ScratchFolder;
namespace fs = std::filesystem;

namespace {

// A kernel_templates folder with a file beside it that templates must not reach.
struct Tree {
  Tree() {
    fs::create_directories(root / "include");
    fs::create_directories(root / "part");
    write_file(folder.path() / "secret.txt", "secret");
  }
  void add(const std::string& name, const std::string& text) const {
    write_file(root / name, text);
  }
  std::string flat() const { return flatten_includes(root / "part/main.cu", root); }

  ScratchFolder folder;
  fs::path root = folder.path() / "kernel_templates";
};

}  // namespace

TEST_CASE("defaults for a compiler that is given a template by itself are left out") {
  const Tree tree;
  tree.add("part/defaults.cuh", "// fa-tune: defaults\n#define BLOCK 256\n");
  tree.add("part/plain.cuh", "// defaults\n#define KEPT 1\n");
  tree.add("part/a.cu", "#include \"defaults.cuh\"\n#include \"plain.cuh\"\n");
  const std::string text = flatten_includes(tree.root / "part/a.cu", tree.root);
  CHECK_FALSE(test::has(text, "BLOCK"));
  CHECK(test::has(text, "#define KEPT 1"));
}

TEST_CASE("flatten: beside the file before include/, each once, cycles end") {
  const Tree tree;
  tree.add("part/main.cu",
           "#include \"a.cuh\"\n  #\tinclude  \"b.cuh\" // again\n#include \"a.cuh\"\nmain");
  tree.add("part/a.cuh", "#pragma once\n#include \"b.cuh\"\na beside\n");
  tree.add("include/a.cuh", "a in include\n");
  tree.add("include/b.cuh", "#include \"a.cuh\"\r\nb\r\n");
  CHECK(tree.flat() ==
        "// ---- a.cuh ----\n"
        "// ---- b.cuh ----\n"
        "// ---- a.cuh ----\n"
        "a in include\n"
        "// ---- end of a.cuh ----\n"
        "b\n"
        "// ---- end of b.cuh ----\n"
        "a beside\n"
        "// ---- end of a.cuh ----\n"
        "main\n");
  tree.add("part/a.cuh", "#include \"main.cu\"\n#include \"a.cuh\"\na\n");
  tree.add("include/b.cuh", "b\n");
  CHECK(tree.flat() ==
        "// ---- a.cuh ----\na\n// ---- end of a.cuh ----\n"
        "// ---- b.cuh ----\nb\n// ---- end of b.cuh ----\nmain\n");
}

TEST_CASE("flatten: comments, strings and system headers are left alone") {
  const Tree tree;
  const std::string text =
      "/* #include \"no\"\n#include \"absent\"\n#pragma once\n*/ \"/*\" // /*\n"
      "#include <cuda.h>\n// #include \"no\"\nconst char* s = \"\\\"/*\";\n#includes \"no\n";
  tree.add("part/main.cu", text);
  CHECK(tree.flat() == text);
  tree.add("part/main.cu", "s = \"/*\"; /* */ // /*\n#include \"absent.cuh\"\n");
  CHECK_THROWS_WITH_AS(tree.flat(), doctest::Contains("main.cu:2: #include 'absent.cuh' is found"),
                       UserError);
}

TEST_CASE("flatten: a missing file is named with the line that asks for it") {
  const Tree tree;
  tree.add("part/main.cu", "one\n#include \"a.cuh\"\n");
  tree.add("include/a.cuh", "\n\n#include \"gone.cuh\"\n");
  CHECK_THROWS_WITH_AS(
      tree.flat(), doctest::Contains("include/a.cuh:3: #include 'gone.cuh' is found"), UserError);
  CHECK_THROWS_WITH_AS(flatten_includes(tree.root / "part/none.cu", tree.root),
                       doctest::Contains("none.cu: there is no such file"), UserError);
  tree.add("part/main.cu", std::string("a\0b", 3));
  CHECK_THROWS_WITH_AS(tree.flat(), doctest::Contains("zero byte"), UserError);
  tree.add("part/main.cu", "#include \"\"\n");
  CHECK_THROWS_AS(tree.flat(), UserError);
}

TEST_CASE("flatten: nothing outside of the root is read") {
  const Tree tree;
  const auto refused = [&tree](const std::string& name) {
    tree.add("part/main.cu", "#include \"" + name + "\"\n");
    CHECK_THROWS_AS(tree.flat(), UserError);
  };
  refused("../../secret.txt");
  refused((tree.folder.path() / "secret.txt").string());
  refused((tree.root / "include/a.cuh").string());
  fs::create_symlink(tree.folder.path() / "secret.txt", tree.root / "include/link.cuh");
  refused("link.cuh");
  CHECK_THROWS_WITH_AS(tree.flat(), doctest::Contains("main.cu:1: "), UserError);
  CHECK_THROWS_WITH_AS(tree.flat(), doctest::Contains("lies outside"), UserError);
  CHECK_THROWS_AS(flatten_includes(tree.folder.path() / "secret.txt", tree.root), UserError);
  // A root whose name another's begins with is another root.
  fs::create_directories(tree.folder.path() / "kernel_templates_mine");
  write_file(tree.folder.path() / "kernel_templates_mine/a.cuh", "a\n");
  refused("../../kernel_templates_mine/a.cuh");
  // Up and down within the root is fine.
  tree.add("include/a.cuh", "a\n");
  tree.add("part/main.cu", "#include \"../include/a.cuh\"\n#include \"a.cuh\"\n");
  CHECK(tree.flat() == "// ---- ../include/a.cuh ----\na\n// ---- end of ../include/a.cuh ----\n");
}

TEST_CASE("template_root is the nearest kernel_templates, else the manifest's folder") {
  CHECK(template_root("/a/kernel_templates/b/c.yaml") == "/a/kernel_templates");
  CHECK(template_root("/a/kernel_templates/c/kernel_templates/c.yaml") ==
        "/a/kernel_templates/c/kernel_templates");
  CHECK(template_root("/a/b/../mine/c.yaml") == "/a/mine");
  CHECK(template_root("c.yaml") == fs::current_path());
}

TEST_CASE("flatten: each line of the text is known by its file") {
  const Tree tree;
  tree.add("part/main.cu", "one\n#include \"a.cuh\"\n#pragma once\nfour\n#include \"a.cuh\"\nsix");
  tree.add("part/a.cuh", "#pragma once\ntwo of a\n#include \"b.cuh\"\nfour of a\n");
  tree.add("include/b.cuh", "b\n");
  const FlatText flat = flatten(tree.root / "part/main.cu", tree.root);
  CHECK(flat.text == tree.flat());
  std::string places;
  int number = 0;
  std::istringstream lines(flat.text);
  for (std::string line; std::getline(lines, line);) {
    const auto [file, at] = flat.lines.at(++number);
    places += line + " = " + file + ":" + std::to_string(at) + "\n";
  }
  CHECK(places == R"(one = part/main.cu:1
// ---- a.cuh ---- = part/main.cu:2
two of a = part/a.cuh:2
// ---- b.cuh ---- = part/a.cuh:3
b = include/b.cuh:1
// ---- end of b.cuh ---- = part/a.cuh:3
four of a = part/a.cuh:4
// ---- end of a.cuh ---- = part/main.cu:2
four = part/main.cu:4
six = part/main.cu:6
)");
}

TEST_CASE("source lines: what is put before or between them moves them") {
  SourceLines lines = SourceLines::of_file("a");
  lines.add(2, "a", 2);
  lines.add(3, "b", 7);
  const auto place = [](const SourceLines& of, int line) {
    const auto [file, at] = of.at(line);
    return file + ":" + std::to_string(at);
  };
  CHECK(place(lines, 2) == "a:2");
  CHECK(place(lines, 5) == "b:9");
  const SourceLines before = lines.with_inserted(1, 3, "new");
  CHECK(place(before, 3) == "new:3");
  CHECK(place(before, 4) == "a:1");
  CHECK(place(before, 6) == "b:7");
  const SourceLines between = lines.with_inserted(2, 2, "new");
  CHECK(place(between, 1) == "a:1");
  CHECK(place(between, 2) == "new:1");
  CHECK(place(between, 4) == "a:2");
  CHECK(place(between, 5) == "b:7");
  CHECK(place(lines.with_inserted(4, 1, "new"), 5) == "b:8");
  CHECK(place(lines.with_inserted(4, 0, "new"), 5) == "b:9");
  CHECK(SourceLines().at(3).file.empty());
}

}  // namespace fa_tune::test
