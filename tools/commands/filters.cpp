#include "tools/commands/filters.hpp"

#include <sstream>

#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"

namespace fa_tune {
namespace {

// "H=8,Lq=512,causal=false" as the JSON object the store compares with.
std::string shape_json(const std::string& text) {
  if (text.starts_with("{")) return text;
  auto shape = nlohmann::json::object();
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == item.size())
      throw UserError("--shape '" + text + "': expected NAME=VALUE,... such as Lq=512,D=64");
    const std::string value = item.substr(equals + 1);
    const auto parsed = nlohmann::json::parse(value, nullptr, false);
    shape[item.substr(0, equals)] = parsed.is_discarded() ? nlohmann::json(value) : parsed;
  }
  return shape.dump();
}

}  // namespace

void Filters::add_to(CLI::App& command) {
  command.add_option("--db", db, "database to read")->capture_default_str();
  command.add_option("--space", filter.space, "only trials of this space");
  command.add_option("--device", filter.device,
                     "only trials of this device (cuda:0, emulator:l4, or its name)");
  command.add_option("--shape", shape, "only trials timed at this shape (Lq=512,D=64)");
  command.add_option("--run", filter.run, "only trials of this run");
  command
      .add_option("--time-kind", filter.time_kind,
                  "measured or predicted; if not given, measured where there are any")
      ->check(CLI::IsMember({"measured", "predicted"}));
}

TrialFilter Filters::resolved() const {
  TrialFilter resolved = filter;
  if (!shape.empty()) resolved.shape_json = shape_json(shape);
  return resolved;
}

}  // namespace fa_tune
