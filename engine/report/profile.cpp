#include "engine/report/profile.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "engine/report/table.hpp"
#include "engine/report/text_format.hpp"

namespace fa_tune {
namespace {

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

// A label and what it is, in as many lines as that takes.
std::string fact(std::string label, const std::string& value) {
  constexpr std::size_t kLabel = 22;
  std::string text;
  for (const std::string& part : wrap_words(value, kPageWidth - kLabel - 2)) {
    text += fmt::format("  {:<{}}{}\n", label, kLabel, part);
    label.clear();
  }
  return text;
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

}  // namespace fa_tune
