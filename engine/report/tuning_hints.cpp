#include "engine/report/tuning_hints.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "engine/report/json.hpp"
#include "engine/report/table.hpp"

namespace fa_tune::report {
namespace {

using Json = nlohmann::ordered_json;

// Of each gene, tried or not.
constexpr int kOptionsShown = 2;

std::string change_words(const TuningHint& move, const HintOption& option) {
  std::string text =
      fmt::format("{} -> {}", fa_tune::to_text(move.value), fa_tune::to_text(option.value));
  if (!option.also.empty()) text += ", with it " + changes_text(option.also);
  return text;
}

std::string known_words(const HintOption& option) {
  if (option.trial) {
    if (option.ratio) return fmt::format("tried, trial {}: {:.3f}", *option.trial, *option.ratio);
    return fmt::format("tried, trial {}: {}{}", *option.trial, option.outcome,
                       option.finding.empty() ? "" : ", " + option.finding);
  }
  if (option.trials == 0) return "not tried; no trial of the run has this value";
  std::string text = fmt::format("not tried; {} of {} trials with this value passed", option.passed,
                                 option.trials);
  if (option.best_ratio) text += fmt::format(", the fastest {:.3f}", *option.best_ratio);
  return text;
}

}  // namespace

std::string next_moves_text(const TuningHints& next) {
  const std::string limit = words(next.limit);
  if (!next.known) return "to try: the template's manifest does not say what its genes move\n";
  if (next.moves.empty())
    return fmt::format("to try: no gene of the template is known to move {}\n", limit);
  Table table({{"gene", Align::left},
               {"to try", Align::wrap},
               {"what this run knows of it, as a multiple of this trial's time", Align::wrap}});
  bool some = false;
  for (const TuningHint& move : next.moves) {
    int fresh = 0;
    int tried = 0;
    for (const HintOption& option : move.options) {
      if ((option.trial ? tried : fresh)++ >= kOptionsShown) continue;
      table.add({move.gene, change_words(move, option), known_words(option)});
      some = true;
    }
  }
  std::string genes;
  for (const TuningHint& move : next.moves)
    if (move.options.empty())
      genes += fmt::format("{}{} ({})", genes.empty() ? "" : ", ", move.gene,
                           fa_tune::to_text(move.value));
  std::string text = paragraph(fmt::format(
      "to try, since {} limits it: genes that move that, by what the template says of them; "
      "whether they help is not known",
      limit));
  if (some) text += table.text();
  if (!genes.empty()) {
    text += some ? "no other valid value in the space: " : "";
    text += genes + '\n';
  }
  return text;
}

void to_json(Json& json, const HintOption& option) {
  json = {{"value", option.value},
          {"also", option.also},
          {"config", option.config},
          {"trial", option.trial},
          {"outcome", word_json(option.outcome)},
          {"finding", word_json(option.finding)},
          {"ratio", option.ratio},
          {"trials", option.trials},
          {"passed", option.passed},
          {"best_ratio", option.best_ratio}};
}

void to_json(Json& json, const TuningHint& move) {
  json = {{"gene", move.gene}, {"value", move.value}, {"options", move.options}};
}

}  // namespace fa_tune::report
