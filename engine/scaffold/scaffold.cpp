#include "engine/scaffold/scaffold.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/scaffold/guess.hpp"
#include "engine/source/declarations.hpp"
#include "engine/util/error.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::scaffold {
namespace {

std::string quoted(const std::string& text) { return to_json(Value(text)); }

// Plain where YAML takes it for what it is.
std::string plain(const std::string& text) {
  const bool safe = !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
  });
  return safe ? text : quoted(text);
}

std::string list(const std::vector<std::string>& all) {
  std::vector<std::string> parts;
  for (const std::string& each : all) parts.push_back(plain(each));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

std::string remark(const Remark& of) {
  if (of.kind == Remark::Kind::none) return "";
  return (of.kind == Remark::Kind::guessed ? "  # guessed: " : "  # fill in: ") + of.text;
}

std::string sizes(const std::vector<GuessedSize>& all, bool ragged) {
  std::vector<std::string> parts;
  for (const GuessedSize& each : all)
    parts.push_back(fmt::format("{}: {}", each.name, ragged ? each.ragged : each.timed));
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

std::string argument(const GuessedArgument& of) {
  std::string text = fmt::format("    - {{name: {}, type: {}", of.name, of.type);
  if (of.constant) text += ", constant: true";
  text += of.shape.empty() ? ", value: " + of.value : ", shape: " + list(of.shape);
  if (!of.role.empty() && of.role != "input") text += ", role: " + of.role;
  if (!of.fill.empty()) text += ", fill: " + of.fill;
  return text + "}" + remark(of.remark) + "\n";
}

// `remarks` where it is the first launch of the two.
std::string launch(const GuessedLaunch& of, const std::string& indent, const Guess& guess,
                   bool remarks) {
  const auto note = [&](const Remark Guess::*which) { return remarks ? remark(guess.*which) : ""; };
  std::string text =
      fmt::format("{}grid: {}{}\n", indent, list(of.grid), note(&Guess::grid_remark));
  text += fmt::format("{}block: {}\n", indent, list(of.block));
  if (!of.shared.empty())
    text += fmt::format("{}shared: {}{}\n", indent, quoted(of.shared), note(&Guess::shared_remark));
  if (guess.cooperative) text += indent + "cooperative: true\n";
  return text;
}

std::string written(const Guess& guess, const Request& request, const KernelText& kernel) {
  std::string text = fmt::format(
      "# A space to start from, made by `fa-tune init` of {}, line {}. Look at what is guessed "
      "and\n"
      "# fill in what is marked; then: fa-tune space check, fa-tune evolve --space.\n",
      request.source, kernel.line);
  for (const std::string& note : guess.notes) text += "# Note: " + note + ".\n";
  text += fmt::format("space: {}\n", request.name);
  text += fmt::format("target: {}  # guessed: the GPU that the kernel is for\n", request.target);
  text += "problem:\n  kind: custom\n  sizes:" + remark(guess.sizes_remark) + "\n";
  text += "    - " + sizes(guess.sizes, false) + "\n";
  if (guess.sizes[0].ragged != 0) text += "    - " + sizes(guess.sizes, true) + "\n";
  std::vector<std::string> defines;
  for (const GuessedSize& each : guess.sizes)
    if (each.is_define) defines.push_back(fmt::format("{}: {}", each.name, each.name));
  if (!defines.empty()) text += fmt::format("  defines: {{{}}}\n", fmt::join(defines, ", "));
  text += "  arguments:\n";
  for (const GuessedArgument& each : guess.arguments) text += argument(each);
  if (!guess.tolerance.empty())
    text += "  tolerance: " + guess.tolerance + remark(guess.tolerance_remark) + "\n";
  text +=
      "  # fill in: a plain kernel that computes the same. Until then it is the kernel itself "
      "with\n"
      "  # its defaults, which proves only that all configs compute the same.\n";
  text += fmt::format("  reference:\n    source: {}\n    kernel: {}\n", plain(request.source),
                      quoted(guess.reference_kernel));
  if (!guess.missing.empty()) {
    std::vector<std::string> values, names;
    for (const auto& [name, value] : guess.missing) {
      values.push_back(fmt::format("{}: {}", name, value));
      names.push_back(name);
    }
    text += fmt::format("    derived: {{{}}}\n    defines: [{}]\n", fmt::join(values, ", "),
                        fmt::join(names, ", "));
  }
  text += "    launch:\n";
  text += launch(guess.reference_launch, "      ", guess, false);
  text += fmt::format("templates:\n  {}:\n    source: {}\n    kernel: {}\n", request.name,
                      plain(request.source), quoted(guess.kernel));
  text += "    launch:\n" + launch(guess.launch, "      ", guess, true);
  if (guess.parameters.empty())
    text += "# fill in: parameters, each with its values, as in BLOCK: [64, 128]\nparameters: {}\n";
  else
    text += "parameters:\n";
  for (const GuessedParameter& each : guess.parameters)
    text +=
        fmt::format("  {}: [{}]{}\n", each.name, fmt::join(each.values, ", "), remark(each.remark));
  if (!guess.constraints.empty()) text += "constraints:\n";
  for (const auto& [expression, because] : guess.constraints)
    text += fmt::format("  - {{expr: {}, because: {}}}\n", quoted(expression), quoted(because));
  return text;
}

const KernelText& chosen(const SourceText& source, const Request& request) {
  std::vector<std::string> names;
  for (const KernelText& each : source.kernels) names.push_back(each.name);
  if (names.empty())
    throw UserError(request.source + ": there is no __global__ function with a body");
  if (request.kernel.empty()) {
    if (names.size() == 1) return source.kernels[0];
    throw UserError(fmt::format("{}: has {} kernels; choose one with --kernel: {}", request.source,
                                names.size(), fmt::join(names, ", ")));
  }
  const auto found = std::ranges::find(source.kernels, request.kernel, &KernelText::name);
  if (found != source.kernels.end()) return *found;
  throw UserError(fmt::format("{}: has no kernel {}{}; it has {}", request.source,
                              quote_text(request.kernel), did_you_mean(request.kernel, names),
                              fmt::join(names, ", ")));
}

// The name as YAML and files take it.
std::string identifier(const std::string& name) {
  std::string made;
  for (const char c : name) made += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (made.empty() || std::isdigit(static_cast<unsigned char>(made[0])) != 0) made = "_" + made;
  return made;
}

}  // namespace

std::string space_for(const std::string& text, const Request& request) {
  const SourceText source = read_source(text);
  const KernelText& kernel = chosen(source, request);
  const source::Declarations declared = source::declarations(text);
  if (declared.texture)
    throw UserError(fmt::format("{}:{}: '{}': a space has no textures and surfaces; take a pointer",
                                request.source, declared.texture->line, declared.texture->name));
  Request named = request;
  if (named.name.empty()) named.name = kernel.name.substr(kernel.name.rfind(':') + 1);
  named.name = identifier(named.name);
  Guess guess;
  try {
    guess = guess_space(source, kernel);
  } catch (const UserError& refused) {
    throw UserError(request.source + ": " + refused.what());
  }
  guess.cooperative = declared.grid_sync.has_value();
  return written(guess, named, kernel);
}

}  // namespace fa_tune::scaffold
