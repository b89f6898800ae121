#include "tests/fuzz/try_export.hpp"

#include <stdexcept>

#include <nlohmann/json.hpp>

#include "engine/kernel/template/template.hpp"
#include "engine/report/export.hpp"
#include "engine/source/named_files.hpp"
#include "engine/space_file/space_file.hpp"
#include "engine/util/error.hpp"
#include "engine/util/json_limits.hpp"
#include "engine/util/printable.hpp"

namespace fa_tune::test {
namespace {

std::size_t depth_of(const nlohmann::ordered_json& json) {
  std::size_t deepest = 0;
  if (json.is_structured())
    for (const auto& each : json) deepest = std::max(deepest, depth_of(each));
  return json.is_structured() ? deepest + 1 : 0;
}

void require_bounded(std::string_view text) {
  const auto json = parse_json<nlohmann::ordered_json>(text);
  if (!json.is_discarded() && depth_of(json) > kDeepestJson)
    throw std::logic_error("JSON that is too deep was read");
}

// A message is one line of text, whatever it quotes.
std::string refused(const std::string& where, const UserError& error) {
  if (message_line(error.what()).find_first_of("\n\r\x1b\x07") != std::string::npos)
    throw std::logic_error("a message with control characters");
  return where + " refused";
}

}  // namespace

std::string try_export(std::string_view text) {
  const std::string copy(text);
  require_bounded(text);
  try {
    source::refuse_foreign_files(copy, "fuzz.cu");
  } catch (const UserError& error) {
    refused("source", error);
  }
  report::Exported exported;
  try {
    exported = report::parse_exported(copy, "fuzz.cu");
  } catch (const UserError& error) {
    return refused("block", error);
  }
  if (!source::is_kernel_name(exported.kernel)) throw std::logic_error("a kernel that is no name");
  if (exported.target.find_first_of("/.") != std::string::npos)
    throw std::logic_error("a target that is a path");
  try {
    (void)kernel::Template::parse(exported.template_name, exported.manifest_text,
                                  exported.cuda_text, "fuzz.yaml");
  } catch (const UserError& error) {
    return refused("template", error);
  }
  try {
    for (const auto& [name, value] : exported.settings)
      if (name == "space" && std::holds_alternative<std::string>(value))
        (void)space::parse_space_file(std::get<std::string>(value), "fuzz.yaml");
  } catch (const UserError& error) {
    return refused("space", error);
  }
  return "read";
}

}  // namespace fa_tune::test
