#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/space/space.hpp"
#include "engine/yaml/value.hpp"

namespace fa_tune {

// All names a manifest's expression may use for one config: its parameters, constants, and the
// derived values, computed in order when this is made. A derived value that mentions a name without
// a value has none itself. `config` and `constants` must outlive this.
class DerivedScope {
 public:
  // Throws UserError where an expression cannot be evaluated.
  DerivedScope(const Config& config, const Constants& constants,
               const std::vector<Derived>& derived);

  DerivedScope(const Config& config, Constants&& temporary,
               const std::vector<Derived>& derived) = delete;

  const Value* find(const std::string& name) const;
  Expression::Scope lookup() const {
    return [this](const std::string& name) { return find(name); };
  }

 private:
  const Config& config_;
  const Constants& constants_;
  std::map<std::string, Value> values_;
};

}  // namespace fa_tune
