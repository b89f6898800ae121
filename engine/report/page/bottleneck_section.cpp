#include <algorithm>

#include <fmt/core.h>

#include "engine/report/insights.hpp"
#include "engine/report/page/markup.hpp"
#include "engine/report/page/sections.hpp"
#include "engine/report/profile.hpp"
#include "engine/report/text_format.hpp"

namespace fa_tune::report {
namespace {

constexpr std::size_t kMostStalls = 4;

std::string percent_text(double percent) { return fmt::format("{:.0f}%", percent); }

std::string shares_table(const Profile& profile) {
  std::vector<std::vector<std::string>> rows = {{"part", "of its peak, " + profile.time_kind}};
  for (const ResourceShare& share : profile.shares)
    rows.push_back({words(share.resource), percent_text(share.percent)});
  if (profile.sms_active) rows.push_back({"SMs that have work", percent_text(*profile.sms_active)});
  return table_markup(rows);
}

std::string stalls_table(const Profile& profile) {
  std::vector<std::vector<std::string>> rows = {
      {"what warps wait for", "of their waiting, " + profile.time_kind}};
  for (const Stall& stall : profile.stalls)
    if (rows.size() <= kMostStalls && stall.percent >= 1)
      rows.push_back({stall.reason + ": " + stall.meaning, percent_text(stall.percent)});
  return rows.size() > 1 ? table_markup(rows) : "";
}

// One profile, whole.
std::string profile_markup(const db::ProfileRow& row) {
  const Profile profile = read_profile(row.profile_json, fmt::format("trial {}", row.trial));
  return text_element("p", fmt::format("Trial {}, {} us, by {}: limited by {}.", row.trial,
                                       time_text(profile.time_us), source_words(profile),
                                       limit_words(profile))) +
         shares_table(profile) + stalls_table(profile);
}

}  // namespace

// The winner's profiles with all they have, the other trials' in a line each.
std::string bottleneck_section(const RunFacts& facts) {
  std::string body;
  std::vector<db::ProfileRow> others;
  for (const db::ProfileRow& row : facts.profiles) {
    if (facts.winner && row.trial == facts.winner->id)
      body += profile_markup(row);
    else
      others.push_back(row);
  }
  std::string list;
  for (const std::string& line : profile_lines(others)) list += text_element("li", line);
  if (!list.empty())
    body += element("details", text_element("summary", fmt::format("Profiles of other trials: {}",
                                                                   others.size())) +
                                   element("ul", list));
  return body.empty() ? "" : section("limits", "What limits it", body);
}

}  // namespace fa_tune::report
