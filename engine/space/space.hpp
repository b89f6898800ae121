#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/base/value.hpp"
#include "engine/space/expression.hpp"

namespace fa_tune {

// One gene: a name and the values it may take. With `when`, it exists only where that is true.
struct Parameter {
  std::string name;
  std::vector<Value> values;
  std::optional<Expression> when;
  Mark mark;
};

// A value computed from parameters, constants and earlier derived values. It exists where all it
// mentions exists and, if `only_for` is not empty, where the parameter `template` has that value.
struct Derived {
  std::string name;
  Expression expression;
  std::string only_for;
};

// Must be true of every valid config; does not apply where a name it mentions does not exist, nor
// for another template than `only_for`.
struct Constraint {
  Expression expression;
  std::string because;  // a person's reason, may be empty
  std::string only_for;
};

struct Preset {
  std::string name;
  Config config;
  Mark mark;
};

// The parts a space is built from; see space_file.hpp for the YAML that gives them.
struct SpaceParts {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<Derived> derived;
  std::vector<Constraint> constraints;
  std::vector<Preset> presets;
  Constants constants;  // full dotted names: "device.sms", "problem.Lq"
};

// All valid configs of a space, listed once when it is built, so that counting, indexing and
// membership are exact. Knows nothing of CUDA. Immutable, safe to share between threads.
class Space {
 public:
  // Throws UserError: a constraint that names nothing, a preset that is not valid (with the
  // constraint it breaks), a space without one valid config (with the constraint that refuses most),
  // or one with more valid configs than `limit`.
  static Space build(SpaceParts parts, std::uint64_t limit = 20'000'000);

  const SpaceParts& parts() const { return parts_; }
  std::uint64_t count() const;           // valid configs
  double cartesian() const;              // product of the value counts, valid or not
  Config at(std::uint64_t index) const;  // 0..count()-1
  std::optional<std::uint64_t> index_of(const Config& config) const;
  // Uniform over the valid configs.
  Config sample(Random& random) const;
  // Every valid config that differs in one gene (or in one gene and those that appear or vanish
  // with it), in a stable order.
  std::vector<Config> neighbors(const Config& config) const;
  // The valid config with the most genes equal to `wish` (any values, valid or not); ties by
  // `random`.
  Config nearest(const Config& wish, Random& random) const;
  // The derived values of a config, by name.
  Constants derived(const Config& config) const;
  // A preset by name, or nullptr.
  const Preset* preset(const std::string& name) const;
  // Why a config is not valid, in one line; nothing if it is.
  std::optional<std::string> why_invalid(const Config& config) const;
  // SHA-256 over parameters, derived values, constraints and constants: two runs may share what they
  // learned if this is equal.
  const std::string& hash() const { return hash_; }

 private:
  SpaceParts parts_;
  std::string hash_;
  // Each valid config as one digit a parameter (position in Parameter::values, 255 where inactive).
  std::vector<std::uint8_t> digits_;
  std::unordered_map<std::string, std::uint64_t> index_;
};

}  // namespace fa_tune
