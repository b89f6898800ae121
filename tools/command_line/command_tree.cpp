#include "tools/command_line/command_tree.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/yaml/yaml.hpp"

namespace fa_tune::command_line {
namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

// "TEXT:{text,json}" and "debug|info" list them.
std::vector<std::string> choices_of(const std::string& type) {
  const auto open = type.find('{');
  const auto close = type.find('}', open);
  if (open != std::string::npos && close != std::string::npos)
    return split(type.substr(open + 1, close - open - 1), ',');
  return type.find('|') != std::string::npos ? split(type, '|') : std::vector<std::string>();
}

OptionFacts facts_of(const CLI::Option& option) {
  OptionFacts facts;
  for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  if (option.get_positional()) facts.names = {option.get_name(true)};
  facts.help = option.get_description();
  facts.required = option.get_required();
  facts.repeated = option.get_expected_max() == CLI::detail::expected_max_vector_size;
  if (option.get_type_size() == 0 || option.get_expected_max() == 0) return facts;
  const std::string type =
      option.get_option_text().empty() ? option.get_type_name() : option.get_option_text();
  facts.choices = choices_of(type);
  facts.value = facts.choices.empty() ? type.substr(0, type.find(':'))
                                      : fmt::format("{}", fmt::join(facts.choices, "|"));
  facts.otherwise = option.get_default_str();
  return facts;
}

CommandFacts facts_of(const CLI::App& app, const std::vector<std::string>& path) {
  CommandFacts facts;
  facts.path = path;
  facts.help = app.get_description();
  facts.group = app.get_group();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    (option->get_positional() ? facts.positionals : facts.options).push_back(facts_of(*option));
  }
  for (const CLI::App* inner : app.get_subcommands({})) {
    if (inner->get_group().empty()) continue;
    auto below = path;
    below.push_back(inner->get_name());
    facts.commands.push_back(facts_of(*inner, below));
  }
  return facts;
}

void collect(const CommandFacts& command, std::vector<const CommandFacts*>& all) {
  all.push_back(&command);
  for (const CommandFacts& inner : command.commands) collect(inner, all);
}

// What could have stood there, and did not: "did you mean" it?
std::string meant(const std::string& word, const std::vector<const CLI::App*>& chosen) {
  std::vector<std::string> known;
  const bool is_option = word.starts_with('-');
  for (const CLI::App* app : chosen) {
    if (!is_option) {
      if (app != chosen.back()) continue;
      for (const CLI::App* inner : app->get_subcommands({}))
        if (!inner->get_group().empty()) known.push_back(inner->get_name());
      continue;
    }
    for (const CLI::Option* option : app->get_options())
      for (const std::string& name : option->get_lnames()) known.push_back(name);
  }
  const std::string bare = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  const std::string nearest = nearest_name(bare.substr(0, bare.find('=')), known);
  if (nearest.empty()) return "";
  return fmt::format(", did you mean '{}{}'?", is_option ? "--" : "", nearest);
}

}  // namespace

std::string CommandFacts::name(const std::string& separator) const {
  return fmt::format("{}", fmt::join(path, separator));
}

CommandFacts command_tree(const CLI::App& app) { return facts_of(app, {}); }

std::vector<const CommandFacts*> all_commands(const CommandFacts& program) {
  std::vector<const CommandFacts*> all;
  collect(program, all);
  return all;
}

std::string parse_message(const CLI::App& app, const CLI::ParseError& error) {
  std::string command = "fa-tune";
  std::vector<const CLI::App*> chosen = {&app};
  while (!chosen.back()->get_subcommands().empty()) {
    chosen.push_back(chosen.back()->get_subcommands().front());
    command += " " + chosen.back()->get_name();
  }
  // A misspelt command is reported by CLI11 as a missing one.
  const auto unknown = app.remaining(true);
  std::string text = error.what();
  if (!unknown.empty())
    text = "'" + unknown.front() + "' is not known here" + meant(unknown.front(), chosen);
  std::ranges::replace(text, '\n', ' ');
  // CLI11's words for what is no number: "Could not convert: trial = abc".
  constexpr std::string_view kConvert = "Could not convert: ";
  if (const std::size_t equals = text.find(" = ");
      text.starts_with(kConvert) && equals != std::string::npos)
    text = fmt::format("{}: expected a number, found '{}'",
                       text.substr(kConvert.size(), equals - kConvert.size()),
                       text.substr(equals + 3));
  return text + (text.ends_with('?') ? " See " : "; see ") + command + " --help";
}

}  // namespace fa_tune::command_line
