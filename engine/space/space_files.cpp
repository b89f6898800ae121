#include "engine/space/space_files.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "engine/source/include_flattening.hpp"
#include "engine/util/file.hpp"
#include "engine/util/hash.hpp"
#include "engine/yaml/value.hpp"

namespace fa_tune::space {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostBytes = 256 << 10;

// A folder that sources may lie in.
bool holds(const fs::path& folder, const fs::path& source) {
  std::error_code error;
  return fs::is_regular_file(folder / source, error);
}

source::FlatText read_flat(const YamlNode& source, const YamlNode* include, const fs::path& own,
                           const fs::path& shipped) {
  const std::string& name = source.text("source");
  if (fs::path(name).is_absolute() || name.empty())
    source.expected("source", "the path of a CUDA file within the space's folder");
  const fs::path& folder = holds(own, name) ? own : shipped;
  if (!holds(folder, name)) source.fail("there is no file " + quote_text((own / name).string()));
  std::error_code error;
  if (fs::file_size(folder / name, error) > kMostBytes)
    source.fail(quote_text(name) + " is larger than 256 KiB");
  std::vector<std::string> folders;
  if (include != nullptr) folders = include->texts("include");
  try {
    return source::flatten(folder / name, folder, folders);
  } catch (const UserError& refused) {
    source.fail(refused.what());
  }
}

// Every map with a `source` of its own, in the order of the file.
std::vector<const YamlNode*> maps_with_source(const YamlNode& root) {
  std::vector<const YamlNode*> found;
  for (const char* section : {"problem", "templates"}) {
    const YamlNode* node = root.find(section);
    if (node == nullptr || !node->is_map()) continue;
    for (const YamlEntry& entry : node->entries(section))
      if (entry.value.find("source") != nullptr) found.push_back(&entry.value);
  }
  return found;
}

// The .npy files that a problem names: what fills its arguments, and what is expected of them.
std::vector<const YamlNode*> array_names(const YamlNode& root) {
  std::vector<const YamlNode*> names;
  const YamlNode* problem = root.find("problem");
  const YamlNode* arguments = problem == nullptr ? nullptr : problem->find("arguments");
  if (arguments != nullptr && arguments->is_list())
    for (const YamlNode& argument : arguments->items("arguments"))
      if (const YamlNode* fill = argument.find("fill"))
        if (const YamlNode* file = fill->find("file")) names.push_back(file);
  const YamlNode* expected = problem == nullptr ? nullptr : problem->find("expected");
  if (expected != nullptr && expected->is_map())
    for (const YamlEntry& entry : expected->entries("expected")) names.push_back(&entry.value);
  return names;
}

// What a space is to carry: as lines of a block, and as the value of a flow.
struct Entry {
  std::string name;
  std::string block;
  std::string flow;
};

// Where one lies and what it is: too large for a text, it is known again by its hash.
Entry array_entry(const YamlNode& node, const fs::path& own) {
  const std::string& name = node.text("file");
  std::error_code error;
  const fs::path root = fs::weakly_canonical(own, error),
                 at = fs::weakly_canonical(own / name, error);
  if (error) node.fail(quote_text(name) + ": " + error.message());
  if (std::ranges::mismatch(root, at).in1 != root.end())
    node.fail(quote_text(name) + " lies outside " + root.string());
  if (!fs::is_regular_file(at, error)) node.fail("there is no file " + quote_text(at.string()));
  const std::string value = fmt::format("{{at: {}, sha256: {}}}", to_json(Value(at.string())),
                                        sha256_of_file(at, kArrayFile));
  return {name, fmt::format("  {}: {}\n", to_json(Value(name)), value), value};
}

// Where the bracket stands that closes a space written as one flow (as JSON is); npos in a space of
// blocks. What is quoted or a comment closes nothing: a quote begins a text only where one may
// begin.
std::size_t end_of_flow(const std::string& text) {
  int depth = 0;
  char before = ',';  // the last character that is no blank
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool begins = std::string_view(",:[{").find(before) != std::string_view::npos;
    if (c == '#' && (at == 0 || std::isspace(static_cast<unsigned char>(text[at - 1])) != 0)) {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (std::isspace(static_cast<unsigned char>(c)) != 0) continue;
    if (depth == 0 && c != '{' && c != '-') return std::string::npos;
    if (begins && (c == '"' || c == '\'')) {
      // A '' within '...' ends one text and begins the next, which comes to the same.
      for (++at; at < text.size() && text[at] != c; ++at)
        if (c == '"' && text[at] == '\\') ++at;
      if (c == '\'' && at + 1 < text.size() && text[at + 1] == c) {
        before = ',';
        continue;
      }
    }
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return at;
    before = c;
  }
  return std::string::npos;
}

// The text of a space with another section at its end.
std::string with_section(const std::string& text, const std::string& name,
                         const std::vector<Entry>& entries) {
  if (entries.empty()) return text;
  const std::size_t end = end_of_flow(text);
  const bool flow = end != std::string::npos;
  std::string written;
  for (const Entry& each : entries) {
    const std::string key = to_json(Value(each.name));
    if (flow)
      written += (written.empty() ? "" : ",\n ") + key + ": " + each.flow;
    else
      written += each.block;
  }
  if (!flow) return text + (text.ends_with('\n') ? "" : "\n") + name + ":\n" + written;
  const std::size_t last = text.find_last_not_of(" \t\r\n", end - 1);
  const char* comma = text[last] == ',' ? "" : ",";
  return text.substr(0, end) + fmt::format("{}\n\"{}\": {{\n {}\n}}", comma, name, written) +
         text.substr(end);
}

}  // namespace

std::string carried(const std::string& name, const std::string& text) {
  std::string written = "  " + to_json(Value(name)) + ": |2+\n";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    written += line.empty() ? "\n" : "    " + line + "\n";
  return written;
}

std::string with_files(const std::string& text, const fs::path& path, const fs::path& root,
                       source::SourceMaps* lines) {
  const YamlNode space = YamlNode::parse(text, path);
  if (!space.is_map()) return text;
  const YamlNode* files = space.find("files");
  const fs::path own = fs::absolute(path).parent_path();
  std::vector<Entry> added;
  std::set<std::string> seen;
  for (const YamlNode* map : maps_with_source(space)) {
    const YamlNode& source = map->at("source");
    const std::string& name = source.text("source");
    const bool is_there = files != nullptr && files->find(name) != nullptr;
    if (is_there || !seen.insert(name).second) continue;
    source::FlatText flat = read_flat(source, map->find("include"), own, root / "kernel_templates");
    const char* end = flat.text.ends_with('\n') ? "" : "\n";
    added.push_back({name, carried(name, flat.text), to_json(Value(flat.text + end))});
    if (lines != nullptr) lines->insert_or_assign(name, std::move(flat.lines));
  }
  std::vector<Entry> arrays;
  std::set<std::string> seen_arrays;
  const YamlNode* known = space.find("arrays");
  for (const YamlNode* node : array_names(space)) {
    const bool is_there = known != nullptr && known->find(node->text("file")) != nullptr;
    if (!is_there && seen_arrays.insert(node->text("file")).second)
      arrays.push_back(array_entry(*node, own));
  }
  if (!arrays.empty() && known != nullptr)
    known->fail("arrays: it knows some of its files and not all");
  if (!added.empty() && files != nullptr)
    files->fail("files: it carries some of its sources and not all: add the others or none");
  return with_section(with_section(text, "arrays", arrays), "files", added);
}

const std::string& carried_file(const YamlNode& space, const YamlNode& source) {
  const std::string& name = source.text("source");
  const YamlNode* files = space.find("files");
  const YamlNode* file = files == nullptr ? nullptr : files->find(name);
  if (file == nullptr) source.fail("the text of " + quote_text(name) + " is not under `files`");
  return file->text("files");
}

}  // namespace fa_tune::space
