#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "tools/bench/emulator/clock/clock.hpp"

namespace fa_tune::bench {
namespace {

// Products of Q with K and of P with V; half of them under a causal mask.
double flop_of(const Json& cell) {
  const double rows = cell.at("L").get<double>();
  const double all = 4 * cell.at("B").get<double>() * cell.at("H").get<double>() * rows * rows *
                     cell.at("D").get<double>();
  return cell.at("causal").get<bool>() ? all / 2 : all;
}

std::string shape_of(const Json& cell, const std::string& dtype) {
  const auto number = [&](const char* name) { return cell.at(name).get<std::int64_t>(); };
  return fmt::format("{},{},{},{},{}{}", number("B"), number("H"), number("L"), number("D"), dtype,
                     cell.at("causal").get<bool>() ? ",causal" : "");
}

// Older files leave out genes that came later; those had the one value that the presets give.
Json config_of(const Json& screened) {
  Json config = {{"template", screened.contains("CONSUMERS") ? "wgmma" : "mma"}};
  config.update(screened);
  return config;
}

// Shapes are parted by their length, so that neighbours in the grid fall into different halves.
const char* half_of(const Json& cell) {
  const auto length = cell.at("L").get<std::int64_t>();
  return length == 512 || length == 2048 || length == 8192 ? "set" : "others";
}

}  // namespace

Json recorded_variants(const RecordedOptions& options) {
  Json result = {{"device", ""}, {"space", options.space}, {"rows", Json::array()}};
  std::set<std::string> seen;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(options.folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("h100_") && name.ends_with(".json")) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const auto& file : files) {
    const Json cells = Json::parse(read_file(file));
    if (!cells.contains("suite")) continue;
    result["device"] = cells.at("device");
    for (const Json& cell : cells.at("rows")) {
      const Json& screened = cell.at("screened");
      std::vector<Json> rows;
      for (const Json& each : screened) {
        const Json config = config_of(each.at(1));
        if (config.at("template") != options.template_name) continue;
        const std::string shape = shape_of(cell, cells.at("dtype"));
        if (!seen.insert(shape + config.dump()).second) continue;
        rows.push_back({{"shape", shape},
                        {"half", half_of(cell)},
                        {"flop", flop_of(cell)},
                        {"median_us", each.at(0)},
                        {"config", config}});
      }
      // Evenly from the fastest to the slowest.
      const std::size_t wanted = options.per_cell == 0 ? rows.size() : options.per_cell;
      const std::size_t count = std::min(wanted, rows.size());
      for (std::size_t i = 0; i < count; ++i)
        result["rows"].push_back(rows[count == 1 ? 0 : i * (rows.size() - 1) / (count - 1)]);
    }
  }
  if (result["rows"].empty())
    throw UserError(
        fmt::format("no screened times of {} in {}", options.template_name, options.folder));
  std::stable_sort(result["rows"].begin(), result["rows"].end(), [](const Json& a, const Json& b) {
    return a.at("shape").get<std::string>() < b.at("shape").get<std::string>();
  });
  return result;
}

}  // namespace fa_tune::bench
