#include "tools/lone/launch_file.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/yaml/yaml.hpp"
#include "tools/lone/ptx_entry.hpp"

namespace fa_tune::lone {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostOffset = std::int64_t{1} << 32;

class LaunchReader {
 public:
  explicit LaunchReader(const fs::path& file)
      : folder_(file.parent_path()),
        root_(YamlNode::parse(read_file(file, kYamlFile), file)),
        name_(file.string()) {}

  LaunchFile run() {
    root_.check_keys("launch", {"file", "kernel", "device", "grid", "block", "cluster", "shared",
                                "cooperative", "programmatic", "accept", "buffers", "args"});
    result_.source.file = beside(root_.at("file"), "file");
    result_.source.kernel = text_or_nothing(root_, "kernel");
    result_.device = text_or_nothing(root_, "device");
    result_.launch.config = config();
    if (const YamlNode* accepted = root_.find("accept"))
      for (const YamlNode& each : accepted->items("accept")) {
        if (each.text("accept") != kUnfencedMbarriers)
          each.expected("accept", std::string(kUnfencedMbarriers));
        result_.launch.checks.unfenced_mbarriers = true;
      }
    if (const YamlNode* buffers = root_.find("buffers"))
      for (const YamlEntry& entry : buffers->entries("buffers")) add_buffer(entry);
    if (const YamlNode* arguments = root_.find("args"))
      for (const YamlNode& item : arguments->items("args")) add_argument(item);
    return std::move(result_);
  }

 private:
  static std::string text_or_nothing(const YamlNode& node, std::string_view key) {
    const YamlNode* found = node.find(key);
    return found == nullptr ? "" : found->text(key);
  }

  // Links followed: a folder of a stranger's may hold some that lead elsewhere.
  bool is_within(const fs::path& path) const {
    std::error_code error;
    const fs::path home = fs::canonical(fs::current_path() / folder_, error);
    const fs::path there = fs::weakly_canonical(home / path, error);
    return !error && !path.empty() && !path.is_absolute() &&
           std::ranges::mismatch(home, there).in1 == home.end();
  }

  // A file of the launch file's folder.
  fs::path beside(const YamlNode& node, std::string_view what) const {
    const fs::path path = node.text(what);
    if (!is_within(path)) node.expected(what, "a file in the folder of the launch file");
    return folder_ / path;
  }

  std::optional<Dim3> sizes(std::string_view key) const {
    const YamlNode* node = root_.find(key);
    if (node == nullptr) return std::nullopt;
    const auto& items = node->items(key);
    if (items.empty() || items.size() > 3)
      node->expected(key, "a list of one to three sizes, x first");
    std::uint32_t size[3] = {1, 1, 1};
    for (std::size_t i = 0; i < items.size(); ++i)
      size[i] = static_cast<std::uint32_t>(
          items[i].integer(key, 1, std::numeric_limits<std::int32_t>::max()));
    return Dim3{size[0], size[1], size[2]};
  }

  LaunchConfig config() {
    LaunchConfig config;
    std::optional<Dim3> block = sizes("block");
    std::optional<Dim3> cluster = sizes("cluster");
    if (result_.source.file.extension() == ".ptx") {
      const PtxEntry entry = choose_entry(read_file(result_.source.file, kProgramFile),
                                          result_.source.kernel, result_.source.file.string());
      result_.source.kernel = entry.name;
      if (!block) block = entry.block;
      if (!cluster) cluster = entry.cluster;
    }
    if (result_.source.kernel.empty()) root_.fail("a launch needs 'kernel'");
    if (!block) root_.fail("a launch needs 'block' where the PTX has no .reqntid");
    config.grid = sizes("grid").value_or(Dim3{});
    config.block = *block;
    config.cluster = cluster.value_or(Dim3{});
    if (const YamlNode* shared = root_.find("shared"))
      config.dynamic_shared_bytes =
          static_cast<std::uint32_t>(shared->integer("shared", 0, 1 << 30));
    if (const YamlNode* cooperative = root_.find("cooperative"))
      config.cooperative = cooperative->boolean("cooperative");
    if (const YamlNode* programmatic = root_.find("programmatic"))
      config.programmatic = programmatic->boolean("programmatic");
    return config;
  }

  // A spec as the command line has it; errors at the node it comes from.
  ArgumentSpec parse(const YamlNode& node, const std::string& text) const {
    try {
      ArgumentSpec spec = parse_argument(text);
      if (spec.fill.kind == Fill::Kind::file) {
        const fs::path path = spec.fill.file;
        if (!is_within(path))
          node.fail(quote_text(spec.fill.file) + " is no file in the folder of the launch file");
        spec.fill.file = (folder_ / path).string();
      }
      return spec;
    } catch (const UserError& error) {
      const std::string what = error.what();
      if (what.starts_with(name_)) throw;
      node.fail(what);
    }
  }

  void add_buffer(const YamlEntry& entry) {
    const YamlNode& node = entry.value;
    node.check_keys(entry.key, {"dtype", "shape", "fill", "save", "addresses"});
    std::string shape;
    for (const YamlNode& size : node.at("shape").items("shape"))
      shape += (shape.empty() ? "" : "x") + std::to_string(size.integer("shape", 1, kMostOffset));
    const std::string fill = text_or_nothing(node, "fill");
    const YamlNode* save = node.find("save");
    // What nobody reads afterwards may be written all the same: a buffer is a buffer.
    ArgumentSpec spec =
        parse(node, fmt::format("inout:{}[{}]{}", node.at("dtype").text("dtype"),
                                shape.empty() ? "1" : shape, fill.empty() ? "" : "=" + fill));
    if (save == nullptr) spec.role = ArgumentSpec::Role::in;
    spec.is_passed = false;
    spec.text = fmt::format("{} {}", entry.key, spec.text.substr(sizeof("inout:") - 1));
    if (const YamlNode* addresses = node.find("addresses"))
      for (const YamlNode& address : addresses->items("addresses"))
        spec.addresses.push_back(address_of(address, spec));
    if (save != nullptr) {
      const fs::path path = beside(*save, "save");
      if (path.extension() != ".npy" || fs::is_symlink(path))
        save->expected("save", "a .npy file that is no link");
      result_.saves.emplace_back(result_.launch.arguments.size(), path);
    }
    if (!buffers_.emplace(entry.key, result_.launch.arguments.size()).second)
      node.fail(quote_text(entry.key) + " is there twice");
    result_.launch.arguments.push_back(std::move(spec));
  }

  StoredAddress address_of(const YamlNode& node, const ArgumentSpec& spec) const {
    node.check_keys("addresses", {"element", "buffer", "offset"});
    if (size_of(spec.element) != sizeof(std::uint64_t))
      node.fail("addresses are held by buffers of i64 and u64 alone");
    const auto most = static_cast<std::int64_t>(spec.elements()) - 1;
    return {static_cast<std::uint64_t>(node.at("element").integer("element", 0, most)),
            place_of(node)};
  }

  BufferPlace place_of(const YamlNode& node) const {
    const std::string& name = node.at("buffer").text("buffer");
    const auto found = buffers_.find(name);
    if (found == buffers_.end())
      node.fail(fmt::format("there is no buffer {} before this", quote_text(name)));
    BufferPlace place{found->second, 0};
    if (const YamlNode* offset = node.find("offset"))
      place.offset = static_cast<std::uint64_t>(offset->integer("offset", 0, kMostOffset));
    return place;
  }

  void add_argument(const YamlNode& item) {
    if (!item.is_map()) {
      result_.launch.arguments.push_back(parse(item, item.text("args")));
      return;
    }
    item.check_keys("args", {"buffer", "offset", "map"});
    ArgumentSpec spec;
    if (const YamlNode* map = item.find("map")) {
      spec = parse(item, "tmap:" + map->text("map"));
      spec.place = place_of(item);
      const ArgumentSpec& over = result_.launch.arguments[spec.place->argument];
      if (spec.place->offset != 0 || spec.bytes() > over.bytes())
        item.fail("a tensor map begins where its buffer begins, and is no larger");
    }
    spec.place = place_of(item);
    spec.text = item.at("buffer").text("buffer");
    result_.launch.arguments.push_back(std::move(spec));
  }

  fs::path folder_;
  YamlNode root_;
  std::string name_;
  LaunchFile result_;
  std::map<std::string, std::size_t> buffers_;
};

}  // namespace

LaunchFile LaunchFile::load(const fs::path& file) { return LaunchReader(file).run(); }

std::vector<fs::path> launch_files_of(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  if (files.empty()) throw UserError(folder.string() + ": holds no launch (.json)");
  std::ranges::sort(files);
  return files;
}

}  // namespace fa_tune::lone
