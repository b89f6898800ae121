#include "tests/fuzz/try_init.hpp"

#include <cstdio>
#include <cstdlib>

#include "engine/scaffold/kernel_text.hpp"
#include "engine/scaffold/scaffold.hpp"
#include "engine/util/error.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::test {

std::string try_init(std::string_view text) {
  std::string space;
  try {
    const auto source = scaffold::read_source(text);
    const std::string kernel = source.kernels.empty() ? "" : source.kernels.back().name;
    space =
        scaffold::space_for(std::string(text), {.source = "fuzz.cu", .name = "", .kernel = kernel});
  } catch (const UserError&) {
    return "refused";
  }
  // What is written is YAML whatever the source holds.
  try {
    (void)YamlNode::parse(space, "fuzz.yaml").at("problem").at("arguments");
  } catch (const UserError& error) {
    std::fprintf(stderr, "%s\n%s\n", error.what(), space.c_str());
    std::abort();
  }
  return "written";
}

}  // namespace fa_tune::test
