#include "engine/yaml/yaml.hpp"

#include <string>

#include <doctest/doctest.h>

#include "engine/util/random.hpp"

namespace fa_tune::test {

namespace {

YamlNode parse(const std::string& text) { return YamlNode::parse(text, "l4.yaml"); }

template <typename Function>
std::string message(Function function) {
  try {
    function();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("nearest_name finds slips of the pen and no more") {
  const std::vector<std::string> known = {"parameters", "presets", "problem", "BLOCK_M"};
  CHECK(nearest_name("paramters", known) == "parameters");
  CHECK(nearest_name("block_m", known) == "BLOCK_M");
  CHECK(nearest_name("BLOCK_N", known) == "BLOCK_M");
  CHECK(nearest_name("zebra", known).empty());
  CHECK(nearest_name("", known).empty());
  CHECK(nearest_name("x", {"y"}).empty());
  CHECK(nearest_name(std::string(5000, 'p'), known).empty());
  CHECK(did_you_mean("preset", known) == ", did you mean 'presets'?");
}

TEST_CASE("quote_text fits on one line of a message") {
  CHECK(quote_text("a\nb") == "'a?b'");
  CHECK(quote_text(std::string(60, 'a')) == "'" + std::string(60, 'a') + "'");
  CHECK(quote_text(std::string(61, 'a')) == "'" + std::string(60, 'a') + "...'");
  // A character of two bytes that would be cut in its middle is left out.
  CHECK(quote_text(std::string(59, 'a') + "\xc3\xa4" + "b") == "'" + std::string(59, 'a') + "...'");
}

TEST_CASE("yaml: a file becomes a tree with marks and typed values") {
  const YamlNode root = parse(
      "name: l4\n"
      "sizes: [16, -3, true, mma, 'quoted']\n"
      "rate: 2.5\n"
      "rule: \"a == 'b'\"\n"
      "long: >\n  folded\n  text\n");
  CHECK(root.at("name").name("name") == "l4");
  CHECK(root.at("rate").number("rate") == 2.5);
  const auto& sizes = root.at("sizes").items("sizes");
  CHECK(sizes[0].value("sizes") == Value(std::int64_t{16}));
  CHECK(sizes[1].integer("sizes") == -3);
  CHECK(sizes[2].value("sizes") == Value(true));
  CHECK(sizes[3].value("sizes") == Value(std::string("mma")));
  CHECK(sizes[4].value("sizes") == Value(std::string("quoted")));
  CHECK(sizes[1].mark().line == 2);
  CHECK(sizes[1].mark().column == 13);
  CHECK(root.at("rule").text("rule") == "a == 'b'");
  CHECK(root.at("rule").mark().column == 7);
  CHECK(root.at("rule").text_mark().column == 8);
  CHECK(root.at("long").style() == YamlNode::Style::block);
  CHECK(root.at("long").text("long") == "folded text\n");
  CHECK(root.entries("the file")[4].key_mark.line == 5);
  CHECK(root.find("absent") == nullptr);
}

TEST_CASE("yaml: errors say where, what was expected and what stands there") {
  const YamlNode root = parse("a: [1, 2]\nb: {c: 010, d: yes, e: 0x10, f: 'x y', g: 1.5}\nh:\n");
  const YamlNode& b = root.at("b");
  CHECK(message([&] {
          root.check_keys("the file", {"a", "bb", "h"});
        }) == "l4.yaml:2:1: unknown key 'b', did you mean 'bb'?");
  CHECK(message([&] {
          root.check_keys("the file", {"a", "problem", "h"});
        }) == "l4.yaml:2:1: unknown key 'b'; expected one of a, problem, h");
  CHECK(message([&] { (void)root.at("a").text("a"); }) ==
        "l4.yaml:1:4: a: expected text, found a list");
  CHECK(message([&] { (void)b.at("f").integer("f"); }) ==
        "l4.yaml:2:33: f: expected an integer, found the text 'x y'");
  CHECK(message([&] { (void)b.at("z"); }) == "l4.yaml:2:4: key 'z' is missing here");
  CHECK(message([&] { (void)root.at("h"); }) == "l4.yaml:3:1: key 'h' has no value");
  for (const char* key : {"c", "d", "e", "f", "g"})
    CHECK(message([&] { (void)b.at(key).value(key); }).find("expected") != std::string::npos);
  CHECK(message([&] { (void)b.at("g").integer("g", 1, 2); }) != "no error");
  CHECK(message([&] { (void)b.at("g").boolean("g"); }) ==
        "l4.yaml:2:43: g: expected true or false, found '1.5'");
  CHECK(message([] { parse("a: 1\nb: 2\na: 3\n"); }) ==
        "l4.yaml:3:1: key 'a' stands here for the second time");
  CHECK(message([] { parse("a: [1, 2\nb: }"); }).starts_with("l4.yaml:"));
  CHECK(message([] { parse("a: 1\n---\nb: 2\n"); }).find("more than one") != std::string::npos);
  CHECK(message([] { parse("? [a]\n: b\n"); }).find("expected a key") != std::string::npos);
  CHECK(message([] { parse("a: !!int 3\n"); }).find("tags") != std::string::npos);
  CHECK(message([] { (void)parse("99999999999999999999").value("n"); }).find("64 bits") !=
        std::string::npos);
  CHECK(message([] { (void)parse("").at("space"); }) == "l4.yaml: key 'space' is missing here");
}

TEST_CASE("yaml: hostile input is refused in good time") {
  CHECK(message([] { parse(std::string(2'000'000, 'a')); }).find("larger than") !=
        std::string::npos);
  CHECK(message([] { parse(std::string(100'000, '[')); }) != "no error");
  CHECK(message([] { parse(std::string(100'000, '{')); }) != "no error");
  std::string nested;
  for (int i = 0; i < 400; ++i) nested += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  CHECK(message([&] { parse(nested); }).find("deeper than 64") != std::string::npos);
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int j = 0; j < 9; ++j) bomb += ", " + last;
    bomb += "]\n";
  }
  CHECK(message([&] { parse(bomb); }).find("aliases") != std::string::npos);
  std::string tower = "a0: &a0 [x]\n";
  for (int i = 1; i < 80; ++i)
    tower += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) +
             "]\n";
  CHECK(message([&] { parse(tower); }).find("deeper than 64") != std::string::npos);
  // Few nodes, much text; and what is kept for aliases that never come.
  std::string aliased = "a: &a " + std::string(200'000, 'x') + "\nb: [";
  for (int i = 0; i < 50'000; ++i) aliased += "*a, ";
  CHECK(message([&] { parse(aliased + "]\n"); }) ==
        "l4.yaml:2:41: more than 2 MiB of text once aliases are written out");
  std::string anchors;
  for (int i = 0; i < 60; ++i) anchors += "&a" + std::to_string(i) + " [";
  for (int i = 0; i < 5'000; ++i) anchors += "0,";
  CHECK(message([&] { parse(anchors + std::string(60, ']')); }).find("nodes once aliases") !=
        std::string::npos);
  CHECK(message([] { parse("a: &x [1, *x]\n"); }).find("alias inside") != std::string::npos);
  CHECK(message([] { parse(std::string("a: \0b", 5)); }).find("zero byte") != std::string::npos);
  CHECK(message([] { parse("a: 1\nb: x\xFFy\n"); }).find(":2:5: a byte that is no UTF-8") !=
        std::string::npos);
  Random random(11);
  for (int i = 0; i < 3000; ++i) {
    std::string text(random.below(40), ' ');
    for (char& c : text) c = static_cast<char>(random.below(256));
    const std::string error = message([&] { parse(text); });
    CHECK(error.find('\n') == std::string::npos);
  }
}

}  // namespace fa_tune::test
