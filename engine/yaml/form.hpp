#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace fa_tune {

struct YamlForm;

// A key of a map: what readers know it by and what a schema says of it.
struct YamlKey {
  std::string_view name;
  const YamlForm* form;
  bool required = false;
  std::string_view says = {};
};

// What a node may be, as far as a schema can say it: one table for who reads it
// (YamlNode::check_keys) and for the JSON Schema of `fa-tune space schema`.
struct YamlForm {
  enum class Kind {
    any,
    text,   // a scalar, as expressions and free text are
    whole,  // an integer, or an expression that gives one
    name,   // an identifier
    value,  // of a parameter: a number, true or false, or a qualified name
    integer,
    number,
    boolean,
    choice,  // one of some words
    list,
    map,
    either,  // one of some forms
  };
  Kind kind = Kind::any;
  std::span<const YamlKey> keys = {};                // of a map
  const YamlForm* item = nullptr;                    // of a list; of a map those of other keys
  std::span<const YamlForm* const> forms = {};       // of which it is one
  std::span<const std::string_view> words = {};      // of a choice
  std::span<const std::string_view> one_of = {};     // keys of which there is exactly one
  bool identifiers = false;                          // a map's other keys are names
  bool may_be_empty = false;                         // nothing may stand there
  std::int64_t least = INT64_MIN, most = INT64_MAX;  // of a number; of a list's or map's size
};

namespace forms {

inline constexpr YamlForm kAny{};
inline constexpr YamlForm kText{.kind = YamlForm::Kind::text};
inline constexpr YamlForm kWhole{.kind = YamlForm::Kind::whole};
inline constexpr YamlForm kName{.kind = YamlForm::Kind::name};
inline constexpr YamlForm kValue{.kind = YamlForm::Kind::value};
inline constexpr YamlForm kInteger{.kind = YamlForm::Kind::integer};
inline constexpr YamlForm kPositive{.kind = YamlForm::Kind::integer, .least = 1};
inline constexpr YamlForm kNumber{.kind = YamlForm::Kind::number};
inline constexpr YamlForm kFromZero{.kind = YamlForm::Kind::number, .least = 0};
inline constexpr YamlForm kBoolean{.kind = YamlForm::Kind::boolean};
inline constexpr YamlForm kTexts{.kind = YamlForm::Kind::list, .item = &kText};
inline constexpr YamlForm kNames{.kind = YamlForm::Kind::list, .item = &kName};
inline constexpr YamlForm kExpressions{
    .kind = YamlForm::Kind::map, .item = &kText, .identifiers = true};

}  // namespace forms
}  // namespace fa_tune
