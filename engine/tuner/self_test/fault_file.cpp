#include "engine/tuner/self_test/fault_file.hpp"

#include <algorithm>

#include "engine/yaml/yaml.hpp"

namespace fa_tune::tuner {
namespace {

using Settings = std::vector<std::pair<std::string, Value>>;

void set(Settings& settings, const std::string& name, Value value) {
  const auto found =
      std::ranges::find(settings, name, [](const auto& setting) { return setting.first; });
  if (found == settings.end())
    settings.emplace_back(name, std::move(value));
  else
    found->second = std::move(value);
}

// Every leaf by its dotted path, as a space file's problem has them.
void read_settings(const YamlNode& node, const std::string& path, Settings& settings) {
  if (!node.is_map()) return set(settings, path, node.value(path));
  for (const YamlEntry& entry : node.entries("problem"))
    read_settings(entry.value, path.empty() ? entry.key : path + "." + entry.key, settings);
}

void read_config(const YamlNode& node, Config& config) {
  for (const YamlEntry& entry : node.entries("a config"))
    config.set(entry.key, entry.value.value(entry.key));
}

class Reader {
 public:
  Reader(const YamlNode& root, const std::string& template_name) : root_(root) {
    root_.check_keys("a fault file", {"problem", "base", "faults", "cheats"});
    base_.set("template", template_name);
    read_config(root_.at("base"), base_);
    if (const YamlNode* problem = root_.find("problem")) read_settings(*problem, "", problem_);
  }

  std::vector<PlantedFault> all() const {
    std::vector<PlantedFault> faults;
    for (const char* list : {"faults", "cheats"}) {
      const YamlNode* node = root_.find(list);
      if (node == nullptr) continue;
      for (const YamlNode& item : node->items(list)) {
        faults.push_back(fault(item));
        faults.back().cheat = list == std::string("cheats");
      }
    }
    return faults;
  }

 private:
  PlantedFault fault(const YamlNode& node) const {
    node.check_keys("a fault", {"name", "kind", "builds", "says", "change", "manifest", "append",
                                "config", "problem"});
    PlantedFault made;
    made.name = node.at("name").text("name");
    made.kind = node.at("kind").name("kind");
    made.config = base_;
    made.problem = problem_;
    made.mark = node.mark();
    if (const YamlNode* builds = node.find("builds")) made.builds = builds->boolean("builds");
    if (const YamlNode* says = node.find("says")) made.says = says->name("says");
    if (const YamlNode* append = node.find("append")) made.append = append->text("append");
    if (const YamlNode* config = node.find("config")) read_config(*config, made.config);
    if (const YamlNode* problem = node.find("problem")) read_settings(*problem, "", made.problem);
    const YamlNode* manifest = node.find("manifest");
    if (manifest != nullptr) made.manifest_changes = changes(*manifest, "manifest");
    if (manifest == nullptr || node.find("change") != nullptr)
      made.changes = changes(node.at("change"), "change");
    return made;
  }

  static std::vector<std::pair<std::string, std::string>> changes(const YamlNode& node,
                                                                  const char* what) {
    std::vector<std::pair<std::string, std::string>> all;
    for (const YamlNode& change : node.items(what)) {
      change.check_keys("a change", {"from", "to"});
      // An empty text is no missing one here.
      const YamlNode* to = change.find("to");
      all.emplace_back(change.at("from").text("from"), to == nullptr ? "" : to->text("to"));
    }
    return all;
  }

  const YamlNode& root_;
  Config base_;
  Settings problem_;
};

}  // namespace

std::vector<PlantedFault> parse_fault_file(const std::string& text,
                                           const std::filesystem::path& path,
                                           const std::string& template_name) {
  const YamlNode root = YamlNode::parse(text, path);
  return Reader(root, template_name).all();
}

std::filesystem::path fault_file_of(const std::filesystem::path& manifest) {
  return manifest.parent_path() / "faults" / manifest.filename();
}

kernel::Template plant(const kernel::Template& sound, const PlantedFault& fault) {
  const auto changed = [&](std::string text, const auto& changes, const char* where) {
    for (const auto& [from, to] : changes) {
      const std::size_t place = text.find(from);
      if (place == std::string::npos || text.find(from, place + 1) != std::string::npos)
        throw UserError(prefix(fault.mark) + "'" + fault.name +
                        "': expected this text exactly once in the " + where + ": " +
                        quote_text(from));
      text.replace(place, from.size(), to);
    }
    return text;
  };
  std::string text = changed(sound.cuda_text(), fault.changes, "template");
  const std::string manifest = changed(sound.manifest_text(), fault.manifest_changes, "manifest");
  if (!fault.append.empty()) text += "\n" + fault.append;
  return kernel::Template::parse(sound.name(), manifest, text, fault.mark.file);
}

}  // namespace fa_tune::tuner
