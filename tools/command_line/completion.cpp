#include "tools/command_line/completion.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fa_tune::command_line {
namespace {

// All options that take a value, of any command: what follows one of them is no command.
std::vector<std::string> names_with_value(const CommandFacts& program) {
  std::set<std::string> names;
  for (const CommandFacts* command : all_commands(program))
    for (const OptionFacts& option : command->options)
      if (!option.value.empty()) names.insert(option.names.begin(), option.names.end());
  return {names.begin(), names.end()};
}

// Of a command and, since all take the program's own behind their name too, of that.
std::vector<OptionFacts> options_at(const CommandFacts& program, const CommandFacts& command) {
  std::vector<OptionFacts> options = command.options;
  if (&command == &program) return options;
  for (const OptionFacts& option : program.options)
    if (std::ranges::none_of(options, [&](const OptionFacts& own) {
          return own.names.back() == option.names.back();
        }))
      options.push_back(option);
  return options;
}

std::string quoted(const std::string& text) {
  std::string made = "'";
  for (const char c : text) made += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return made + "'";
}

bool takes_file(const OptionFacts& option) {
  return option.value == kFile || option.value == kSpace || option.value == kFolder;
}

// The words that a value may be.
std::vector<std::string> words_of(const OptionFacts& option, const CompletionWords& words) {
  if (!option.choices.empty()) return option.choices;
  if (option.value == kSpace) return words.spaces;
  if (option.value == kDevice) return words.devices;
  return {};
}

// bash ------------------------------------------------------------------------------------------

// One line of a `case`: what to do where the last words are these.
std::string bash_values(const std::string& command, const OptionFacts& option,
                        const CompletionWords& words) {
  const auto values = words_of(option, words);
  std::vector<std::string> patterns;
  for (const std::string& name : option.names) patterns.push_back(quoted(command + " " + name));
  std::string line = fmt::format("    {})", fmt::join(patterns, "|"));
  if (!values.empty())
    line += fmt::format(" words={}", quoted(fmt::format("{}", fmt::join(values, " "))));
  if (!values.empty() && takes_file(option)) line += ";";
  if (takes_file(option)) line += " files=1";
  if (values.empty() && !takes_file(option)) line += " return";
  return line + " ;;\n";
}

std::string bash_words(const CommandFacts& program, const CommandFacts& command,
                       const CompletionWords& words) {
  std::vector<std::string> names;
  for (const OptionFacts& option : options_at(program, command))
    names.insert(names.end(), option.names.begin(), option.names.end());
  std::vector<std::string> others;
  bool files = false;
  for (const CommandFacts& inner : command.commands) others.push_back(inner.path.back());
  for (const OptionFacts& positional : command.positionals) {
    const auto values = words_of(positional, words);
    others.insert(others.end(), values.begin(), values.end());
    files = files || takes_file(positional);
  }
  return fmt::format("      {}) options={}; words={}; files={} ;;\n", quoted(command.name()),
                     quoted(fmt::format("{}", fmt::join(names, " "))),
                     quoted(fmt::format("{}", fmt::join(others, " "))), files ? "1" : "");
}

constexpr const char* kBash = R"(# Completion of fa-tune for bash, made by: fa-tune completion bash
#   source <(fa-tune completion bash)

_fa_tune() {{
  local line=${{COMP_LINE:0:COMP_POINT}}
  local -a typed
  read -r -a typed <<<"$line"
  local word=''
  # What is being typed is no word yet.
  if [[ $line != *[[:space:]] ]]; then
    word=${{typed[-1]}}
    unset 'typed[-1]'
  fi
  local command='' option='' words='' files='' options='' start='' each at
  for ((at = 1; at < ${{#typed[@]}}; at++)); do
    each=${{typed[at]}}
    option=''
    case $each in
      {with_value}) option=$each; at=$((at + 1)); continue ;;
    esac
    case "${{command:+$command }}$each" in
      {commands}) command=${{command:+$command }}$each ;;
    esac
  done
  # The option whose value is being typed is the last word, or stands before a '='.
  ((at > ${{#typed[@]}})) || option=''
  if [[ $word == --*=* ]]; then
    option=${{word%%=*}}
    start=$option=
    word=${{word#*=}}
  fi
  if [[ -n $option ]]; then
    case "$command $option" in
{values}    esac
  else
    case $command in
{at}    esac
    [[ $word == -* ]] && words=$options files=''
  fi
  COMPREPLY=()
  while read -r each; do
    [[ -n $each ]] && COMPREPLY+=("$start$each")
  done < <(compgen -W "$words" -- "$word"; [[ -n $files ]] && compgen -f -- "$word")
  # bash takes ':' and '=' for ends of words, and puts what is given here behind the last of them.
  local whole=$start$word
  local given=${{whole%"${{whole##*[:=]}}"}}
  if [[ -n $given && $COMP_WORDBREAKS == *:* ]]; then
    COMPREPLY=("${{COMPREPLY[@]#"$given"}}")
  fi
  [[ -n $files ]] && compopt -o filenames 2>/dev/null
  return 0
}}
complete -F _fa_tune fa-tune
)";

// zsh -------------------------------------------------------------------------------------------

// What stands within '...[here]:here:here' of _arguments.
std::string zsh_text(const std::string& text) {
  std::string made;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') made += '\\';
    made += c;
  }
  return made;
}

std::string zsh_action(const OptionFacts& option, const CompletionWords& words) {
  const auto values = words_of(option, words);
  std::vector<std::string> escaped;
  for (const std::string& value : values) escaped.push_back(zsh_text(value));
  const std::string list = fmt::format("{}", fmt::join(escaped, " "));
  const std::string what = zsh_text(option.choices.empty() ? option.value : "value");
  if (!values.empty() && takes_file(option))
    return fmt::format(":{0}:{{_alternative \"names:name:({1})\" \"files:file:_files\"}}", what,
                       list);
  if (!values.empty()) return fmt::format(":{}:({})", what, list);
  if (takes_file(option)) return fmt::format(":{}:_files", what);
  return fmt::format(":{}: ", what);
}

std::string zsh_command(const CommandFacts& program, const CommandFacts& command,
                        const CompletionWords& words) {
  std::string text = fmt::format("    {})\n", quoted(command.name()));
  if (!command.commands.empty()) {
    text += "      names=(\n";
    for (const CommandFacts& inner : command.commands)
      text += "        " + quoted(inner.path.back() + ":" + inner.help) + "\n";
    text += "      )\n      specs=('1:command:{_describe command names}'\n";
  } else {
    text += "      specs=(\n";
  }
  for (const OptionFacts& option : options_at(program, command))
    for (const std::string& name : option.names) {
      const std::string equals = !option.value.empty() && name.starts_with("--") ? "=" : "";
      text += "        " +
              quoted("*" + name + equals + "[" + zsh_text(option.help) + "]" +
                     (option.value.empty() ? "" : zsh_action(option, words))) +
              "\n";
    }
  for (const OptionFacts& positional : command.positionals)
    text += "        " + quoted("*" + zsh_action(positional, words)) + "\n";
  return text + "      ) ;;\n";
}

constexpr const char* kZsh = R"(#compdef fa-tune
# Completion of fa-tune for zsh, made by: fa-tune completion zsh
# Put it into a folder of $fpath as _fa-tune, or: source <(fa-tune completion zsh)

_fa_tune() {{
  local command='' each
  local -a specs names
  integer at last=1
  for ((at = 2; at < CURRENT; at++)); do
    each=$words[at]
    case $each in
      {with_value}) ((at++)); continue ;;
    esac
    case "${{command:+$command }}$each" in
      {commands}) command=${{command:+$command }}$each; last=$at ;;
    esac
  done
  case $command in
{at}  esac
  # _arguments sees the command as the first word, and what follows it.
  ((CURRENT -= last - 1))
  words=("${{(@)words[last,-1]}}")
  _arguments -s : "${{specs[@]}}"
}}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _fa_tune "$@"
else
  compdef _fa_tune fa-tune
fi
)";

// fish ------------------------------------------------------------------------------------------

std::string fish_option(const std::string& at, const OptionFacts& option,
                        const CompletionWords& words) {
  std::string line =
      "complete -c fa-tune -n " + quoted("test (__fa_tune_command) = \"" + at + "\"");
  for (const std::string& name : option.names)
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.value.empty()) line += takes_file(option) ? " -r -F" : " -x";
  if (const auto values = words_of(option, words); !values.empty())
    line += " -a " + quoted(fmt::format("{}", fmt::join(values, " ")));
  return line + " -d " + quoted(option.help) + "\n";
}

std::string fish_command(const CommandFacts& program, const CommandFacts& command,
                         const CompletionWords& words) {
  const std::string at = command.name();
  const std::string where = " -n " + quoted("test (__fa_tune_command) = \"" + at + "\"");
  std::string text;
  for (const CommandFacts& inner : command.commands)
    text += "complete -c fa-tune" + where + " -a " + inner.path.back() + " -d " +
            quoted(inner.help) + "\n";
  for (const OptionFacts& positional : command.positionals) {
    if (takes_file(positional)) text += "complete -c fa-tune" + where + " -F\n";
    if (const auto values = words_of(positional, words); !values.empty())
      text += "complete -c fa-tune" + where + " -a " +
              quoted(fmt::format("{}", fmt::join(values, " "))) + "\n";
  }
  for (const OptionFacts& option : options_at(program, command))
    text += fish_option(at, option, words);
  return text;
}

constexpr const char* kFish = R"(# Completion of fa-tune for fish, made by: fa-tune completion fish
#   fa-tune completion fish | source

function __fa_tune_command
    set -l command
    set -l skip 0
    for each in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        switch $each
            case {with_value}
                set skip 1
                continue
        end
        switch (string join ' ' $command $each)
            case {commands}
                set command $command $each
        end
    end
    string join ' ' -- $command ''  | string trim
end
complete -c fa-tune -f
{at})";

// Both lists of names as patterns, joined by `between`.
struct Patterns {
  std::string with_value;
  std::string commands;
};

Patterns patterns_of(const CommandFacts& program, const std::string& between) {
  std::vector<std::string> commands;
  for (const CommandFacts* command : all_commands(program))
    if (!command->path.empty()) commands.push_back(quoted(command->name()));
  return {fmt::format("{}", fmt::join(names_with_value(program), between)),
          fmt::format("{}", fmt::join(commands, between))};
}

template <typename One>
std::string for_each_command(const CommandFacts& program, const CompletionWords& words, One one) {
  std::string text;
  for (const CommandFacts* command : all_commands(program)) text += one(program, *command, words);
  return text;
}

}  // namespace

std::string bash_completion(const CommandFacts& program, const CompletionWords& words) {
  const Patterns patterns = patterns_of(program, "|");
  std::string values;
  for (const CommandFacts* command : all_commands(program))
    for (const OptionFacts& option : options_at(program, *command))
      if (!option.value.empty()) values += bash_values(command->name(), option, words);
  return fmt::format(fmt::runtime(kBash), fmt::arg("with_value", patterns.with_value),
                     fmt::arg("commands", patterns.commands), fmt::arg("values", values),
                     fmt::arg("at", for_each_command(program, words, bash_words)));
}

std::string zsh_completion(const CommandFacts& program, const CompletionWords& words) {
  const Patterns patterns = patterns_of(program, "|");
  return fmt::format(fmt::runtime(kZsh), fmt::arg("with_value", patterns.with_value),
                     fmt::arg("commands", patterns.commands),
                     fmt::arg("at", for_each_command(program, words, zsh_command)));
}

std::string fish_completion(const CommandFacts& program, const CompletionWords& words) {
  const Patterns patterns = patterns_of(program, " ");
  return fmt::format(fmt::runtime(kFish), fmt::arg("with_value", patterns.with_value),
                     fmt::arg("commands", patterns.commands),
                     fmt::arg("at", for_each_command(program, words, fish_command)));
}

}  // namespace fa_tune::command_line
