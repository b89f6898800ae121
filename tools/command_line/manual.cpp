#include "tools/command_line/manual.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace fa_tune::command_line {
namespace {

// Text as roff shows it: no character of it is a command.
std::string plain(const std::string& text) {
  std::string made;
  for (const char c : text) {
    if (c == '\\')
      made += "\\e";
    else if (c == '-')
      made += "\\-";
    else if ((c == '.' || c == '\'') && (made.empty() || made.back() == '\n'))
      made += std::string("\\&") + c;
    else
      made += c == '\n' ? ' ' : c;
  }
  return made;
}

std::string sentence(const std::string& text) {
  std::string made = text;
  if (!made.empty()) made[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(made[0])));
  return plain(made) + (made.ends_with('?') || made.ends_with('.') ? "" : ".") + "\n";
}

std::string bold(const std::string& text) { return "\\fB" + plain(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + plain(text) + "\\fR"; }

std::string tagged(const OptionFacts& option, bool positional) {
  std::string names;
  for (const std::string& name : option.names)
    names += (names.empty() ? "" : ", ") + (positional ? italic(name) : bold(name));
  if (!option.value.empty() && !positional) names += " " + italic(option.value);
  if (option.repeated) names += " ...";
  std::string text = ".TP\n" + names + "\n" + sentence(option.help.empty() ? "..." : option.help);
  if (!option.choices.empty() && positional)
    text += "One of " + plain(fmt::format("{}", option.value)) + ".\n";
  if (!option.otherwise.empty() && option.otherwise != "\"\"")
    text += "If not given: " + plain(option.otherwise) + ".\n";
  return text;
}

// A default that is this machine's would be wrong on the next one.
OptionFacts without_machine(OptionFacts option) {
  if (std::ranges::find(option.names, "--jobs") != option.names.end()) option.otherwise.clear();
  return option;
}

std::string described(const CommandFacts& command) {
  std::string usage = ".SS " + bold("fa-tune " + command.name());
  for (const OptionFacts& positional : command.positionals) {
    const std::string name = italic(positional.names.front()) + (positional.repeated ? " ..." : "");
    usage += positional.required ? " " + name : " [" + name + "]";
  }
  std::string text = usage + "\n" + sentence(command.help);
  for (const OptionFacts& each : command.positionals) text += tagged(each, true);
  for (const OptionFacts& each : command.options)
    if (each.names.back() != "--help") text += tagged(without_machine(each), false);
  return text;
}

void describe_all(const CommandFacts& command, std::string& text) {
  if (command.commands.empty()) text += described(command);
  for (const CommandFacts& inner : command.commands) describe_all(inner, text);
}

constexpr const char* kEnd = R"(.SH EXIT STATUS
.TP
0
Done.
.TP
1
The work was done and nothing passed.
.TP
2
What was given is wrong.
.TP
3
The machine lacks something.
.TP
70
A mistake in fa\-tune.
.TP
130
Interrupted; a search can be resumed.
.SH ENVIRONMENT
.TP
.B FA_TUNE_ROOT
The folder with kernel_templates and search_spaces.
.TP
.B FA_TUNE_NVRTC
The libnvrtc to use.
.TP
.B FA_TUNE_CACHE
Where compiled kernels are kept between runs.
.TP
.B NO_COLOR
If it is set and not empty, nothing is colored.
.SH EXAMPLES
.nf
fa\-tune evolve \-\-space softmax.yaml
fa\-tune best
fa\-tune export \-\-out winner.cu
.fi
)";

}  // namespace

std::string manual_page(const CommandFacts& program, const std::string& version) {
  std::string text =
      fmt::format(".TH FA\\-TUNE 1 \"\" \"fa\\-tune {}\" \"User Commands\"\n", plain(version));
  text += ".SH NAME\nfa\\-tune \\- find fast CUDA kernels by evolution\n";
  text += ".SH SYNOPSIS\n" + bold("fa-tune") + " " + italic("command") + " [" + italic("option") +
          " ...]\n";
  text += ".SH DESCRIPTION\n" + sentence(program.help);
  std::vector<std::string> groups;
  for (const CommandFacts& command : program.commands)
    if (std::ranges::find(groups, command.group) == groups.end()) groups.push_back(command.group);
  for (const std::string& group : groups) {
    text += ".SS " + plain(group) + "\n";
    for (const CommandFacts& command : program.commands)
      if (command.group == group)
        text += ".TP\n" + bold(command.name()) + "\n" + sentence(command.help);
  }
  text += ".SH OPTIONS OF ALL COMMANDS\n";
  for (const OptionFacts& each : program.options) text += tagged(each, false);
  text += ".SH COMMANDS\n";
  describe_all(program, text);
  return text + kEnd;
}

}  // namespace fa_tune::command_line
