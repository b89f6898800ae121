#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/community/table/recorded_table.hpp"

// Private to this folder: what files record, before values have become digits.
namespace fa_tune::community {

// Ordered: the order of a file's parameters is that of its keys.
using Json = nlohmann::ordered_json;

// One recorded trial.
struct RecordedConfig {
  std::string key;  // empty in T4
  std::vector<std::pair<std::string, Json>> values;
  std::optional<double> time_ms;
  double cost_ms = 0;
  std::size_t samples = 0;
  Failure failure = Failure::none;
};

// The parameters that a file declares, with their values; empty where it declares none.
using DeclaredParameters = std::vector<std::pair<std::string, std::vector<Json>>>;

// Gives every parameter one type of value and every config its genome, and sorts the entries. Where
// a config was recorded twice the later one counts. Numbers of both kinds become real, anything
// else that does not agree becomes text; what a config lacks is the text None. Undeclared values
// are put in order behind the declared ones; without a declaration numbers are sorted.
void settle(RecordedTable& table, const DeclaredParameters& declared,
            std::vector<RecordedConfig> configs, const std::string& file);

// A value as Python's str() writes it, as in the keys of cachefiles: True, 0.5, fp16.
std::string python_text(const Value& value);

}  // namespace fa_tune::community
