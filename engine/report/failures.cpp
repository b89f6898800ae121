#include "engine/report/failures.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/report/rows.hpp"
#include "engine/report/table.hpp"
#include "engine/util/printable.hpp"
#include "engine/util/shell.hpp"

namespace fa_tune::report {
namespace {

constexpr std::size_t kMostMessage = 240;

// What two messages of one cause share: "kernel.cu:12: x[3] = 0.5" and "kernel.cu:7: x[81] = 2".
std::string without_numbers(const std::string& message) {
  std::string text;
  for (const char c : message) {
    const bool digit = (c >= '0' && c <= '9') || (c == '.' && !text.empty() && text.back() == '#');
    if (!digit) {
      text += c;
    } else if (text.empty() || text.back() != '#') {
      text += '#';
    }
  }
  return text;
}

struct SameMessage {
  std::size_t count = 0;
  std::int64_t first = 0;
  std::string message;
};

std::size_t failed_of(const std::vector<FailureGroup>& groups) {
  std::size_t failed = 0;
  for (const FailureGroup& group : groups) failed += group.count;
  return failed;
}

}  // namespace

std::vector<FailureGroup> failure_groups(const std::vector<db::TrialRow>& trials) {
  std::map<std::pair<std::string, std::string>, std::map<std::string, SameMessage>> reasons;
  for (const db::TrialRow& trial : trials) {
    if (trial.outcome != Outcome::failed) continue;
    SameMessage& same = reasons[{trial.stage, trial.finding}][without_numbers(trial.message)];
    if (same.count++ == 0) {
      same.first = trial.id;
      same.message = trial.message;
    }
  }
  std::vector<FailureGroup> groups;
  for (const auto& [reason, messages] : reasons) {
    FailureGroup group;
    group.stage = reason.first;
    group.finding = reason.second;
    const SameMessage* commonest = nullptr;
    for (const auto& [text, same] : messages) {
      group.count += same.count;
      if (commonest == nullptr ||
          std::tuple(same.count, -same.first) > std::tuple(commonest->count, -commonest->first))
        commonest = &same;
    }
    group.example = commonest->first;
    group.message = commonest->message;
    groups.push_back(std::move(group));
  }
  std::ranges::stable_sort(groups, std::greater{}, &FailureGroup::count);
  return groups;
}

std::string failures_text(const db::RunRow& run, std::size_t trials,
                          const std::vector<FailureGroup>& groups, const std::string& db) {
  std::string text = paragraph(fmt::format("run {}, {}", run.id, context_text(run)));
  if (groups.empty()) return text + fmt::format("None of {} trials failed.\n", trials);
  Table table({{"count", Align::right},
               {"stage", Align::left},
               {"finding", Align::left},
               {"trial", Align::right},
               {"message of that trial", Align::wrap}});
  for (const FailureGroup& group : groups) {
    table.add({std::to_string(group.count), group.stage, group.finding,
               std::to_string(group.example), printable(group.message, kMostMessage)});
  }
  return text + fmt::format("{} of {} trials failed\n\n", failed_of(groups), trials) +
         table.text() +
         fmt::format("\nAll about one of them: {} show {} --db {}\n", program_name(),
                     groups.front().example, shell_word(db));
}

std::string failures_json(const db::RunRow& run, std::size_t trials,
                          const std::vector<FailureGroup>& groups) {
  nlohmann::ordered_json reasons = nlohmann::ordered_json::array();
  for (const FailureGroup& group : groups) {
    reasons.push_back({{"stage", group.stage},
                       {"finding", group.finding},
                       {"count", group.count},
                       {"example", group.example},
                       {"message", group.message}});
  }
  const nlohmann::ordered_json json = {{"run", run.id},
                                       {"trials", trials},
                                       {"failed", failed_of(groups)},
                                       {"reasons", std::move(reasons)}};
  return json.dump(2) + "\n";
}

std::string common_failures(const db::RunRow& run, std::size_t trials,
                            const std::vector<FailureGroup>& groups, const std::string& db) {
  if (groups.empty()) return {};
  std::string text = fmt::format("\n{} of {} trials failed{}:\n", failed_of(groups), trials,
                                 groups.size() > 2 ? ", most of them for these reasons" : "");
  const auto shown = std::span(groups).first(std::min<std::size_t>(groups.size(), 2));
  std::size_t longest = 0;
  for (const FailureGroup& group : shown) longest = std::max(longest, group.stage.size());
  for (const FailureGroup& group : shown)
    text += labelled("  ", fmt::format("{:>5} at {}", group.count, group.stage),
                     fmt::format("{}, as trial {}: {}", group.finding, group.example,
                                 printable(group.message, kMostMessage)),
                     11 + longest);
  return text + fmt::format("  all reasons: {} failures --run {} --db {}\n", program_name(), run.id,
                            shell_word(db));
}

}  // namespace fa_tune::report
