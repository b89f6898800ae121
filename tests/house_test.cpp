// What keeps the house in order: how many modules a folder may have, that no folder includes one
// above it, that a file's namespace is its folder's, and words that were given up.
#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "engine/util/file.hpp"

namespace fs = std::filesystem;

namespace {

const fs::path kRoot = FA_TUNE_ROOT;

bool is_cpp(const fs::path& path) {
  return path.extension() == ".cpp" || path.extension() == ".hpp";
}

// Every file below one of `folders`, its path from the root. Recorded results are left out.
std::vector<fs::path> files(const std::vector<std::string>& folders) {
  std::vector<fs::path> found;
  for (const std::string& folder : folders)
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const fs::path path = entry.path().lexically_relative(kRoot);
      if (entry.is_regular_file() && !path.string().starts_with("tools/bench/results"))
        found.push_back(path);
    }
  return found;
}

// The folders that each folder includes.
using Includes = std::map<std::string, std::set<std::string>>;

Includes includes() {
  static const std::regex line(R"(#include "((engine|db)/[^"]*)/[^/"]*")");
  Includes found;
  for (const fs::path& path : files({"engine", "db"})) {
    if (!is_cpp(path)) continue;
    const std::string text = fa_tune::read_file(kRoot / path);
    const std::string folder = path.parent_path().string();
    for (std::sregex_iterator each(text.begin(), text.end(), line), end; each != end; ++each)
      if ((*each)[1] != folder) found[folder].insert((*each)[1]);
  }
  return found;
}

// A cycle that can be reached from `folder`, as "a -> b -> a"; empty if there is none.
std::string cycle_from(const Includes& includes, const std::string& folder,
                       std::vector<std::string>& path, std::set<std::string>& done) {
  if (done.contains(folder)) return {};
  if (std::ranges::find(path, folder) != path.end()) {
    std::string text;
    for (const std::string& each : path) text += each + " -> ";
    return text + folder;
  }
  path.push_back(folder);
  if (const auto found = includes.find(folder); found != includes.end())
    for (const std::string& next : found->second)
      if (auto cycle = cycle_from(includes, next, path, done); !cycle.empty()) return cycle;
  path.pop_back();
  done.insert(folder);
  return {};
}

// The namespace that the files of a folder have. `util`, `model` and `yaml` hold the words that
// everybody uses.
std::string namespace_of(const std::string& path) {
  static const std::vector<std::pair<std::string, std::string>> others = {
      {"engine/util/", "fa_tune"},
      {"engine/model/", "fa_tune"},
      {"engine/yaml/", "fa_tune"},
      {"engine/space_file/", "fa_tune::space"},
      {"engine/export/", "fa_tune::exports"},
      {"engine/device/cuda/", "fa_tune::cuda"},
      {"engine/device/emulator/", "fa_tune::emulator"}};
  for (const auto& [folder, name] : others)
    if (path.starts_with(folder)) return name;
  static const std::regex first("(?:engine/|tools/)?(\\w+)/.*");
  std::smatch found;
  std::regex_match(path, found, first);
  return "fa_tune::" + found.str(1);
}

// The namespaces that a file opens, but for those in which it only names a class of another folder.
std::set<std::string> opened_by(const std::string& text) {
  static const std::regex names_a_class(
      "\nnamespace [\\w:]+ \\{\n((class|struct|enum class) [^\n{]*;[^\n]*\n)+\\}");
  static const std::regex line("\nnamespace (fa_tune[\\w:]*) \\{");
  const std::string rest = std::regex_replace(text, names_a_class, "");
  std::set<std::string> found;
  for (std::sregex_iterator each(rest.begin(), rest.end(), line), end; each != end; ++each)
    found.insert((*each)[1]);
  return found;
}

}  // namespace

TEST_CASE("house: a folder has at most 25 modules") {
  std::map<std::string, std::set<std::string>> modules;
  for (const fs::path& path : files({"engine", "db"}))
    if (is_cpp(path)) modules[path.parent_path().string()].insert(path.stem().string());
  CHECK(modules.size() > 50);
  for (const auto& [folder, names] : modules)
    CHECK_MESSAGE(names.size() <= 25, folder << " has " << names.size());
}

// Kernels and sources may be strangers': what runs or compiles them in the process that asks is for
// workers. All others open devices and compilers by engine/worker/open.hpp.
TEST_CASE("house: only workers run kernels and compile sources") {
  static const std::regex door(
      "#include \"engine/(device/local/(open|emulated)|device/cuda/\\w+|"
      "device/emulator/(decode|exec)/\\w+|kernel/compile/nvrtc_\\w+)\\.hpp\"");
  static const std::set<std::string> exceptions = {
      "tools/commands/worker.cpp",  // the worker, and what Nsight Compute is started over
      "tools/commands/doctor.cpp",  // names the NVRTC that workers would open, and compiles nothing
  };
  static const std::vector<std::string> within = {"engine/device/", "engine/kernel/compile/",
                                                  "tools/bench/"};
  int doors = 0;
  for (const fs::path& path : files({"engine", "db", "tools"})) {
    const std::string name = path.string();
    if (!is_cpp(path) || std::ranges::any_of(within, [&](const std::string& folder) {
          return name.starts_with(folder);
        }))
      continue;
    const std::string text = fa_tune::read_file(kRoot / path);
    const bool opens = std::regex_search(text, door);
    doors += opens;
    CHECK_MESSAGE(opens == exceptions.contains(name), name);
  }
  CHECK(doors == static_cast<int>(exceptions.size()));
}

TEST_CASE("house: no folder includes one that includes it") {
  const Includes found = includes();
  CHECK(found.size() > 50);
  std::set<std::string> done;
  for (const auto& [folder, _] : found) {
    std::vector<std::string> path;
    CHECK(cycle_from(found, folder, path, done) == "");
  }
}

TEST_CASE("house: a file's namespace is its folder's") {
  int seen = 0;
  for (const fs::path& path : files({"engine", "db", "tools/commands", "tools/command_line",
                                     "tools/lone", "tools/terminal", "tools/bench"})) {
    if (!is_cpp(path)) continue;
    const std::string own = namespace_of(path.string());
    for (const std::string& name : opened_by(fa_tune::read_file(kRoot / path))) {
      ++seen;
      // Each part lists the fields of its types where the serializer finds them.
      const bool same = name == own || name == "fa_tune::wire" ||
                        (own != "fa_tune" && name.starts_with(own + "::"));
      CHECK_MESSAGE(same, path.string() << " opens " << name << ", not " << own);
    }
  }
  CHECK(seen > 500);
}

TEST_CASE("house: words that were given up stay away") {
  // As words of their own, in any case. What they were is in the history.
  static const std::regex old_words(
      "\\b(desk|ledger|duels?|contenders?|clocked|whence|taken_apart|worker_lives|try_once|"
      "soften|soften_meanwhile|persistent_state|parked_buffers|limit_ranks|judge[ds]?|judging|"
      "looked_at|"
      "refuse_final|refuse_deadly|right kernels?)\\b",
      std::regex::icase);
  for (const fs::path& path : files({"engine", "db", "tools", "tests", "kernel_templates"})) {
    static const std::set<std::string> kinds = {".cpp", ".hpp", ".cu", ".cuh", ".yaml",
                                                ".md",  ".sh",  ".py", ".sql", ".txt"};
    if (!kinds.contains(path.extension().string()) || path.filename() == "house_test.cpp") continue;
    const std::string text = fa_tune::read_file(kRoot / path);
    std::smatch found;
    const bool there = std::regex_search(text, found, old_words);
    CHECK_MESSAGE(!there, path.string() << ": " << (there ? found.str() : ""));
  }
}
