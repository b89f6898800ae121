#include "engine/source/include_flattening.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>

#include "engine/source/host_functions.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::source {
namespace {

using namespace std::literals;

// C's headers; with a 'c' before and no ".h", those of C++ that hold the same.
constexpr std::array kC = {"assert"sv, "float"sv,  "limits"sv, "math"sv,   "stdarg"sv, "stdbool"sv,
                           "stddef"sv, "stdint"sv, "stdio"sv,  "stdlib"sv, "string"sv, "time"sv};
// The toolkit's, by how their paths begin.
constexpr std::array kToolkit = {"builtin_types.h"sv,
                                 "channel_descriptor.h"sv,
                                 "cooperative_groups"sv,
                                 "crt/"sv,
                                 "cub/"sv,
                                 "cuComplex.h"sv,
                                 "cuda.h"sv,
                                 "cuda/"sv,
                                 "cuda_"sv,
                                 "curand"sv,
                                 "device_"sv,
                                 "driver_"sv,
                                 "math_"sv,
                                 "mma.h"sv,
                                 "nv/"sv,
                                 "sm_"sv,
                                 "texture_"sv,
                                 "thrust/"sv,
                                 "vector_"sv};

}  // namespace

bool is_library_header(std::string_view name) {
  const auto begins = [&](std::string_view beginning) { return name.starts_with(beginning); };
  if (std::ranges::any_of(kToolkit, begins)) return true;
  if (name.ends_with(".h"))
    name.remove_suffix(2);
  else if (name.starts_with('c'))
    name.remove_prefix(1);
  else
    return false;
  return std::ranges::find(kC, name) != kC.end();
}

namespace {

namespace fs = std::filesystem;

std::string_view skip_spaces(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

// What stands behind "# directive" at the start of the line.
std::optional<std::string_view> after_directive(std::string_view line, std::string_view directive) {
  line = skip_spaces(line);
  if (!line.starts_with('#')) return std::nullopt;
  line = skip_spaces(line.substr(1));
  if (!line.starts_with(directive)) return std::nullopt;
  return skip_spaces(line.substr(directive.size()));
}

std::optional<std::string> included_name(std::string_view line) {
  const auto rest = after_directive(line, "include");
  if (!rest || !rest->starts_with('"')) return std::nullopt;
  const std::size_t end = rest->find('"', 1);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(rest->substr(1, end - 1));
}

bool is_pragma_once(std::string_view line) {
  const auto rest = after_directive(line, "pragma");
  return rest && rest->starts_with("once");
}

// Whether a /* comment is open at the end of the line, given whether one was at its start.
bool comment_open_after(std::string_view line, bool open) {
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::string_view rest = line.substr(i);
    if (open) {
      if (rest.starts_with("*/")) {
        open = false;
        ++i;
      }
    } else if (quote != '\0') {
      if (line[i] == '\\')
        ++i;
      else if (line[i] == quote)
        quote = '\0';
    } else if (rest.starts_with("//")) {
      return false;
    } else if (rest.starts_with("/*")) {
      open = true;
      ++i;
    } else if (line[i] == '"') {
      quote = '"';
    }
  }
  return open;
}

// How a file begins that defines genes for a compiler that is given a template by itself.
constexpr std::string_view kDefaults = "// fa-tune: defaults";

class Flattener {
 public:
  Flattener(const fs::path& root, const std::vector<std::string>& folders)
      : root_(root), real_root_(fs::weakly_canonical(root)), folders_{root / "include"} {
    for (const std::string& folder : folders) folders_.push_back(root / folder);
  }

  FlatText start(const fs::path& file) {
    std::error_code error;
    if (!fs::is_regular_file(file, error))
      throw UserError(file.string() + ": there is no such file; a manifest's `source` names it");
    check_inside(file, Mark{file.string()});
    append(file);
    return {std::move(text_), std::move(lines_)};
  }

 private:
  // The line that is read.
  struct From {
    const fs::path& file;
    std::string name;
    int line = 0;
  };

  void append(const fs::path& file) {
    seen_.insert(fs::weakly_canonical(file));
    const std::string text = read_file(file, kSourceFile);
    if (text.find('\0') != std::string::npos)
      throw UserError(file.string() + ": holds a zero byte, expected CUDA text");
    bool in_comment = false;
    From from{file, name_of(file)};
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      std::string_view line = std::string_view(text).substr(begin, end - begin);
      if (line.ends_with('\r')) line.remove_suffix(1);
      begin = end + 1;
      ++from.line;
      take(line, in_comment, from);
      in_comment = comment_open_after(line, in_comment);
    }
  }

  void take(std::string_view line, bool in_comment, const From& from) {
    const auto name = in_comment ? std::nullopt : included_name(line);
    if (!name) {
      if (in_comment || !is_pragma_once(line)) add(line, from);
      return;
    }
    const fs::path found = find(*name, from.file, Mark{from.file.string(), from.line});
    if (found.empty()) {
      add(line, from);
      return;
    }
    if (seen_.contains(fs::weakly_canonical(found)) || is_defaults(found)) return;
    add("// ---- " + *name + " ----", from);
    append(found);
    add("// ---- end of " + *name + " ----", from);
  }

  void add(std::string_view line, const From& from) {
    text_.append(line).push_back('\n');
    lines_.add(++written_, from.name, from.line);
  }

  // A file as a person names it: by its path below the root.
  std::string name_of(const fs::path& file) const {
    const fs::path below = file.lexically_normal().lexically_relative(root_.lexically_normal());
    return below.empty() || below.begin()->string() == ".." ? file.string() : below.string();
  }

  static bool is_defaults(const fs::path& file) {
    return read_file(file, kSourceFile).starts_with(kDefaults);
  }

  // Empty for a library's header that is nowhere here: the compiler knows it.
  fs::path find(const std::string& name, const fs::path& from, const Mark& mark) const {
    if (fs::path(name).is_absolute())
      throw UserError(prefix(mark) + "#include " + quote_text(name) +
                      " is absolute, expected a path within " + root_.string());
    std::vector<fs::path> places = {from.parent_path()};
    places.insert(places.end(), folders_.begin(), folders_.end());
    for (const fs::path& folder : places) {
      const fs::path candidate = (folder / name).lexically_normal();
      std::error_code error;
      if (!fs::is_regular_file(candidate, error)) continue;
      check_inside(candidate, mark);
      return candidate;
    }
    if (is_library_header(name)) return {};
    throw UserError(prefix(mark) + "#include " + quote_text(name) +
                    " is found neither beside it nor in " + (root_ / "include").string());
  }

  // An exported kernel or a shared space must not be able to read a file of the user's own into a
  // source that is kept and shown.
  void check_inside(const fs::path& file, const Mark& mark) const {
    const fs::path real = fs::weakly_canonical(file);
    const auto [root_end, ignored] = std::ranges::mismatch(real_root_, real);
    if (root_end != real_root_.end())
      throw UserError(prefix(mark) + quote_text(file.string()) + " lies outside " + root_.string() +
                      "; templates use only files within it");
  }

  fs::path root_;
  fs::path real_root_;
  std::vector<fs::path> folders_;
  std::set<fs::path> seen_;
  std::string text_;
  SourceLines lines_;
  int written_ = 0;  // lines of the text
};

}  // namespace

fs::path template_root(const fs::path& manifest) {
  fs::path own = fs::absolute(manifest).lexically_normal().parent_path();
  for (fs::path folder = own; folder.has_relative_path(); folder = folder.parent_path())
    if (folder.filename() == "kernel_templates") return folder;
  return own;
}

std::string flatten_includes(const fs::path& file, const fs::path& root,
                             const std::vector<std::string>& folders) {
  return flatten(file, root, folders).text;
}

FlatText flatten(const fs::path& file, const fs::path& root,
                 const std::vector<std::string>& folders) {
  FlatText flat = Flattener(root, folders).start(file);
  flat.text = without_host_functions(std::move(flat.text));
  return flat;
}

}  // namespace fa_tune::source
