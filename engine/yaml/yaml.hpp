#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/util/error.hpp"
#include "engine/yaml/form.hpp"
#include "engine/yaml/value.hpp"

namespace fa_tune {

// The name of `known` that a person most likely meant by `wanted` (edit distance, upper and lower
// case almost alike); empty where none is near. The first wins a tie.
std::string nearest_name(std::string_view wanted, const std::vector<std::string>& known);
// ", did you mean 'x'?" or nothing.
std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& known);
// The text in single quotes, fit for one line of a message: cut where long, control characters
// shown as '?'.
std::string quote_text(std::string_view text);
// [A-Za-z_][A-Za-z0-9_]*
bool is_identifier(std::string_view text);
// An identifier, or several with :: between them, as C++ names what stands in a namespace.
bool is_qualified_name(std::string_view text);

struct YamlEntry;

// One node of a strict YAML file, as a plain tree that owns its text. Every getter throws UserError
// with file, line and column, what was expected and what stands there instead.
//
// Strict: one document; no key twice; booleans are `true` and `false` alone (YAML 1.1's yes, no, on
// and off are refused where a value is read); integers are decimal without leading zeros. Anchors
// and aliases work; tags and merge keys (<<) do not.
class YamlNode {
 public:
  enum class Kind { null, scalar, list, map };
  enum class Style { plain, quoted, block };

  // Throws UserError: not YAML, more than 1 MiB, nested too deep, or too many nodes once its
  // aliases are written out. `file` stands in the marks as given.
  static YamlNode parse(const std::string& text, const std::filesystem::path& file);

  Kind kind() const { return kind_; }
  Style style() const { return style_; }
  bool is_null() const { return kind_ == Kind::null; }
  bool is_scalar() const { return kind_ == Kind::scalar; }
  bool is_list() const { return kind_ == Kind::list; }
  bool is_map() const { return kind_ == Kind::map; }
  // Where the node starts.
  const Mark& mark() const { return mark_; }
  // Where a scalar's first character stands (behind an opening quote): for errors inside its text.
  Mark text_mark() const;

  // A map's entries in the file's order; a list's items. `what` names the node in messages
  // ("parameters").
  const std::vector<YamlEntry>& entries(std::string_view what) const;
  const std::vector<YamlNode>& items(std::string_view what) const;
  // Refuses a node that is no map, and any key not in `known`, naming the nearest.
  void check_keys(std::string_view what, std::initializer_list<std::string_view> known) const;
  // The same by the table that the schema is made from.
  void check_keys(std::string_view what, const YamlForm& form) const;
  // The value of a key, or nullptr; of a node that is no map, nullptr.
  const YamlNode* find(std::string_view key) const;
  // The value of a key that must be there (and not be empty).
  const YamlNode& at(std::string_view key) const;

  // A scalar's text as it stands, quoted or not, for expressions and free text.
  const std::string& text(std::string_view what) const;
  // The same, an identifier.
  const std::string& name(std::string_view what) const;
  std::int64_t integer(std::string_view what) const;
  std::int64_t integer(std::string_view what, std::int64_t least, std::int64_t most) const;
  // Whether it is a plain number that is no integer: 0.5, 2.0, 1e3.
  bool is_real() const;
  // A finite number, with or without a decimal point.
  double number(std::string_view what) const;
  bool boolean(std::string_view what) const;
  // A list of scalars' texts.
  std::vector<std::string> texts(std::string_view what) const;
  // Plain true or false, a plain integer, or an identifier (plain or quoted).
  Value value(std::string_view what) const;

  // A map with the entries of `otherwise` whose keys it lacks, less those in `without`.
  YamlNode completed(const YamlNode& otherwise,
                     std::initializer_list<std::string_view> without) const;
  // The node as YAML on one line, which reads back as the same tree but for its marks.
  std::string flow() const;

  // "a list", "'abc'", "nothing": for 'expected X, found Y'.
  std::string describe() const;
  // Throws UserError at this node: "file:line:col: what: expected X, found Y".
  [[noreturn]] void expected(std::string_view what, std::string_view wanted) const;
  // Throws UserError at this node: "file:line:col: message".
  [[noreturn]] void fail(std::string_view message) const;

 private:
  friend class YamlBuilder;

  void check_names(std::string_view what, const std::vector<std::string>& names) const;

  Kind kind_ = Kind::null;
  Style style_ = Style::plain;
  Mark mark_;
  std::string text_;
  std::vector<YamlNode> items_;
  std::vector<YamlEntry> entries_;
};

struct YamlEntry {
  std::string key;
  Mark key_mark;
  YamlNode value;
};

}  // namespace fa_tune
