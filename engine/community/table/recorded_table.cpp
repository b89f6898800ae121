#include "engine/community/table/recorded_table.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "engine/community/table/recorded_config.hpp"
#include "engine/util/error.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::community {

space::Space RecordedTable::space() const {
  space::SpaceParts parts;
  parts.name = name;
  parts.parameters = parameters;
  std::vector<space::Genome> members;
  members.reserve(entries.size());
  for (const TableEntry& entry : entries) members.push_back(entry.genome);
  return space::Space::of_list(std::move(parts), std::move(members));
}

const TableEntry* RecordedTable::find(const space::Genome& genome) const {
  const auto found = std::ranges::lower_bound(entries, genome, {}, &TableEntry::genome);
  return found == entries.end() || found->genome != genome ? nullptr : &*found;
}

namespace {

enum class Kind { boolean, integer, real, text };

Kind kind_of(const Json& value) {
  if (value.is_boolean()) return Kind::boolean;
  if (value.is_number_float()) return Kind::real;
  // What is beyond 64 bits with a sign is kept as a real number.
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return Kind::real;
  if (value.is_number_integer()) return Kind::integer;
  return Kind::text;
}

// The narrowest kind that holds both.
Kind common(Kind a, Kind b) {
  if (a == b) return a;
  if (a == Kind::text || b == Kind::text) return Kind::text;
  return std::max(a, b);
}

Value convert(const Json& value, Kind kind) {
  if (kind == Kind::boolean) return value.get<bool>();
  if (kind == Kind::integer)
    return value.is_boolean() ? std::int64_t{value.get<bool>()} : value.get<std::int64_t>();
  if (kind == Kind::real)
    return value.is_boolean() ? double(value.get<bool>()) : value.get<double>();
  if (value.is_null()) return std::string("None");
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// The values of one parameter while they are collected.
struct Column {
  space::Parameter parameter;
  Kind kind = Kind::boolean;
  std::map<Value, space::Gene> digits;

  void add(const Value& value) {
    if (digits.try_emplace(value, static_cast<space::Gene>(parameter.values.size())).second)
      parameter.values.push_back(value);
  }
};

class Settling {
 public:
  Settling(RecordedTable& table, const std::string& file) : table_(table), file_(file) {}

  void run(const DeclaredParameters& declared, std::vector<RecordedConfig>& configs) {
    name_columns(declared, configs);
    complete(configs);
    choose_kinds(declared, configs);
    collect_values(declared, configs);
    for (RecordedConfig& config : configs) add_entry(config);
    sort_entries();
    for (Column& column : columns_) table_.parameters.push_back(std::move(column.parameter));
  }

 private:
  void name_columns(const DeclaredParameters& declared,
                    const std::vector<RecordedConfig>& configs) {
    std::vector<std::string> names;
    for (const auto& [name, values] : declared) names.push_back(name);
    if (declared.empty()) names = names_in(configs);
    for (std::string& name : names) {
      positions_[name] = columns_.size();
      columns_.push_back({{std::move(name), {}, {}, {file_, 0, 0}}, Kind::boolean, {}});
    }
  }

  static std::vector<std::string> names_in(const std::vector<RecordedConfig>& configs) {
    std::vector<std::string> names;
    for (const RecordedConfig& config : configs)
      for (const auto& [name, value] : config.values)
        if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    return names;
  }

  std::size_t position_of(const std::string& name) const {
    const auto found = positions_.find(name);
    if (found == positions_.end())
      throw UserError(fmt::format("{}: a config has {}, which is not among the table's parameters",
                                  file_, quote_text(name)));
    return found->second;
  }

  // Where a config lacks a parameter that others have, it has None.
  void complete(std::vector<RecordedConfig>& configs) const {
    for (RecordedConfig& config : configs) {
      if (config.values.size() == columns_.size()) continue;
      for (const Column& column : columns_) {
        const std::string& name = column.parameter.name;
        if (std::ranges::find(config.values, name, &std::pair<std::string, Json>::first) ==
            config.values.end())
          config.values.emplace_back(name, nullptr);
      }
    }
  }

  void choose_kinds(const DeclaredParameters& declared,
                    const std::vector<RecordedConfig>& configs) {
    std::vector<std::optional<Kind>> kinds(columns_.size());
    const auto widen = [&](std::size_t at, const Json& value) {
      const Kind kind = kind_of(value);
      kinds[at] = kinds[at] ? common(*kinds[at], kind) : kind;
    };
    for (std::size_t i = 0; i < declared.size(); ++i)
      for (const Json& value : declared[i].second) widen(i, value);
    for (const RecordedConfig& config : configs)
      for (const auto& [name, value] : config.values) widen(position_of(name), value);
    for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i].kind = *kinds[i];
  }

  void collect_values(const DeclaredParameters& declared,
                      const std::vector<RecordedConfig>& configs) {
    for (std::size_t i = 0; i < declared.size(); ++i)
      for (const Json& value : declared[i].second)
        columns_[i].add(convert(value, columns_[i].kind));
    std::vector<std::vector<Value>> others(columns_.size());
    for (const RecordedConfig& config : configs)
      for (const auto& [name, value] : config.values) {
        const std::size_t at = position_of(name);
        Value converted = convert(value, columns_[at].kind);
        if (!columns_[at].digits.contains(converted)) others[at].push_back(std::move(converted));
      }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      // Text has no order of its own: it stays as it was met.
      if (columns_[i].kind != Kind::text) std::ranges::sort(others[i]);
      for (const Value& value : others[i]) columns_[i].add(value);
    }
  }

  void add_entry(RecordedConfig& config) {
    TableEntry entry;
    entry.genome.resize(columns_.size());
    std::vector<Value> values(columns_.size());
    for (const auto& [name, value] : config.values) {
      const std::size_t at = position_of(name);
      values[at] = convert(value, columns_[at].kind);
      entry.genome[at] = columns_[at].digits.at(values[at]);
    }
    entry.key = std::move(config.key);
    if (entry.key.empty())
      for (const Value& value : values)
        entry.key += (entry.key.empty() ? "" : ",") + python_text(value);
    entry.time_ms = config.time_ms;
    entry.cost_ms = config.cost_ms;
    entry.failure = config.failure;
    entry.samples = config.samples;
    table_.entries.push_back(std::move(entry));
  }

  void sort_entries() {
    auto& entries = table_.entries;
    // Stable and from the back, so that of equal genomes the last recorded comes first.
    std::ranges::reverse(entries);
    std::ranges::stable_sort(entries, {}, &TableEntry::genome);
    const auto rest = std::ranges::unique(entries, {}, &TableEntry::genome);
    entries.erase(rest.begin(), rest.end());
  }

  RecordedTable& table_;
  const std::string& file_;
  std::vector<Column> columns_;
  std::map<std::string, std::size_t> positions_;
};

}  // namespace

void settle(RecordedTable& table, const DeclaredParameters& declared,
            std::vector<RecordedConfig> configs, const std::string& file) {
  Settling(table, file).run(declared, configs);
}

std::string python_text(const Value& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "True" : "False";
  return to_text(value);
}

}  // namespace fa_tune::community
