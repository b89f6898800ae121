#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include <fmt/core.h>

#include "engine/profiler/ncu.hpp"
#include "engine/util/error.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::profiler {
namespace {

using CsvRow = std::vector<std::string>;

constexpr std::string_view kHeads = "\"ID\",";

[[noreturn]] void unreadable(const std::string& what) {
  throw MachineError("what Nsight Compute printed cannot be read: " + what);
}

// RFC 4180 without line feeds in fields. Throws for a quote that does not end.
CsvRow fields_of(std::string_view line) {
  CsvRow fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  if (quoted) unreadable("a quote does not end in " + quote_text(line));
  return fields;
}

// The table's rows, its heads first. It ends where lines of another kind come.
std::vector<CsvRow> table_in(std::string_view output) {
  std::vector<CsvRow> rows;
  while (!output.empty()) {
    const std::size_t feed = std::min(output.find('\n'), output.size());
    std::string_view line = output.substr(0, feed);
    output.remove_prefix(std::min(feed + 1, output.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (rows.empty() ? line.starts_with(kHeads) : line.starts_with('"'))
      rows.push_back(fields_of(line));
    else if (!rows.empty() && !line.empty() && !line.starts_with("=="))
      break;
  }
  if (rows.empty()) unreadable("it has no table that begins with " + std::string(kHeads));
  for (const CsvRow& row : rows)
    if (row.size() != rows.front().size())
      unreadable(fmt::format("a row of the table has {} fields, its heads have {}", row.size(),
                             rows.front().size()));
  return rows;
}

std::optional<std::size_t> column(const CsvRow& heads, std::string_view name) {
  const auto found = std::ranges::find(heads, name);
  if (found == heads.end()) return std::nullopt;
  return found - heads.begin();
}

std::size_t need_column(const CsvRow& heads, std::string_view name) {
  if (const auto found = column(heads, name)) return *found;
  unreadable(fmt::format("its table has no column '{}'", name));
}

// Commas stand between groups of three digits, or not at all.
bool has_fair_commas(std::string_view text) {
  const std::size_t first = text.find(',');
  if (first == std::string_view::npos) return true;
  std::string_view whole = text.substr(0, text.find('.'));
  const bool negative = whole.starts_with('-');
  if (negative) whole.remove_prefix(1);
  const std::size_t head = whole.find(',');
  if (head == 0 || head > 3) return false;
  for (std::size_t at = head; at < whole.size(); at += 4)
    if (whole[at] != ',' || whole.size() - at < 4 ||
        (whole.size() - at > 4 && whole[at + 4] != ','))
      return false;
  return text.find(',', whole.size() + (negative ? 1 : 0)) == std::string_view::npos;
}

// Nothing for a metric that there is not.
std::optional<double> number(const std::string& name, const std::string& text) {
  std::string lower = text;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (lower.empty() || lower.ends_with("n/a") || lower == "no data") return std::nullopt;
  std::string digits = text;
  std::erase(digits, ',');
  double value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc() || stop != end || !has_fair_commas(text))
    unreadable(fmt::format("{} is {}, expected a number or n/a", name, quote_text(text)));
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

using Wanted = std::span<const std::string>;

void add(NcuReport& report, const std::string& name, const std::string& unit,
         const std::string& text, Wanted wanted) {
  if (std::ranges::find(wanted, name) == wanted.end()) return;
  const auto value = number(name, text);
  if (!value) return;
  if (const NcuReport::Metric* const known = report.find(name)) {
    if (known->value == *value) return;
    unreadable(name + " is there twice, with different values");
  }
  report.metrics.push_back({name, unit, *value});
}

// A row a metric. All must be of one launch.
NcuReport read_long(const std::vector<CsvRow>& rows, Wanted wanted) {
  const CsvRow& heads = rows.front();
  const std::size_t id = need_column(heads, "ID");
  const std::size_t name = need_column(heads, "Metric Name");
  const std::size_t unit = need_column(heads, "Metric Unit");
  const std::size_t value = need_column(heads, "Metric Value");
  NcuReport report;
  std::string launch;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const CsvRow& row = rows[i];
    if (i == 1) launch = row[id];
    if (row[id] != launch) unreadable("it has more than one kernel");
    add(report, row[name], row[unit], row[value], wanted);
  }
  if (rows.size() < 2) unreadable("it has no kernel");
  return report;
}

// A column a metric: heads, units, one launch.
NcuReport read_wide(const std::vector<CsvRow>& rows, Wanted wanted) {
  const CsvRow& heads = rows.front();
  const std::size_t id = need_column(heads, "ID");
  const CsvRow* units = nullptr;
  const CsvRow* launch = nullptr;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const CsvRow*& place = rows[i][id].empty() ? units : launch;
    if (place != nullptr)
      unreadable(place == units ? "it has two rows of units" : "it has more than one kernel");
    place = &rows[i];
  }
  if (launch == nullptr) unreadable("it has no kernel");
  NcuReport report;
  for (std::size_t i = 0; i < heads.size(); ++i)
    add(report, heads[i], units == nullptr ? "" : (*units)[i], (*launch)[i], wanted);
  return report;
}

}  // namespace

const NcuReport::Metric* NcuReport::find(std::string_view name) const {
  const auto found = std::ranges::find(metrics, name, &Metric::name);
  return found == metrics.end() ? nullptr : &*found;
}

std::optional<double> NcuReport::value(std::string_view name) const {
  const Metric* metric = find(name);
  if (metric == nullptr) return std::nullopt;
  return metric->value;
}

NcuReport parse_ncu_csv(std::string_view output, Wanted wanted) {
  const auto rows = table_in(output);
  return column(rows.front(), "Metric Name") ? read_long(rows, wanted) : read_wide(rows, wanted);
}

}  // namespace fa_tune::profiler
