#include <algorithm>
#include <cctype>

#include "engine/yaml/value.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune {
namespace {

// Whether a plain scalar means the same between the brackets of a flow as it does outside.
bool stays_plain(const std::string& text) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '/' || c == '+';
  };
  return !text.empty() &&
         (std::isalnum(static_cast<unsigned char>(text[0])) != 0 || text[0] == '_') &&
         std::ranges::all_of(text, fits);
}

bool is_negative_number(const std::string& text) {
  return text.size() > 1 && text[0] == '-' && stays_plain(text.substr(1));
}

}  // namespace

YamlNode YamlNode::completed(const YamlNode& otherwise,
                             std::initializer_list<std::string_view> without) const {
  YamlNode made = *this;
  std::erase_if(made.entries_, [&](const YamlEntry& entry) {
    return std::ranges::find(without, entry.key) != without.end();
  });
  for (const YamlEntry& entry : otherwise.entries_)
    if (find(entry.key) == nullptr) made.entries_.push_back(entry);
  return made;
}

std::string YamlNode::flow() const {
  std::string text;
  switch (kind_) {
    case Kind::null:
      return "~";
    case Kind::scalar:
      if (style_ == Style::plain && (stays_plain(text_) || is_negative_number(text_))) return text_;
      return to_json(Value(text_));
    case Kind::list:
      for (const YamlNode& item : items_) text += (text.empty() ? "" : ", ") + item.flow();
      return "[" + text + "]";
    case Kind::map:
      for (const YamlEntry& entry : entries_)
        text += (text.empty() ? "" : ", ") +
                (is_identifier(entry.key) ? entry.key : to_json(Value(entry.key))) + ": " +
                entry.value.flow();
      return "{" + text + "}";
  }
  return text;
}

}  // namespace fa_tune
