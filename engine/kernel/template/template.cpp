#include "engine/kernel/template/template.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <ranges>
#include <set>

#include <fmt/format.h>

#include "engine/kernel/template/template_form.hpp"
#include "engine/source/compiler_policy.hpp"
#include "engine/source/identifier_substitution.hpp"
#include "engine/source/include_flattening.hpp"
#include "engine/source/named_files.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/hash.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::kernel {
namespace {

std::vector<std::string> names(const YamlNode& list, std::string_view what) {
  std::vector<std::string> result;
  for (const YamlNode& item : list.items(what)) {
    const std::string& name = item.name(what);
    if (std::ranges::find(result, name) != result.end())
      item.fail(fmt::format("{}: '{}' is there twice", what, name));
    result.push_back(name);
  }
  return result;
}

expression::Expression expression(const YamlNode& node, std::string_view what) {
  return expression::Expression::parse(node.text(what), node.text_mark());
}

space::Constraint requirement(const YamlNode& node, const std::string& only_for) {
  if (!node.is_map()) return {expression(node, "requires"), "", only_for};
  node.check_keys("requires", form::kRequirementMap);
  const YamlNode* because = node.find("because");
  return {expression(node.at("expr"), "expr"), because == nullptr ? "" : because->text("because"),
          only_for};
}

std::vector<space::Derived> derived_values(const YamlNode& node, const std::string& only_for,
                                           const std::vector<std::string>& parameters) {
  std::vector<space::Derived> result;
  for (const YamlEntry& entry : node.entries("derived")) {
    if (!is_identifier(entry.key))
      throw UserError(prefix(entry.key_mark) +
                      "derived: expected a name of letters, digits and _, " + "found " +
                      quote_text(entry.key));
    if (std::ranges::find(parameters, entry.key) != parameters.end())
      throw UserError(prefix(entry.key_mark) + "derived: " + entry.key +
                      " is a parameter; give the derived value another name");
    result.push_back({entry.key, expression(entry.value, entry.key), only_for});
  }
  return result;
}

// A source is written before a shape or a device is known, so what is defined in it may rest on
// parameters alone.
void check_defines(const YamlNode& node, const std::vector<std::string>& defines,
                   const std::vector<space::Derived>& derived) {
  std::vector<std::string> known;
  known.reserve(derived.size());
  for (const space::Derived& value : derived) known.push_back(value.name);
  for (const std::string& name : defines) {
    if (std::ranges::find(known, name) == known.end())
      node.fail("defines: '" + name + "' is no derived value" + did_you_mean(name, known));
    std::set<std::string> needed = {name};
    for (const space::Derived& value : std::views::reverse(derived)) {
      if (!needed.contains(value.name)) continue;
      for (const std::string& used : value.expression.names()) {
        if (used.find('.') != std::string::npos)
          node.fail(
              fmt::format("defines: '{}' rests on {}, which is not known when the source is "
                          "written; only parameters are",
                          name, used));
        needed.insert(used);
      }
    }
  }
}

Bottleneck read_limit(const YamlNode& node) {
  if (const auto limit = limit_of(node.text("moves"))) return *limit;
  std::vector<std::string> known;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(kLastLimit); ++i)
    known.push_back(to_text(static_cast<Bottleneck>(i)));
  node.fail(fmt::format("moves: {} is no limit; expected one of {}", quote_text(node.text("moves")),
                        fmt::join(known, ", ")));
}

std::vector<GeneMoves> read_moves(const YamlNode& node, std::vector<std::string> genes,
                                  const Constants& optional) {
  for (const auto& [gene, value] : optional) genes.push_back(gene);
  std::vector<GeneMoves> moves;
  for (const YamlEntry& entry : node.entries("moves")) {
    if (std::ranges::find(genes, entry.key) == genes.end())
      throw UserError(prefix(entry.key_mark) + "moves: " + quote_text(entry.key) +
                      " is no parameter of this template" + did_you_mean(entry.key, genes));
    GeneMoves& of_gene = moves.emplace_back(entry.key);
    for (const YamlNode& item : entry.value.items(entry.key))
      of_gene.limits.push_back(read_limit(item));
  }
  return moves;
}

std::string define_text(const Value& value) {
  if (const bool* truth = std::get_if<bool>(&value)) return *truth ? "1" : "0";
  const std::string text = to_text(value);
  if (std::holds_alternative<std::string>(value) && !is_qualified_name(text))
    throw UserError(quote_text(text) + ": text that goes into a kernel must be a name");
  return text;
}

}  // namespace

Template Template::load(const std::string& name, const std::filesystem::path& manifest) {
  const std::string text = read_file(manifest, kYamlFile);
  const YamlNode root = YamlNode::parse(text, manifest);
  if (!root.is_map()) root.expected("a template's manifest", "a map with `source`, `kernel`, ...");
  const std::filesystem::path source = manifest.parent_path() / root.at("source").text("source");
  source::FlatText flat = source::flatten(source, source::template_root(manifest));
  Template result = parse(name, text, flat.text, manifest);
  result.locate(std::move(flat.lines));
  return result;
}

Template Template::read(const std::string& name, const YamlNode& root) {
  root.check_keys("a template's manifest", form::kManifest);
  Template result;
  result.name_ = name;
  result.source_name_ = root.at("source").text("source");
  result.problem_ = root.at("problem").name("problem");
  result.parameters_ = names(root.at("parameters"), "parameters");
  if (const YamlNode* node = root.find("options"))
    result.options_ = source::compile_options(*node, result.parameters_);
  if (const YamlNode* node = root.find("optional"))
    for (const YamlEntry& entry : node->entries("optional"))
      result.optional_[entry.key] = entry.value.value(entry.key);
  if (const YamlNode* node = root.find("moves"))
    result.moves_ = read_moves(*node, result.parameters_, result.optional_);
  result.read_steps(root);
  if (const YamlNode* node = root.find("arch")) {
    result.arch_ = node->text("arch");
    const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
    if (!result.arch_.starts_with("sm_") || !std::ranges::all_of(result.arch_, plain))
      node->expected("arch", "an architecture such as sm_90a");
  }
  if (const YamlNode* node = root.find("derived"))
    result.derived_ = derived_values(*node, name, result.parameters_);
  if (const YamlNode* node = root.find("defines")) {
    if (node->is_map())
      node->expected("defines",
                     "a list of names from `derived` (a problem's `defines` are the map: numbers "
                     "and what rests on sizes)");
    result.defines_ = names(*node, "defines");
    check_defines(*node, result.defines_, result.derived_);
  }
  if (const YamlNode* node = root.find("requires"))
    for (const YamlNode& item : node->items("requires"))
      result.requirements_.push_back(requirement(item, name));
  return result;
}

Template Template::parse(const std::string& name, const std::string& manifest_text,
                         const std::string& cuda_text, const std::filesystem::path& manifest) {
  source::refuse_foreign_files(cuda_text, "template '" + name + "'");
  Template result = read(name, YamlNode::parse(manifest_text, manifest));
  result.manifest_text_ = manifest_text;
  result.take_text(cuda_text);
  return result;
}

Template Template::written_out(const std::string& name, const YamlNode& manifest,
                               const std::string& cuda_text, const Given& given) {
  source::refuse_foreign_files(cuda_text, prefix(manifest.mark()) + "template '" + name + "'");
  // The keys that are there keep their places for messages; the rest comes from a text of our own.
  std::string rest = "problem: " + given.problem + "\n";
  const auto list = [&](const char* key, const std::vector<std::string>& all) {
    rest += fmt::format("{}: [{}]\n", key, fmt::join(all, ", "));
  };
  list("parameters", given.parameters);
  // Of several kernels each says what it takes.
  if (manifest.find("steps") == nullptr) list("arguments", given.arguments);
  const YamlNode otherwise = YamlNode::parse(rest, manifest.mark().file);
  const YamlNode whole = manifest.completed(otherwise, {"include"});
  Template result = read(name, whole);
  for (const YamlEntry& entry : whole.entries("a template"))
    result.manifest_text_ += entry.key + ": " + entry.value.flow() + "\n";
  result.take_text(cuda_text);
  return result;
}

// The parameters' values in the places of their names.
std::string Template::instance_name(const std::string& kernel, const Config& config) const {
  return source::with_words(kernel, [&](const std::string& word) {
    const bool is_parameter = std::ranges::find(parameters_, word) != parameters_.end();
    const Value* value = is_parameter ? config.find(word) : nullptr;
    return value == nullptr ? word : define_text(*value);
  });
}

Source Template::render(
    const Config& config,
    const std::vector<std::pair<std::string, std::string>>& problem_defines) const {
  Source source;
  source.more = kernels(config);
  source.kernel = source.more.front();
  source.more.erase(source.more.begin());
  std::map<std::string, std::string> defined;
  const auto define = [&](const std::string& name, const std::string& text) {
    if (!defined.emplace(name, text).second)
      throw UserError(
          fmt::format("template '{}': {} is defined by the problem and again by the "
                      "template; rename it in the template",
                      name_, name));
    source.text += fmt::format("#define {} {}\n", name, text);
  };
  for (const auto& [name, text] : problem_defines) define(name, text);
  for (const std::string& name : parameters_) {
    const Value* value = config.find(name);
    if (value == nullptr)
      throw UserError(
          fmt::format("template '{}' takes {}, which the config {} does not have; add it to "
                      "the space's parameters for this template",
                      name_, name, config.to_json()));
    if (std::ranges::find(template_parameters_, name) == template_parameters_.end())
      define(name, define_text(*value));
    else
      source.text += fmt::format("// template parameter {} = {}\n", name, define_text(*value));
  }
  for (const auto& [name, otherwise] : optional_) {
    const Value* value = config.find(name);
    define(name, define_text(value == nullptr ? otherwise : *value));
  }
  if (!defines_.empty()) {
    const Constants none;
    const DerivedScope scope(config, none, optional_, derived_);
    for (const std::string& name : defines_) {
      const Value* value = scope.find(name);
      if (value == nullptr)
        throw UserError(fmt::format("template '{}': {} has no value for the config {}", name_, name,
                                    config.to_json()));
      define(name, define_text(*value));
    }
  }
  const auto before = static_cast<int>(std::ranges::count(source.text, '\n')) + 1;
  Origin origin{lines_.with_inserted(1, before, "the #define lines"), {}, template_parameters_};
  for (const auto& [name, text] : defined) origin.defined.push_back(name);
  source.origin = std::make_shared<const Origin>(std::move(origin));
  source.text += "\n" + source::with_unroll_factors(cuda_text_, [&](const std::string& word) {
                   const auto found = defined.find(word);
                   return found == defined.end() ? word : found->second;
                 });
  source.hash = sha256(source.text);
  return source;
}

}  // namespace fa_tune::kernel
