#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "engine/space/space.hpp"
#include "engine/util/error.hpp"

// Short ways to write the parts of a space; every mark is in s.yaml, the line counts the calls.
namespace fa_tune::test {

class PartsWriter {
 public:
  explicit PartsWriter(std::string name = "s") { parts_.name = std::move(name); }

  PartsWriter& parameter(const std::string& name, std::vector<Value> values,
                         const std::string& when = "") {
    space::Parameter parameter{name, std::move(values), std::nullopt, mark()};
    if (!when.empty()) parameter.when = expression::Expression::parse(when, parameter.mark);
    parts_.parameters.push_back(std::move(parameter));
    return *this;
  }
  PartsWriter& parameter(const std::string& name, std::initializer_list<int> values,
                         const std::string& when = "") {
    std::vector<Value> list;
    for (const int value : values) list.emplace_back(std::int64_t{value});
    return parameter(name, std::move(list), when);
  }
  PartsWriter& derived(const std::string& name, const std::string& text,
                       const std::string& only_for = "") {
    parts_.derived.push_back({name, expression::Expression::parse(text, mark()), only_for});
    return *this;
  }
  PartsWriter& constraint(const std::string& text, const std::string& because = "",
                          const std::string& only_for = "") {
    parts_.constraints.push_back({expression::Expression::parse(text, mark()), because, only_for});
    return *this;
  }
  PartsWriter& constant(const std::string& name, Value value) {
    parts_.constants[name] = std::move(value);
    return *this;
  }
  PartsWriter& preset(const std::string& name, const Config& config) {
    parts_.presets.push_back({name, config, mark()});
    return *this;
  }

  const space::SpaceParts& parts() const { return parts_; }
  space::Space build() const { return space::Space::build(parts_); }

 private:
  Mark mark() { return {"s.yaml", ++line_, 1}; }

  space::SpaceParts parts_;
  int line_ = 0;
};

inline Config config(std::vector<std::pair<std::string, Value>> settings) {
  return Config(std::move(settings));
}

inline Value number(int value) { return std::int64_t{value}; }
inline Value word(const char* text) { return std::string(text); }

// What the UserError says that `action` throws.
inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace fa_tune::test
