#include "engine/community/replay/trace.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "engine/util/error.hpp"
#include "engine/util/gzip.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::community {
namespace {

constexpr std::array<std::string_view, 7> kColumns = {"tuner", "table",   "seed",      "evaluation",
                                                      "key",   "time_ms", "elapsed_ms"};
enum Column { tuner, table, seed, evaluation, key, time_ms, elapsed_ms };

class TraceReader {
 public:
  TraceReader(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}

  std::vector<TunerTraces> run() {
    if (next_row() != std::vector<std::string>(kColumns.begin(), kColumns.end()))
      fail(fmt::format("expected the columns {}", fmt::join(kColumns, ",")));
    while (at_ < text_.size()) {
      const auto row = next_row();
      if (row.size() != kColumns.size())
        fail(fmt::format("expected {} fields, found {}", kColumns.size(), row.size()));
      take(row);
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw UserError(fmt::format("{}:{}: {}", file_, line_, message));
  }

  std::vector<std::string> next_row() {
    ++line_;
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    std::string_view line = text_.substr(at_, end - at_);
    at_ = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"')
        quoted = !quoted;
      else if (c == ',' && !quoted)
        fields.emplace_back();
      else
        fields.back() += c;
    }
    return fields;
  }

  double number(const std::string& field, Column column) const {
    double value = 0;
    const auto result = std::from_chars(field.data(), field.data() + field.size(), value);
    if (result.ec != std::errc{} || result.ptr != field.data() + field.size() ||
        !std::isfinite(value) || value < 0)
      fail(fmt::format("{}: expected a number, found {}", kColumns.at(column), quote_text(field)));
    return value;
  }

  void take(const std::vector<std::string>& row) {
    Step step;
    step.evaluation = static_cast<std::size_t>(number(row[evaluation], evaluation));
    step.elapsed_ms = number(row[elapsed_ms], elapsed_ms);
    if (!row[time_ms].empty()) step.time_ms = number(row[time_ms], time_ms);
    Trace& trace = trace_of(row);
    if (!trace.empty() &&
        (step.evaluation <= trace.back().evaluation || step.elapsed_ms < trace.back().elapsed_ms))
      fail(fmt::format("seed {}: evaluation and elapsed_ms must grow within a run", row[seed]));
    trace.push_back(step);
  }

  Trace& trace_of(const std::vector<std::string>& row) {
    const auto [group, is_new] =
        groups_.try_emplace(std::tuple(row[tuner], row[table]), result_.size());
    if (is_new) result_.push_back({row[tuner], row[table], {}});
    auto& runs = result_[group->second].runs;
    const auto [run, is_first] =
        runs_.try_emplace(std::tuple(row[tuner], row[table], row[seed]), runs.size());
    if (is_first) runs.emplace_back();
    return runs[run->second];
  }

  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
  int line_ = 0;
  std::vector<TunerTraces> result_;
  std::map<std::tuple<std::string, std::string>, std::size_t> groups_;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> runs_;
};

}  // namespace

std::vector<TunerTraces> read_traces(const std::filesystem::path& path) {
  const PackedText packed = read_packed(path);
  if (packed.cut) throw UserError(path.string() + ": the compressed file is cut short");
  return TraceReader(packed.text, path.string()).run();
}

}  // namespace fa_tune::community
