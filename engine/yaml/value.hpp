#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace fa_tune {

// What a parameter, a derived value or a constant of a problem holds. Strings are names,
// qualified or not (ns::name), wherever they go into CUDA source; those of a recorded table may be
// any text. Real numbers are finite.
using Value = std::variant<std::int64_t, bool, std::string, double>;

// "64", "true", "xor3", "0.5": for tables, messages and `#define` lines. A real number is the
// shortest text that reads back as the same one, and never looks like an integer: "2.0".
std::string to_text(const Value& value);
// 64, true, "xor3", 2.0.
std::string to_json(const Value& value);

// Named values that do not change within a run: a problem's shape ("B", "H", "Lq", ...) or a
// device's facts ("shared_per_block", ...). Ordered by name, so that texts made from it are stable.
using Constants = std::map<std::string, Value>;

std::string to_json(const Constants& constants);
// The integer called `name`; throws std::out_of_range or std::bad_variant_access for a programming
// error, since constants are made by the engine and not by the user.
std::int64_t integer(const Constants& constants, const std::string& name);

// One point of a space: the active parameters with their values, in the space's order. A parameter
// whose `when` condition is false is absent.
class Config {
 public:
  Config() = default;
  explicit Config(std::vector<std::pair<std::string, Value>> settings)
      : settings_(std::move(settings)) {}

  const std::vector<std::pair<std::string, Value>>& settings() const { return settings_; }
  const Value* find(const std::string& name) const;
  void set(const std::string& name, Value value);

  // {"template":"mma","BLOCK_M":64,...} without spaces, in order: the identity of a config.
  std::string to_json() const;
  // The inverse. Throws UserError for text that is not a flat JSON object of such values.
  static Config from_json(const std::string& text);

  friend bool operator==(const Config&, const Config&) = default;

 private:
  std::vector<std::pair<std::string, Value>> settings_;
};

}  // namespace fa_tune
