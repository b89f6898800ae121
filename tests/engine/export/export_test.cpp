#include <doctest/doctest.h>
#include <fmt/core.h>

#include "engine/export/package_json.hpp"
#include "engine/export/text.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "tests/engine/export/packages.hpp"
#include "tests/engine/export/programs.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

namespace {

// Python's own verdict: it compiles, and what stands before the common part has these values.
bool is_python(const ScratchFolder& folder, const std::string& module, const std::string& check) {
  const std::string head = module.substr(0, module.find("\nimport base64"));
  write_file(folder / "module.py", module);
  write_file(folder / "head.py", head + "\nassert " + check + "\n");
  const std::string python = std::string(FA_TUNE_PYTHON) + " ";
  return runs(python + "-m py_compile " + (folder / "module.py").string()) &&
         runs(python + (folder / "head.py").string());
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

TEST_CASE("export: a cooperative or programmatic launch is one wherever it goes") {
  const Package plain = some_package();
  CHECK(has(cxx_header(plain), "{2, 1, 1}, 512, false, false, "));
  Package cooperative = plain;
  cooperative.calls[0].launch.cooperative = true;
  CHECK(has(cxx_header(cooperative), "{2, 1, 1}, 512, true, false, "));
  Package programmatic = plain;
  programmatic.calls[0].launch.programmatic = true;
  CHECK(has(cxx_header(programmatic), "{2, 1, 1}, 512, false, true, "));
  const ScratchFolder folder;
  for (const auto& [name, package] :
       {std::pair{"cooperative", &cooperative}, {"programmatic", &programmatic}}) {
    CHECK_FALSE(call_json(plain, plain.calls[0]).contains(name));
    CHECK(call_json(*package, package->calls[0])[name] == true);
    CHECK(has(ptx_text(*package), fmt::format("\"{}\": true", name)));
    CHECK(is_python(folder, torch_module(*package),
                    fmt::format("_CALLS[0]['steps'][0]['{}'] is True", name)));
  }
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
