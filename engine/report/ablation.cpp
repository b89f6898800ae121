#include "engine/report/ablation.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "engine/report/json.hpp"
#include "engine/report/rows.hpp"
#include "engine/report/table.hpp"
#include "engine/report/text_format.hpp"
#include "engine/util/error.hpp"
#include "engine/util/json_limits.hpp"
#include "engine/util/printable.hpp"

namespace fa_tune::report {
namespace {

using Json = nlohmann::ordered_json;

// In the order of the enumeration.
constexpr std::array kKinds = {"baseline", "back", "pair", "other", "forward"};

std::string value_text(const std::optional<Value>& value) {
  return value ? fa_tune::to_text(*value) : "none";
}

std::string interval(const Interval& ratio) {
  const auto low = known_end(ratio.low), high = known_end(ratio.high);
  if (!low && !high) return "-";
  return fmt::format("[{:.4f}, {:.4f}]", low.value_or(0), ratio.high);
}

std::string change_text(const AblationRow& row) {
  if (row.kind == AblationKind::baseline) return "all of its genes";
  return changes_text(row.wanted) + (row.also.empty() ? "" : "; with it " + changes_text(row.also));
}

std::string note(const AblationRow& row) {
  if (row.outcome == "impossible") return row.because;
  if (row.outcome == "failed")
    return row.rejection.finding +
           (row.rejection.message.empty() ? "" : ": " + row.rejection.message);
  if (row.outcome == "same") return "the very same machine code";
  if (row.outcome == "unraced") return "the clock never kept still in its race";
  if (!row.product || row.interaction.empty()) return "";
  const std::string beside = row.interaction == "as expected"
                                 ? "as expected of the two: "
                                 : row.interaction + " than the two apart: ";
  return beside + fmt::format("{:.4f} ", row.product->value) +
         (known_end(row.product->low) ? interval(*row.product) : "");
}

struct Section {
  AblationKind kind;
  const char* title;
};

constexpr Section kSections[] = {
    {AblationKind::baseline, "The whole baseline"},
    {AblationKind::back, "One gene as the baseline has it"},
    {AblationKind::pair, "Two genes as the baseline has them"},
    {AblationKind::other, "Genes that both have alike: the best of their other values"},
    {AblationKind::forward,
     "The other way: the baseline with one gene of the trial, beside the baseline"},
};

std::string section_text(const Section& section, const std::vector<const AblationRow*>& rows,
                         const std::string& time_kind) {
  const bool measured = time_kind == "measured";
  const bool notes =
      std::ranges::any_of(rows, [](const AblationRow* row) { return !note(*row).empty(); });
  std::vector<TableColumn> columns = {
      {"change", Align::wrap}, {time_kind + " us", Align::right}, {"ratio", Align::right}};
  if (measured) columns.push_back({"interval", Align::right});
  columns.push_back({"verdict"});
  if (notes) columns.push_back({"note", Align::wrap});
  Table table(columns);
  for (const AblationRow* row : rows) {
    std::vector<std::string> cells = {change_text(*row), time_text(row->time_us),
                                      row->ratio ? fmt::format("{:.4f}", row->ratio->value) : "-"};
    if (measured) cells.push_back(row->ratio ? interval(*row->ratio) : "-");
    cells.push_back(row->verdict.empty() ? row->outcome : row->verdict);
    if (notes) cells.push_back(note(*row));
    table.add(std::move(cells));
  }
  return fmt::format("\n{}\n{}", section.title, table.text());
}

AblationKind kind_of(const std::string& text) {
  const auto found = std::ranges::find(kKinds, text);
  if (found == kKinds.end()) throw UserError("'" + text + "' is no kind of row");
  return static_cast<AblationKind>(found - kKinds.begin());
}

// Older files have other words for two of them.
std::string outcome_word(const std::string& word) {
  if (word == "right") return "passed";
  return word == "refused" ? "failed" : word;
}

}  // namespace

std::string changes_text(const std::vector<GeneChange>& changes) {
  std::string text;
  for (const GeneChange& change : changes)
    text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", change.gene,
                        value_text(change.from), value_text(change.to));
  return text.empty() ? "-" : text;
}

std::string to_text(AblationKind kind) { return kKinds.at(static_cast<std::size_t>(kind)); }

std::vector<const AblationRow*> best_others(const Ablation& ablation) {
  std::vector<const AblationRow*> best;
  for (const AblationRow& row : ablation.rows) {
    if (row.kind != AblationKind::other) continue;
    const auto known = std::ranges::find_if(best, [&](const AblationRow* other) {
      return other->wanted.front().gene == row.wanted.front().gene;
    });
    if (known == best.end())
      best.push_back(&row);
    else if (row.ratio && (!(*known)->ratio || row.ratio->value < (*known)->ratio->value))
      *known = &row;
  }
  std::ranges::stable_sort(best, [](const AblationRow* one, const AblationRow* other) {
    if (!one->ratio || !other->ratio) return one->ratio.has_value() && !other->ratio;
    return one->ratio->value > other->ratio->value;
  });
  return best;
}

std::string baseline_words(const Ablation& ablation) {
  return ablation.baseline_trial != 0 ? ablation.baseline + ", the run's first that passed"
                                      : "the preset " + ablation.baseline;
}

std::string ablation_text(const Ablation& ablation, const db::RunRow& run) {
  std::string text = paragraph(
      fmt::format("Ablation of trial {}, {:.4g} us {} on {}, beside {}. Run {}: {} {}",
                  ablation.trial, ablation.time_us, ablation.time_kind, ablation.device_name,
                  baseline_words(ablation), run.id, run.problem, settings_text(run.shape_json)));
  text += paragraph(
      ablation.time_kind == "measured"
          ? "A ratio is of the variant's time to the trial's, raced: above 1 the trial's gene "
            "is the better one. Intervals hold together at 95%; less than 0.25% is a tie."
          : "A ratio is of predicted times, the variant's to the trial's; nothing was "
            "measured, so there are no intervals. Less than 0.25% is a tie.");
  for (const Section& section : kSections) {
    std::vector<const AblationRow*> rows;
    if (section.kind == AblationKind::other) {
      rows = best_others(ablation);
    } else {
      for (const AblationRow& row : ablation.rows)
        if (row.kind == section.kind) rows.push_back(&row);
    }
    if (!rows.empty()) text += section_text(section, rows, ablation.time_kind);
  }
  if (ablation.rows.empty()) text += "\nThe trial is the baseline itself: no gene differs.\n";
  return text;
}

void to_json(Json& json, const GeneChange& change) {
  json = {{"gene", change.gene}, {"from", change.from}, {"to", change.to}};
}

void from_json(const Json& json, GeneChange& change) {
  json.at("gene").get_to(change.gene);
  json.at("from").get_to(change.from);
  json.at("to").get_to(change.to);
}

void to_json(Json& json, const AblationRow& row) {
  json = {{"kind", to_text(row.kind)},
          {"wanted", row.wanted},
          {"also", row.also},
          {"because", word_json(row.because)},
          {"config", row.config},
          {"outcome", row.outcome},
          {"finding", word_json(row.rejection.finding)},
          {"message", word_json(row.rejection.message)},
          {"time_us", row.time_us},
          {"ratio", row.ratio},
          {"verdict", word_json(row.verdict)},
          {"blocks", row.blocks},
          {"product", row.product},
          {"interaction", word_json(row.interaction)}};
}

void from_json(const Json& json, AblationRow& row) {
  row.kind = kind_of(json.at("kind").get<std::string>());
  json.at("wanted").get_to(row.wanted);
  json.at("also").get_to(row.also);
  row.because = word_of(json.at("because"));
  json.at("config").get_to(row.config);
  row.outcome = outcome_word(json.at("outcome").get<std::string>());
  row.rejection.finding = word_of(json.at("finding"));
  row.rejection.message = word_of(json.at("message"));
  json.at("time_us").get_to(row.time_us);
  json.at("ratio").get_to(row.ratio);
  row.verdict = word_of(json.at("verdict"));
  json.at("blocks").get_to(row.blocks);
  json.at("product").get_to(row.product);
  row.interaction = word_of(json.at("interaction"));
}

std::string ablation_json(const Ablation& ablation, const db::RunRow& run) {
  return Json{{"trial", ablation.trial},
              {"run", run.id},
              {"space", run.space},
              {"shape", Json::parse(run.shape_json)},
              {"device", ablation.device_name},
              {"time_kind", ablation.time_kind},
              {"seed", ablation.seed},
              {"baseline", ablation.baseline},
              {"baseline_trial",
               ablation.baseline_trial != 0 ? Json(ablation.baseline_trial) : Json()},
              {"trial_config", ablation.trial_config},
              {"baseline_config", ablation.baseline_config},
              {"time_us", ablation.time_us},
              {"rows", ablation.rows}}
             .dump(2) +
         '\n';
}

Ablation read_ablation(const std::string& text, const std::string& file) {
  try {
    const Json json = require_json<Json>(text);
    Ablation ablation;
    json.at("trial").get_to(ablation.trial);
    json.at("device").get_to(ablation.device_name);
    json.at("time_kind").get_to(ablation.time_kind);
    json.at("seed").get_to(ablation.seed);
    json.at("baseline").get_to(ablation.baseline);
    // Those that were written before there was another than a preset lack it.
    if (const auto found = json.find("baseline_trial"); found != json.end() && !found->is_null())
      found->get_to(ablation.baseline_trial);
    json.at("trial_config").get_to(ablation.trial_config);
    json.at("baseline_config").get_to(ablation.baseline_config);
    json.at("time_us").get_to(ablation.time_us);
    json.at("rows").get_to(ablation.rows);
    return ablation;
  } catch (const std::exception& error) {
    throw UserError(file + ": is not what 'fa-tune ablate --format json' writes: " +
                    printable(error.what(), kLongestReason));
  }
}

}  // namespace fa_tune::report
