#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace fa_tune::command_line {

// What completions and the manual page say of the program, taken from what parses its command line.

struct OptionFacts {
  std::vector<std::string> names;  // "-n", "--limit"; of a positional its one name
  std::string help;
  std::string value;                 // "FILE", "INT", ...; empty for a flag
  std::string otherwise;             // the default, where there is one
  std::vector<std::string> choices;  // where its values are known
  bool required = false;
  bool repeated = false;
};

struct CommandFacts {
  std::vector<std::string> path;  // "db", "check"; empty for the program itself
  std::string help;
  std::string group;
  std::vector<OptionFacts> options;
  std::vector<OptionFacts> positionals;
  std::vector<CommandFacts> commands;  // without those that are not for people

  std::string name(const std::string& separator = " ") const;
};

// The kinds of values that shells complete by themselves.
inline constexpr const char* kFile = "FILE";
inline constexpr const char* kFolder = "FOLDER";
inline constexpr const char* kSpace = "SPACE";    // a file, or a name in search_spaces
inline constexpr const char* kDevice = "DEVICE";  // auto, cuda:N, emulator:PROFILE

CommandFacts command_tree(const CLI::App& app);

// The command and all below it, each before what is below it.
std::vector<const CommandFacts*> all_commands(const CommandFacts& program);

// What is said of a command line that does not parse: in one line, with the nearest name that is
// known where a word is not.
std::string parse_message(const CLI::App& app, const CLI::ParseError& error);

}  // namespace fa_tune::command_line
