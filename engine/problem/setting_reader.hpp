#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/yaml/value.hpp"

namespace fa_tune::problem {

// Takes a problem's settings by name, one kind of value each, and complains about those that nobody
// asked for. Every complaint is a UserError of one line: the place, the problem's kind, the
// setting, what was expected.
class SettingReader {
 public:
  // `where` is put before every message; `kind` follows it.
  SettingReader(const std::vector<std::pair<std::string, Value>>& settings, std::string where,
                std::string kind);

  [[noreturn]] void fail(const std::string& what) const;

  bool has(const std::string& name) const { return settings_.contains(name); }

  // Nothing, or `otherwise`, where it is not given.
  std::optional<std::int64_t> integer(const std::string& name, std::int64_t least,
                                      std::int64_t most);
  std::int64_t required_integer(const std::string& name, std::int64_t least, std::int64_t most);
  // A whole number counts as a real one, too.
  double number(const std::string& name, double least, double otherwise);
  bool flag(const std::string& name, bool otherwise);
  // One of `choices`; the first where it is not given.
  std::string choice(const std::string& name, const std::vector<std::string>& choices);

  // The last call: whatever was not asked for is unknown.
  void expect_all_taken() const;

 private:
  const Value* take(const std::string& name);

  std::string where_;
  std::map<std::string, Value> settings_;
  std::set<std::string> asked_;
};

}  // namespace fa_tune::problem
