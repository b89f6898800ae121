#include <algorithm>
#include <cmath>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/device/emulator/trace/counters.hpp"

namespace fa_tune::emulator {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kPageWidth = 100;
constexpr std::size_t kBarWidth = 40;
constexpr std::size_t kSourceWidth = 44;

double number(const Json& object, const char* key) { return object.value(key, 0.0); }

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

// "tensor              3.609 us  42% ################"
void add_share(std::string& text, const std::string& name, double us, double whole) {
  const double share = std::clamp(ratio(us, whole), 0.0, 1.0);
  const auto bar = static_cast<std::size_t>(std::lround(share * kBarWidth));
  text += fmt::format("  {:<16} {:>10.3f} us {:>4.0f}%{}{}\n", name, us, 100 * share,
                      bar > 0 ? "  " : "", std::string(bar, '#'));
}

void add_shares(std::string& text, const Json& parts, double whole) {
  for (const auto& [name, us] : parts.items()) {
    if (us.get<double>() > 0) add_share(text, name, us.get<double>(), whole);
  }
}

void add_counters(std::string& text, const Json& c) {
  const double instructions = number(c, "warp_instructions");
  text += fmt::format(
      "warp instructions {:.0f}: tensor {:.0f}, fma {:.0f}, half {:.0f}, alu {:.0f}, special "
      "{:.0f},\n  convert {:.0f}, shuffle {:.0f}, memory {:.0f}, control {:.0f}; branches that "
      "part a warp {:.0f}\n",
      instructions, number(c, "tensor"), number(c, "fma_f32"), number(c, "half"), number(c, "alu"),
      number(c, "special"), number(c, "convert"), number(c, "shuffle"), number(c, "load_store"),
      number(c, "control"), number(c, "divergent"));
  if (number(c, "tensor_flop") > 0)
    text += fmt::format("tensor operations {:.4g} FLOP\n", number(c, "tensor_flop"));
  const double sectors = number(c, "global_sectors_read") + number(c, "global_sectors_written");
  text += fmt::format(
      "global memory: {:.0f} requests, {:.2f} sectors of 32 bytes each; {:.4g} MB read, {:.4g} MB "
      "written;\n  {:.0f}% of the sectors read had been read by the same block\n",
      number(c, "global_requests"), ratio(sectors, number(c, "global_requests")),
      number(c, "global_sectors_read") * 32 / 1e6, number(c, "global_sectors_written") * 32 / 1e6,
      100 * ratio(number(c, "global_sectors_again"), number(c, "global_sectors_read")));
  if (number(c, "local_accesses") > 0)
    text += fmt::format("local memory: {:.0f} accesses\n", number(c, "local_accesses"));
  text += fmt::format("barriers {:.0f} a warp; asynchronous copies {:.0f}, waits for them {:.0f}\n",
                      ratio(number(c, "barriers"), number(c, "warps")), number(c, "async_copies"),
                      number(c, "async_waits"));
}

// Words in lines of at most 100 columns, each behind two spaces.
std::string broken(const std::string& words) {
  std::string text, line;
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > kPageWidth - 2) {
      text += "  " + line + '\n';
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return text + "  " + line + '\n';
}

// "interval: 10.412 to 15.120 us", and what it rests on.
std::string interval_text(const Json& detail) {
  const Json interval = detail.value("interval", Json::object());
  const std::string words = interval.value("rests_on", "");
  if (words.empty()) return {};
  const auto end = [&](const char* key) { return interval.value(key, Json()); };
  if (!end("low_us").is_number() || !end("high_us").is_number()) return broken(words);
  return fmt::format("interval: {:.3f} to {:.3f} us\n", number(interval, "low_us"),
                     number(interval, "high_us")) +
         broken(words);
}

// What kernels alike took, where that is known: "simulated 10.4 us; kernels like it took 1.07 times ...".
std::string correction_text(double us, double simulated_us) {
  if (us == simulated_us) return {};
  return fmt::format("simulated {:.3f} us: kernels like it took {:.2f} times as long as that\n",
                     simulated_us, ratio(us, simulated_us));
}

// The end of a long name says more than its beginning.
std::string shortened(const std::string& text) {
  return text.size() <= kSourceWidth ? text : ".." + text.substr(text.size() - kSourceWidth + 2);
}

void add_conflicts(std::string& text, const Json& detail, const Json& c) {
  const double wavefronts = number(c, "shared_wavefronts");
  const double excess = wavefronts - number(c, "shared_wavefronts_ideal");
  text +=
      fmt::format("shared memory: {:.0f} wavefronts, {:.0f} of them for bank conflicts ({:.0f}%)\n",
                  wavefronts, excess, 100 * ratio(excess, wavefronts));
  const Json lines = detail.value("conflicts", Json::array());
  if (lines.empty()) return;
  text +=
      fmt::format("  {:>12} {:>12} {:>8}  {}\n", "conflicts", "executions", "PTX line", "where");
  for (const Json& line : lines) {
    const std::string source = line.value("source", "");
    text += fmt::format("  {:>12.0f} {:>12.0f} {:>8}  {}\n", number(line, "excess"),
                        number(line, "executions"), line.value("ptx_line", 0),
                        shortened(source.empty() ? line.value("instruction", "") : source));
  }
}

}  // namespace

std::string counters_report(const std::string& detail_json) {
  const Json detail = Json::parse(detail_json, nullptr, false);
  if (!detail.is_object()) return {};
  const double us = number(detail, "us");
  const double simulated_us = detail.value("simulated_us", us);
  const Json held = detail.value("occupancy", Json::object());
  std::string text =
      fmt::format("bound by: {}\n", detail.value("bound_by", "unknown")) +
      fmt::format(
          "occupancy: {} blocks, {} warps an SM, limited by {}; {} blocks on the busiest SM\n",
          held.value("blocks_per_sm", 0), held.value("warps_per_sm", 0),
          held.value("limited_by", ""), held.value("blocks_on_busiest_sm", 0)) +
      interval_text(detail) + correction_text(us, simulated_us) +
      fmt::format("predicted {:.3f} us; at work in it:\n", us);
  add_share(text, "launch", number(detail, "launch_us"), simulated_us);
  add_shares(text, detail.value("units_us", Json::object()), simulated_us);
  text += "what an average warp waits for:\n";
  add_shares(text, detail.value("waits_of_a_warp_us", Json::object()), simulated_us);
  const Json counters = detail.value("counters", Json::object());
  add_counters(text, counters);
  add_conflicts(text, detail, counters);
  return text;
}

}  // namespace fa_tune::emulator
