#include "engine/report/profile.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "engine/report/json.hpp"
#include "engine/report/table.hpp"
#include "engine/report/text_format.hpp"
#include "engine/util/error.hpp"
#include "engine/util/printable.hpp"

namespace fa_tune::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kBusyPercent = 60;
constexpr double kIdlePercent = 50;
constexpr double kLaunchPercent = 50;
constexpr double kShareWidth = 40;  // columns of a bar of 100%
constexpr std::size_t kStallsShown = 6;

bool is_of_an_sm(Bottleneck resource) {
  return resource != Bottleneck::l2 && resource != Bottleneck::dram;
}

std::pair<Bottleneck, std::string> limit_and_reason(const Profile& profile) {
  if (profile.launch && *profile.launch >= kLaunchPercent)
    return {Bottleneck::launch,
            fmt::format("the launch takes {:.0f}% of the time", *profile.launch)};
  const bool idle = profile.sms_active && *profile.sms_active < kIdlePercent;
  for (const ResourceShare& share : profile.shares)
    if (share.percent >= kBusyPercent && !(idle && is_of_an_sm(share.resource)))
      return {share.resource,
              fmt::format("at {:.0f}% of its peak, the highest share of all ({:.0f}% is enough)",
                          share.percent, kBusyPercent)};
  if (idle)
    return {Bottleneck::parallelism,
            fmt::format("the SMs have work {:.0f}% of the time", *profile.sms_active)};
  std::string because = fmt::format("no part is at {:.0f}% of its peak", kBusyPercent);
  if (!profile.shares.empty())
    because += fmt::format(" (the highest is {}, {:.0f}%)", words(profile.shares.front().resource),
                           profile.shares.front().percent);
  if (!profile.stalls.empty())
    because += fmt::format("; warps wait most for {}: {}, {:.0f}% of their waiting",
                           profile.stalls.front().reason, profile.stalls.front().meaning,
                           profile.stalls.front().percent);
  return {Bottleneck::latency, because};
}

std::string bar_line(const std::string& name, double percent) {
  const auto length =
      static_cast<std::size_t>(std::lround(std::clamp(percent, 0.0, 100.0) / 100 * kShareWidth));
  return fmt::format("  {:<22}{:>4.0f}%{}{}\n", name, percent, length > 0 ? "  " : "",
                     std::string(length, '#'));
}

std::string fact(const char* label, const std::string& value) {
  return labelled("  ", label, value, 22);
}

std::string occupancy_words(const Profile& profile) {
  std::string text;
  if (profile.occupancy) text = fmt::format("{:.0f}% of an SM's warps, mean", *profile.occupancy);
  if (profile.occupancy_possible)
    text += fmt::format("{}{:.0f}%{} possible", text.empty() ? "" : "; ",
                        *profile.occupancy_possible, text.empty() ? " of an SM's warps" : "");
  if (!profile.occupancy_limited_by.empty()) text += ", limited by " + profile.occupancy_limited_by;
  return text;
}

Bottleneck limit_in(const std::string& text) {
  if (const auto limit = limit_of(text)) return *limit;
  throw std::invalid_argument("'" + text + "' is no limit");
}

Profile profile_of(const Json& json) {
  Profile profile;
  json.at("source").get_to(profile.source);
  json.at("version").get_to(profile.version);
  json.at("device").get_to(profile.device);
  json.at("device_name").get_to(profile.device_name);
  json.at("driver").get_to(profile.driver);
  json.at("time_kind").get_to(profile.time_kind);
  json.at("time_us").get_to(profile.time_us);
  json.at("clock_us").get_to(profile.clock_us);
  profile.limit = limit_in(json.at("limit").get<std::string>());
  json.at("because").get_to(profile.because);
  for (const auto& [resource, percent] : json.at("shares").items())
    profile.shares.push_back({limit_in(resource), percent.get<double>()});
  json.at("sms_active").get_to(profile.sms_active);
  json.at("launch").get_to(profile.launch);
  json.at("occupancy").get_to(profile.occupancy);
  json.at("occupancy_possible").get_to(profile.occupancy_possible);
  json.at("occupancy_limited_by").get_to(profile.occupancy_limited_by);
  json.at("registers").get_to(profile.registers);
  json.at("bank_conflicts").get_to(profile.bank_conflicts);
  json.at("stalls").get_to(profile.stalls);
  for (const auto& [name, value] : json.at("counters").items())
    profile.counters.emplace_back(name, value.get<double>());
  for (const Json& step : json.value("steps", Json::array()))
    profile.steps.push_back({step.at("step").get<std::string>(), profile_of(step)});
  return profile;
}

}  // namespace

void find_limit(Profile& profile) {
  std::ranges::stable_sort(profile.shares, std::ranges::greater{}, &ResourceShare::percent);
  std::ranges::stable_sort(profile.stalls, std::ranges::greater{}, &Stall::percent);
  std::tie(profile.limit, profile.because) = limit_and_reason(profile);
}

std::string source_words(const Profile& profile) {
  if (profile.source == "emulator")
    return fmt::format("the emulator's model of {} ({}), {}", profile.version, profile.device_name,
                       profile.time_kind);
  return fmt::format("{} {} on {} ({}), {}", profile.source, profile.version, profile.device_name,
                     profile.device, profile.time_kind);
}

std::string limit_words(const Profile& profile) {
  return words(profile.limit) + ": " + profile.because;
}

std::string profile_text(const Profile& profile) {
  std::string time = fmt::format("{} us {}", time_text(profile.time_us), profile.time_kind);
  if (profile.clock_us)
    time += fmt::format("; {} us by fa-tune's clock, launches back to back",
                        time_text(profile.clock_us));
  std::string text = fact("limited by", limit_words(profile)) + fact("time", time);
  if (const std::string held = occupancy_words(profile); !held.empty())
    text += fact("occupancy", held);
  if (profile.registers) text += fact("registers", fmt::format("{} a thread", *profile.registers));
  if (profile.bank_conflicts)
    text += fact("bank conflicts",
                 fmt::format("{:.0f}% of the accesses to shared memory", *profile.bank_conflicts));
  for (std::size_t i = 0; i < profile.steps.size(); ++i) {
    const auto& [name, step] = profile.steps[i];
    text += fact(fmt::format("step {}", i + 1).c_str(),
                 fmt::format("{}: {} us; {}", name, time_text(step.time_us), limit_words(step)));
  }
  text += fmt::format("of its peak, {}:\n", profile.time_kind);
  for (const ResourceShare& share : profile.shares)
    text += bar_line(words(share.resource), share.percent);
  if (profile.sms_active) text += bar_line("(SMs that have work)", *profile.sms_active);
  if (profile.launch) text += bar_line("(the launch, of time)", *profile.launch);
  if (profile.stalls.empty()) return text;
  text += "of the time that warps wait:\n";
  for (std::size_t i = 0; i < std::min(profile.stalls.size(), kStallsShown); ++i) {
    const Stall& stall = profile.stalls[i];
    if (stall.percent < 0.5) break;
    text += fmt::format("  {:<22}{:>4.0f}%  {}\n", stall.reason, stall.percent, stall.meaning);
  }
  return text;
}

void to_json(Json& json, const Stall& stall) {
  json = {{"reason", stall.reason}, {"meaning", stall.meaning}, {"percent", stall.percent}};
}

void from_json(const Json& json, Stall& stall) {
  json.at("reason").get_to(stall.reason);
  json.at("meaning").get_to(stall.meaning);
  json.at("percent").get_to(stall.percent);
}

Json profile_json(const Profile& profile) {
  Json shares = Json::object();
  for (const ResourceShare& share : profile.shares) shares[to_text(share.resource)] = share.percent;
  Json counters = Json::object();
  for (const auto& [name, value] : profile.counters) counters[name] = value;
  Json json = {{"source", profile.source},
               {"version", profile.version},
               {"device", profile.device},
               {"device_name", profile.device_name},
               {"driver", profile.driver},
               {"time_kind", profile.time_kind},
               {"time_us", profile.time_us},
               {"clock_us", profile.clock_us},
               {"limit", to_text(profile.limit)},
               {"because", profile.because},
               {"shares", std::move(shares)},
               {"sms_active", profile.sms_active},
               {"launch", profile.launch},
               {"occupancy", profile.occupancy},
               {"occupancy_possible", profile.occupancy_possible},
               {"occupancy_limited_by", profile.occupancy_limited_by},
               {"registers", profile.registers},
               {"bank_conflicts", profile.bank_conflicts},
               {"stalls", profile.stalls},
               {"counters", std::move(counters)}};
  for (const auto& [name, step] : profile.steps) {
    Json& one = json["steps"].emplace_back(Json{{"step", name}});
    one.update(profile_json(step));
  }
  return json;
}

Profile read_profile(const std::string& text, const std::string& where) {
  try {
    return profile_of(Json::parse(text));
  } catch (const std::exception& error) {
    throw UserError(where + ": is no profile as 'fa-tune profile' writes it: " +
                    printable(error.what(), kLongestReason));
  }
}

}  // namespace fa_tune::report
