#include "engine/kernel/compile/located_error.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "engine/source/identifier_substitution.hpp"

namespace fa_tune::kernel {
namespace {

// "scale.cu(8): error: ..." has the file, the line and what stands behind them.
struct Position {
  std::string_view file;
  int line = 0;
  std::string_view rest;
};

std::optional<int> number_at(std::string_view text, std::size_t& at) {
  int number = 0;
  const auto read = std::from_chars(text.data() + at, text.data() + text.size(), number);
  if (read.ec != std::errc() || number < 1) return std::nullopt;
  at = static_cast<std::size_t>(read.ptr - text.data());
  return number;
}

std::optional<Position> position_of(std::string_view message) {
  const std::size_t behind = message.find("): ");
  const std::size_t open = message.substr(0, behind).rfind('(');
  if (behind == message.npos || open == message.npos) return std::nullopt;
  std::size_t at = open + 1;
  const auto line = number_at(message, at);
  if (!line || at != behind) return std::nullopt;
  return Position{message.substr(0, open), *line, message.substr(behind + 1)};
}

// What the log says of one error: the source's line, a caret below the place in it, and notes.
struct Context {
  std::string_view line, caret;
  std::string_view notes;
};

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }
std::string_view behind_line(std::string_view text) {
  return text.substr(std::min(text.find('\n'), text.size() - 1) + 1);
}

Context context_of(std::string_view log, std::string_view message) {
  const std::size_t at = log.find(message);
  if (at == log.npos) return {};
  std::string_view rest = behind_line(log.substr(at));
  rest = rest.substr(0, rest.find("\n\n"));
  Context context;
  if (rest.empty()) return context;
  context.line = first_line(rest);
  rest = behind_line(rest);
  if (rest.empty()) return context;
  context.caret = first_line(rest);
  context.notes = behind_line(rest);
  return context;
}

// The word above the caret.
std::string_view word_at_caret(const Context& context) {
  const std::size_t caret = context.caret.find('^');
  if (caret == context.caret.npos || context.caret.find_first_not_of(" \t") != caret) return {};
  for (auto word = source::next_word(context.line, 0); word;
       word = source::next_word(context.line, word->end()))
    if (word->begin <= caret && caret < word->end()) return word->text;
  return {};
}

std::string place(const Origin& origin, int line) {
  const auto [file, number] = origin.lines.at(line);
  return file.empty() ? "" : fmt::format("{}({})", file, number);
}

// "at line 3" and `at line 3 of "scale.cu"` with the place in its own file.
std::string with_places(std::string_view text, const std::string& unit, bool in_unit,
                        const Origin& origin) {
  constexpr std::string_view kAt = "at line ";
  const std::string of_unit = " of \"" + unit + "\"";
  std::string made;
  for (std::size_t from = 0;;) {
    const std::size_t found = text.find(kAt, from);
    std::size_t end = found == text.npos ? text.size() : found + kAt.size();
    made += text.substr(from, std::min(found, text.size()) - from);
    if (found == text.npos) return made;
    const std::size_t number = end;
    const auto line = number_at(text, end);
    const bool says_unit = text.substr(end).starts_with(of_unit);
    const bool elsewhere = text.substr(end).starts_with(" of \"") && !says_unit;
    const std::string there =
        line && (says_unit || (in_unit && !elsewhere)) ? place(origin, *line) : "";
    if (there.empty()) {
      from = line ? end : number;
      made += text.substr(found, from - found);
      continue;
    }
    made += "at " + there;
    from = end + (says_unit ? of_unit.size() : 0);
  }
}

// The place in the unit that the outermost of an error's instances was asked for at.
std::string instance_place(std::string_view notes, const std::string& unit, bool in_unit,
                           const Origin& origin) {
  const std::string told = with_places(notes, unit, in_unit, origin);
  const std::size_t last = told.rfind(" at ");
  if (last == std::string::npos || told.substr(last).starts_with(" at line ")) return {};
  const std::size_t end = told.find(')', last);
  return end == std::string::npos ? "" : told.substr(last + 4, end - last - 3);
}

std::string kernel_not_found(const Source& source, std::string_view rest) {
  return fmt::format("the kernel's name {}{}", source.kernel, rest);
}

}  // namespace

std::string unit_name(const std::string& kernel) {
  return kernel.substr(0, kernel.find_first_of("<:")) + ".cu";
}

std::string located(const CompileFailure& failure, const Source& source) {
  const auto position = position_of(failure.message);
  if (source.origin == nullptr || !position) return failure.message;
  // NVRTC's own lines, which ask for the kernel by its name.
  if (position->file == "__nv_name_map") return kernel_not_found(source, position->rest);
  const Origin& origin = *source.origin;
  const std::string unit = unit_name(source.kernel);
  const bool in_unit = position->file == unit;
  const std::string here = in_unit ? place(origin, position->line) : "";
  std::string told = here.empty() ? fmt::format("{}({})", position->file, position->line) : here;
  told += with_places(position->rest, unit, in_unit, origin);

  const Context context = context_of(failure.log, failure.message);
  if (const auto from = instance_place(context.notes, unit, in_unit, origin); !from.empty())
    told += "; instantiated at " + from;
  const std::string name(word_at_caret(context));
  const bool is_defined = std::ranges::find(origin.defined, name) != origin.defined.end();
  if (is_defined && position->rest.contains("error: expected"))
    told += in_unit ? fmt::format(
                          "; {} is #defined for the space's parameter or define of that "
                          "name: rename one of the two",
                          name)
                    : fmt::format("; the parameter {} is also a name in {}: rename it in the space",
                                  name, position->file);
  for (const std::string& parameter : origin.template_parameters)
    if (position->rest.contains("identifier \"" + parameter + "\" is undefined"))
      told +=
          "; it is a parameter that the kernel's name gives to a template, so it is not #defined";
  return told;
}

}  // namespace fa_tune::kernel
