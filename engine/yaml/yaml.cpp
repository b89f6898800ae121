#include "engine/yaml/yaml.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "engine/util/printable.hpp"

namespace fa_tune {
namespace {

// Longer words are no slip of the pen, and edit distance is quadratic.
constexpr std::size_t kLongestGuess = 100;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Levenshtein's distance, in quarters: a change of case costs one, any other edit four, and letters
// that changed places are one edit.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  constexpr std::size_t edit = 4;
  std::vector<std::size_t> before_last;
  std::vector<std::size_t> last(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j * edit;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1, (i + 1) * edit);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t change = a[i] == b[j] ? 0 : lower(a[i]) == lower(b[j]) ? 1 : edit;
      row[j + 1] = std::min({last[j] + change, row[j] + edit, last[j + 1] + edit});
      const bool swapped = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
      if (swapped) row[j + 1] = std::min(row[j + 1], before_last[j - 1] + edit);
    }
    before_last = std::exchange(last, std::move(row));
  }
  return last[b.size()];
}

// The whole text as a decimal integer; nothing where it is none.
bool looks_like_integer(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

std::optional<std::int64_t> to_integer(std::string_view text) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (!looks_like_integer(text) || (digits.size() > 1 && digits[0] == '0')) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The whole text as a finite number; nothing where it is none.
std::optional<double> to_number(const std::string& text) {
  double number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error == std::errc{} && end == last && std::isfinite(number)) return number;
  return std::nullopt;
}

// Words that YAML 1.1 reads as booleans and YAML 1.2 does not: what a person meant is not certain.
bool is_doubtful_boolean(const std::string& text) {
  std::string word;
  for (const char c : text) word += lower(c);
  for (const char* known : {"true", "false", "yes", "no", "on", "off"})
    if (word == known) return true;
  return false;
}

}  // namespace

std::string nearest_name(std::string_view wanted, const std::vector<std::string>& known) {
  if (wanted.empty() || wanted.size() > kLongestGuess) return "";
  std::string nearest;
  std::size_t least = 0;
  for (const std::string& name : known) {
    if (name.size() > kLongestGuess) continue;
    const std::size_t distance = edit_distance(wanted, name);
    // A third of the letters may be wrong; of a short name one, though not its only one.
    const std::size_t letters = std::max(wanted.size(), name.size());
    const std::size_t allowed = letters < 2 ? 1 : 4 * std::max<std::size_t>(1, letters / 3);
    if (distance <= allowed && (nearest.empty() || distance < least)) {
      nearest = name;
      least = distance;
    }
  }
  return nearest;
}

std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& known) {
  const std::string nearest = nearest_name(wanted, known);
  return nearest.empty() ? "" : ", did you mean '" + nearest + "'?";
}

std::string quote_text(std::string_view text) {
  std::size_t length = std::min(text.size(), kLongestQuote);
  // Not in the middle of a UTF-8 character: its bytes behind the first are 10xxxxxx.
  while (length > 0 && length < text.size() && (static_cast<unsigned char>(text[length]) >> 6) == 2)
    --length;
  return "'" + printable(text.substr(0, length), length) + (length < text.size() ? "...'" : "'");
}

bool is_identifier(std::string_view text) {
  return !text.empty() && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

bool is_qualified_name(std::string_view text) {
  const std::size_t colons = text.find("::");
  return is_identifier(text.substr(0, colons)) &&
         (colons == std::string_view::npos || is_qualified_name(text.substr(colons + 2)));
}

Mark YamlNode::text_mark() const {
  Mark mark = mark_;
  if (style_ == Style::quoted && mark.column > 0) ++mark.column;
  // A block scalar's text starts on a later line, at an indentation the parser does not tell.
  if (style_ == Style::block) mark.column = 0;
  return mark;
}

const std::vector<YamlEntry>& YamlNode::entries(std::string_view what) const {
  if (kind_ != Kind::map) expected(what, "a map (key: value)");
  return entries_;
}

const std::vector<YamlNode>& YamlNode::items(std::string_view what) const {
  if (kind_ != Kind::list) expected(what, "a list");
  return items_;
}

void YamlNode::check_keys(std::string_view what,
                          std::initializer_list<std::string_view> known) const {
  check_names(what, {known.begin(), known.end()});
}

void YamlNode::check_keys(std::string_view what, const YamlForm& form) const {
  std::vector<std::string> known;
  for (const YamlKey& key : form.keys) known.emplace_back(key.name);
  check_names(what, known);
}

void YamlNode::check_names(std::string_view what, const std::vector<std::string>& names) const {
  for (const YamlEntry& entry : entries(what)) {
    if (std::find(names.begin(), names.end(), entry.key) != names.end()) continue;
    std::string hint = did_you_mean(entry.key, names);
    if (hint.empty()) {
      hint = "; expected one of";
      for (const std::string& name : names) hint += (&name == names.data() ? " " : ", ") + name;
    }
    throw UserError(prefix(entry.key_mark) + "unknown key " + quote_text(entry.key) + hint);
  }
}

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const YamlEntry& entry : entries_)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

const YamlNode& YamlNode::at(std::string_view key) const {
  const YamlNode* node = find(key);
  if (node == nullptr) fail(fmt::format("key '{}' is missing here", key));
  if (node->is_null()) node->fail(fmt::format("key '{}' has no value", key));
  return *node;
}

const std::string& YamlNode::text(std::string_view what) const {
  if (kind_ != Kind::scalar) expected(what, "text");
  return text_;
}

const std::string& YamlNode::name(std::string_view what) const {
  if (kind_ != Kind::scalar || !is_identifier(text_))
    expected(what, "a name (letters, digits and _, not starting with a digit)");
  return text_;
}

std::int64_t YamlNode::integer(std::string_view what) const {
  if (kind_ == Kind::scalar && style_ == Style::plain)
    if (const auto number = to_integer(text_)) return *number;
  expected(what, "an integer");
}

std::int64_t YamlNode::integer(std::string_view what, std::int64_t least, std::int64_t most) const {
  const std::int64_t number = integer(what);
  if (number < least || number > most)
    expected(what, fmt::format("an integer from {} to {}", least, most));
  return number;
}

bool YamlNode::is_real() const {
  return kind_ == Kind::scalar && style_ == Style::plain && !looks_like_integer(text_) &&
         to_number(text_).has_value();
}

double YamlNode::number(std::string_view what) const {
  if (kind_ == Kind::scalar && style_ == Style::plain)
    if (const auto number = to_number(text_)) return *number;
  expected(what, "a number");
}

bool YamlNode::boolean(std::string_view what) const {
  if (kind_ == Kind::scalar && style_ == Style::plain) {
    if (text_ == "true") return true;
    if (text_ == "false") return false;
  }
  expected(what, "true or false");
}

std::vector<std::string> YamlNode::texts(std::string_view what) const {
  std::vector<std::string> result;
  for (const YamlNode& item : items(what)) result.push_back(item.text(what));
  return result;
}

Value YamlNode::value(std::string_view what) const {
  if (kind_ == Kind::scalar && style_ == Style::plain) {
    if (text_ == "true") return true;
    if (text_ == "false") return false;
    if (const auto number = to_integer(text_)) return *number;
    if (looks_like_integer(text_))
      expected(what, "a decimal integer of 64 bits without leading zeros");
    if (is_doubtful_boolean(text_))
      expected(what, "true or false (put a word that is meant as a name in quotes)");
  }
  if (kind_ != Kind::scalar || !is_qualified_name(text_))
    expected(what, "an integer, true, false or a name (letters, digits and _; ns::name too)");
  return text_;
}

std::string YamlNode::describe() const {
  switch (kind_) {
    case Kind::null:
      return "nothing";
    case Kind::list:
      return "a list";
    case Kind::map:
      return "a map";
    case Kind::scalar:
      break;
  }
  return style_ == Style::plain ? quote_text(text_) : "the text " + quote_text(text_);
}

void YamlNode::expected(std::string_view what, std::string_view wanted) const {
  fail(fmt::format("{}: expected {}, found {}", what, wanted, describe()));
}

void YamlNode::fail(std::string_view message) const {
  throw UserError(prefix(mark_) + std::string(message));
}

}  // namespace fa_tune
