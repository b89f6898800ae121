#include "engine/space_file/space_file.hpp"

#include <algorithm>
#include <cctype>
#include <system_error>

#include "engine/community/t1/t1_file.hpp"
#include "engine/expression/python_expression.hpp"
#include "engine/space/space_files.hpp"
#include "engine/space/space_parts.hpp"
#include "engine/space_file/space_form.hpp"
#include "engine/util/file.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::space {
namespace {

// Names of spaces and profiles become parts of file names: letters, digits, and _ - . inside.
std::string file_name(const YamlNode& node, std::string_view what) {
  const std::string& text = node.text(what);
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  };
  if (text.empty() || text[0] == '.' || text[0] == '-' || !std::ranges::all_of(text, fits))
    node.expected(what, "a name (letters, digits, _ - .)");
  return text;
}

const std::string& key_name(const YamlEntry& entry, const char* what) {
  if (!is_identifier(entry.key))
    throw UserError(prefix(entry.key_mark) + what + " " + quote_text(entry.key) +
                    ": expected a name (letters, digits and _)");
  return entry.key;
}

expression::Expression expression(const YamlNode& node, std::string_view what) {
  return expression::Expression::parse(node.text(what), node.text_mark());
}

Value parameter_value(const YamlNode& node, const std::string& name) {
  return node.is_real() ? Value(node.number(name)) : node.value(name);
}

Parameter read_parameter(const YamlEntry& entry) {
  Parameter parameter;
  parameter.name = key_name(entry, "parameter");
  parameter.mark = entry.key_mark;
  if (parameter.name == kTemplateParameter)
    throw UserError(prefix(entry.key_mark) +
                    "parameter 'template' is made from `templates`, choose another name");
  const YamlNode* values = &entry.value;
  if (entry.value.is_map()) {
    entry.value.check_keys(parameter.name, form::kParameterMap);
    values = &entry.value.at("values");
    if (const YamlNode* when = entry.value.find("when")) parameter.when = expression(*when, "when");
  }
  for (const YamlNode& item : values->items(parameter.name))
    parameter.values.push_back(parameter_value(item, parameter.name));
  return parameter;
}

Constraint read_constraint(const YamlNode& node) {
  Constraint constraint{
      .expression = expression::Expression::parse("true"), .because = "", .only_for = ""};
  if (node.is_map()) {
    node.check_keys("constraint", form::kConstraintMap);
    const YamlNode* python = node.find("python");
    if (python != nullptr && node.find("expr") != nullptr)
      python->fail("a constraint is either `expr` or `python`");
    constraint.expression = python == nullptr ? expression(node.at("expr"), "expr")
                                              : expression::parse_python_condition(
                                                    python->text("python"), python->text_mark());
    if (const YamlNode* because = node.find("because"))
      constraint.because = because->text("because");
  } else {
    constraint.expression = expression(node, "constraint");
  }
  return constraint;
}

Preset read_preset(const YamlEntry& entry) {
  Preset preset;
  preset.name = key_name(entry, "preset");
  preset.mark = entry.key_mark;
  for (const YamlEntry& setting : entry.value.entries("preset")) {
    if (setting.key == "when")
      preset.when = expression(setting.value, "when");
    else
      preset.config.set(key_name(setting, "parameter"),
                        parameter_value(setting.value, setting.key));
  }
  return preset;
}

class SpaceFileReader {
 public:
  SpaceFileReader(const std::string& text, const std::filesystem::path& path)
      : root_(YamlNode::parse(text, path)) {
    file_.path = path;
    file_.text = text;
  }

  SpaceFile read() {
    root_.check_keys("a space file", form::kFile);
    file_.name = file_name(root_.at("space"), "space");
    file_.target = file_name(root_.at("target"), "target");
    file_.target_mark = root_.at("target").mark();
    read_problem(root_.at("problem"));
    read_templates(root_.at("templates"));
    if (const YamlNode* node = given("parameters"))
      for (const YamlEntry& entry : node->entries("parameters"))
        file_.parameters.push_back(read_parameter(entry));
    if (const YamlNode* node = given("derived"))
      for (const YamlEntry& entry : node->entries("derived"))
        file_.derived.push_back(
            {key_name(entry, "derived value"), expression(entry.value, entry.key), ""});
    if (const YamlNode* node = given("constraints"))
      for (const YamlNode& item : node->items("constraints"))
        file_.constraints.push_back(read_constraint(item));
    if (const YamlNode* node = given("presets"))
      for (const YamlEntry& entry : node->entries("presets"))
        file_.presets.push_back(read_preset(entry));
    if (const YamlNode* node = given("known_best"))
      for (const YamlEntry& entry : node->entries("known_best"))
        file_.known_best.push_back(read_preset(entry));
    if (const YamlNode* node = given("budget")) read_budget(*node);
    return std::move(file_);
  }

 private:
  // A part that may be left out, or left empty.
  const YamlNode* given(std::string_view key) const {
    const YamlNode* node = root_.find(key);
    return node == nullptr || node->is_null() ? nullptr : node;
  }

  void read_problem(const YamlNode& node) {
    (void)node.entries("problem");
    const YamlNode& kind = node.at("kind");
    file_.problem_kind = kind.name("kind");
    file_.problem_mark = kind.mark();
    if (file_.problem_kind == kCustomProblem) {
      file_.problem_settings.emplace_back(kCustomText, file_.text);
      return;
    }
    for (const YamlEntry& entry : node.entries("problem"))
      if (entry.key != "kind") read_setting(key_name(entry, "problem setting"), entry.value);
  }

  // Maps, and lists that are a setting by themselves, become one setting for each of their values:
  // "shape.B", "window.0".
  void read_setting(const std::string& path, const YamlNode& node) {
    if (node.is_list() && path.find('.') == std::string::npos) {
      const std::vector<YamlNode>& items = node.items(path);
      for (std::size_t i = 0; i < items.size(); ++i)
        read_setting(path + "." + std::to_string(i), items[i]);
      return;
    }
    if (!node.is_map()) {
      file_.problem_settings.emplace_back(
          path, node.is_real() ? Value(node.number(path)) : node.value(path));
      return;
    }
    for (const YamlEntry& entry : node.entries(path))
      read_setting(path + "." + key_name(entry, "problem setting"), entry.value);
  }

  void read_templates(const YamlNode& node) {
    Parameter choice;
    choice.name = kTemplateParameter;
    choice.mark = node.mark();
    for (const YamlEntry& entry : node.entries("templates")) {
      const std::string& name = key_name(entry, "template");
      if (entry.value.is_map()) {
        file_.own_templates[name] = {entry.value, carried_file(root_, entry.value.at("source"))};
        file_.templates.emplace_back(name, "");
      } else {
        const std::string& manifest = entry.value.text(name);
        if (manifest.empty()) entry.value.expected(name, "the path of a manifest");
        file_.templates.emplace_back(name, manifest);
      }
      file_.template_marks[name] = entry.key_mark;
      choice.values.emplace_back(name);
    }
    if (choice.values.empty()) node.fail("templates: expected at least one, found none");
    file_.parameters.push_back(std::move(choice));
  }

  void read_budget(const YamlNode& node) {
    node.check_keys("budget", form::kBudget);
    if (const YamlNode* trials = node.find("trials"))
      file_.budget_trials = static_cast<int>(trials->integer("trials", 1, 1'000'000'000));
    double seconds = 0;
    for (const auto& [key, unit] : {std::pair{"minutes", 60.0}, std::pair{"seconds", 1.0}}) {
      const YamlNode* time = node.find(key);
      if (time == nullptr) continue;
      const double number = time->number(key);
      if (number <= 0 || number > 1e9) time->expected(key, "a number above 0");
      seconds += number * unit;
    }
    if (seconds > 0) file_.budget_seconds = seconds;
  }

  YamlNode root_;
  SpaceFile file_;
};

std::vector<std::string> shipped_spaces(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".yaml" && entry->is_regular_file(error))
      names.push_back(entry->path().stem().string());
  std::ranges::sort(names);
  return names;
}

}  // namespace

SpaceFile parse_space_file(const std::string& text, const std::filesystem::path& path) {
  if (community::looks_like_t1(text))
    throw UserError(path.string() +
                    ": is a T1 file: `fa-tune space` counts, checks and samples it, but `evolve "
                    "--reference` runs its kernel; expected a space in YAML");
  return SpaceFileReader(text, path).read();
}

std::filesystem::path find_space_file(const std::string& name, const std::filesystem::path& root) {
  const std::filesystem::path folder = root / "search_spaces";
  for (const std::filesystem::path& path :
       {std::filesystem::path(name), std::filesystem::path(name + ".yaml"), folder / name,
        folder / (name + ".yaml")}) {
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error)) return path;
  }
  std::error_code error;
  if (!name.empty() && std::filesystem::is_directory(name, error))
    throw UserError("space " + quote_text(name) + ": is a folder, expected a space file");
  const std::vector<std::string> shipped = shipped_spaces(folder);
  std::string known;
  for (const std::string& space : shipped) known += (known.empty() ? "" : ", ") + space;
  throw UserError("space " + quote_text(name) + ": no such file, and none of the shipped spaces (" +
                  (known.empty() ? "none in " + folder.string() : known) + ")" +
                  did_you_mean(std::filesystem::path(name).stem().string(), shipped));
}

SpaceFile load_space_file(const std::string& name, const std::filesystem::path& root) {
  const std::filesystem::path path = find_space_file(name, root);
  source::SourceMaps lines;
  SpaceFile file =
      parse_space_file(with_files(read_file(path, kYamlFile), path, root, &lines), path);
  file.source_lines = std::move(lines);
  return file;
}

}  // namespace fa_tune::space
