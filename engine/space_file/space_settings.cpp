#include "engine/space_file/space_settings.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "engine/yaml/yaml.hpp"

namespace fa_tune::space {
namespace {

// Leaves of the problem section but `kind`, by dotted path, as the file spells them.
using Settings = std::vector<std::pair<std::string, std::string>>;

void collect(const std::string& path, const YamlNode& node, Settings& settings) {
  if (node.is_map()) {
    for (const YamlEntry& entry : node.entries(path))
      collect(path + "." + entry.key, entry.value, settings);
  } else if (node.is_list()) {
    for (std::size_t i = 0; i < node.items(path).size(); ++i)
      collect(path + "." + std::to_string(i), node.items(path)[i], settings);
  } else {
    settings.emplace_back(path, node.text(path));
  }
}

void remove(Settings& settings, const std::string& path) {
  std::erase_if(settings, [&](const auto& each) { return each.first == path; });
}

const std::string* find(const Settings& settings, const std::string& path) {
  const auto found = std::ranges::find(settings, path, &Settings::value_type::first);
  return found == settings.end() ? nullptr : &found->second;
}

void set(Settings& settings, const std::string& path, const std::string& value) {
  // One length for both, or one for each: never all three.
  if (path == "shape.L") {
    remove(settings, "shape.Lq");
    remove(settings, "shape.Lk");
  } else if (path == "shape.Lq" || path == "shape.Lk") {
    if (const std::string* both = find(settings, "shape.L")) {
      const std::string length = *both;
      remove(settings, "shape.L");
      settings.emplace_back("shape.Lq", length);
      settings.emplace_back("shape.Lk", length);
    }
  }
  const auto found = std::ranges::find(settings, path, &Settings::value_type::first);
  if (found == settings.end())
    settings.emplace_back(path, value);
  else
    found->second = value;
}

bool is_number(const std::string& text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c); });
}

// NAME=VALUE, NAME being identifiers or numbers with dots between them, VALUE a scalar that needs
// no quotes.
std::pair<std::string, std::string> read_change(const std::string& change) {
  const std::size_t equals = change.find('=');
  const std::string name = change.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : change.substr(equals + 1);
  bool good = !name.empty() && name.back() != '.' && name != "kind";
  std::istringstream parts(name);
  for (std::string part; std::getline(parts, part, '.');)
    good = good && (is_identifier(part) || is_number(part));
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-' || c == '+';
  };
  if (!good || value.empty() || !std::ranges::all_of(value, is_plain))
    throw UserError(fmt::format(
        "--set {}: expected a setting of the space's problem and its value, as in shape.L=4096 or "
        "causal=true",
        quote_text(change)));
  return {name, value};
}

// The section with one line a setting; what has parts becomes a map or a list in one line.
std::string problem_text(const std::string& kind, const Settings& settings) {
  std::string text = "problem:\n  kind: " + kind + "\n";
  std::vector<std::string> done;
  for (const auto& [path, value] : settings) {
    const std::size_t dot = path.find('.');
    if (dot == std::string::npos) {
      text += fmt::format("  {}: {}\n", path, value);
      continue;
    }
    const std::string group = path.substr(0, dot);
    if (std::ranges::find(done, group) != done.end()) continue;
    done.push_back(group);
    std::vector<std::string> parts;
    bool list = true;
    for (const auto& [other, held] : settings) {
      if (!other.starts_with(group + ".")) continue;
      const std::string name = other.substr(dot + 1);
      list = list && name == std::to_string(parts.size());
      parts.push_back(list ? held : name + ": " + held);
    }
    text += fmt::format("  {}: {}{}{}\n", group, list ? '[' : '{', fmt::join(parts, ", "),
                        list ? ']' : '}');
  }
  return text;
}

std::size_t place_of(const std::string& text, const Mark& mark) {
  std::size_t at = 0;
  for (int line = 1; line < mark.line; ++line) at = text.find('\n', at) + 1;
  return at + static_cast<std::size_t>(mark.column - 1);
}

// The text with the number that stands at a place of it exchanged.
std::string exchange(const std::string& text, const YamlNode& number, const std::string& value) {
  const std::size_t at = place_of(text, number.text_mark());
  return text.substr(0, at) + value + text.substr(at + number.text("size").size());
}

// The text with one entry more in a map of it that has some, the first.
std::string with_entry(std::string text, const YamlNode& map, const std::string& entry) {
  const std::size_t open = place_of(text, map.mark());
  if (text[open] == '{') return text.insert(open + 1, entry + ", ");
  const Mark& first = map.entries("a map").at(0).key_mark;
  return text.insert(place_of(text, first),
                     entry + "\n" + std::string(static_cast<std::size_t>(first.column - 1), ' '));
}

std::string with_tolerance(const std::string& text, const YamlNode& problem,
                           const std::string& bound, const std::string& value) {
  const YamlNode* tolerance = problem.find("tolerance");
  if (tolerance == nullptr || !tolerance->is_map() || tolerance->entries("tolerance").empty())
    return with_entry(text, problem, fmt::format("tolerance: {{{}: {}}}", bound, value));
  if (const YamlNode* number = tolerance->find(bound)) return exchange(text, *number, value);
  return with_entry(text, *tolerance, bound + ": " + value);
}

// A custom problem's timed sizes and its tolerance, in their places: the rest of its section is not
// made of settings.
SpaceFile with_custom_settings(const SpaceFile& file, const std::vector<std::string>& changes) {
  std::string text = file.text;
  for (const std::string& change : changes) {
    const auto [name, value] = read_change(change);
    const YamlNode root = YamlNode::parse(text, file.path);
    if (name == "tolerance.relative" || name == "tolerance.absolute") {
      text = with_tolerance(text, root.at("problem"), name.substr(name.find('.') + 1), value);
      continue;
    }
    const YamlNode& sizes = root.at("problem").at("sizes");
    const YamlNode& timed = sizes.is_list() ? sizes.items("sizes").at(0) : sizes;
    const YamlNode* number = name.starts_with("sizes.") ? timed.find(name.substr(6)) : nullptr;
    if (number == nullptr || !is_number(value))
      throw UserError(
          fmt::format("--set {}: of a custom problem one of its sizes can be set, as in "
                      "sizes.{}=1000, and tolerance.relative or tolerance.absolute",
                      quote_text(change), timed.entries("sizes").at(0).key));
    text = exchange(text, *number, value);
  }
  return parse_space_file(text,
                          file.path.string() + fmt::format(" (with {})", fmt::join(changes, ", ")));
}

}  // namespace

SpaceFile with_settings(const SpaceFile& file, const std::vector<std::string>& changes) {
  if (changes.empty()) return file;
  if (file.problem_kind == kCustomProblem) {
    SpaceFile changed = with_custom_settings(file, changes);
    changed.source_lines = file.source_lines;
    return changed;
  }
  const YamlNode root = YamlNode::parse(file.text, file.path);
  const YamlNode& problem = root.at("problem");
  Settings settings;
  for (const YamlEntry& entry : problem.entries("problem"))
    if (entry.key != "kind") collect(entry.key, entry.value, settings);
  for (const std::string& change : changes) {
    const auto [name, value] = read_change(change);
    set(settings, name, value);
  }

  // The section goes from its key's line to that of the next key of the file.
  int first = 0, next = 0;
  for (const YamlEntry& entry : root.entries("a space file")) {
    if (entry.key == "problem")
      first = entry.key_mark.line;
    else if (first > 0 && next == 0)
      next = entry.key_mark.line;
  }
  std::vector<std::string> before, after;
  std::istringstream lines(file.text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (number < first) before.push_back(line + "\n");
    const bool aside = line.empty() || line[0] == '#';
    if (number > first && ((next > 0 && number >= next) || aside)) after.push_back(line + "\n");
  }
  if (next == first)
    problem.fail("--set needs `problem:` to be on a line of its own in the space file");
  const std::string text =
      fmt::format("{}{}{}", fmt::join(before, ""),
                  problem_text(problem.at("kind").text("kind"), settings), fmt::join(after, ""));
  SpaceFile changed = parse_space_file(
      text, file.path.string() + fmt::format(" (with {})", fmt::join(changes, ", ")));
  changed.source_lines = file.source_lines;
  return changed;
}

SpaceFile with_target(const SpaceFile& file, const std::string& profile) {
  if (file.target != kAutoTarget) return file;
  std::string text = file.text;
  const YamlNode root = YamlNode::parse(text, file.path);
  text.replace(place_of(text, root.at("target").text_mark()), std::string(kAutoTarget).size(),
               profile);
  SpaceFile changed = parse_space_file(text, file.path);
  changed.source_lines = file.source_lines;
  return changed;
}

}  // namespace fa_tune::space
