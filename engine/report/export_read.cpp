#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/report/export.hpp"
#include "engine/report/rows.hpp"
#include "engine/source/named_files.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/hash.hpp"
#include "engine/util/json_limits.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kKeys = {"template", "kernel", "arch",   "target",      "config",  "problem",
                              "settings", "shape",  "launch", "body_sha256", "manifest"};

// There where a kernel is for any sizes; the manifest says the same.
constexpr const char* kForOtherReaders = "any_size";

// Walks the lines and knows where it stands.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}

  bool next(std::string_view& line) {
    if (at_ >= text_.size()) return false;
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    line = text_.substr(at_, end - at_);
    if (line.ends_with('\r')) line.remove_suffix(1);
    at_ = std::min(end + 1, text_.size());
    ++number_;
    return true;
  }
  int number() const { return number_; }
  std::string_view rest() const { return text_.substr(at_); }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  int number_ = 0;
};

[[noreturn]] void fail(const std::string& file, int line, const std::string& message) {
  throw UserError(prefix({file, line, 0}) + message);
}

void find_begin(Lines& lines, const std::string& file) {
  std::string_view line;
  while (lines.next(line)) {
    if (line == kExportBegin) return;
    if (line.starts_with(kExportMarker))
      fail(file, lines.number(),
           fmt::format("expected '{}': another format, export the trial anew with this fa-tune",
                       kExportBegin));
  }
  fail(file, 0,
       fmt::format("no line '{}': expected a file that 'fa-tune export' made", kExportBegin));
}

std::string read_block(Lines& lines, const std::string& file) {
  std::string json;
  for (std::string_view line; lines.next(line);) {
    if (line == kExportEnd) return json;
    if (!line.starts_with("// "))
      fail(file, lines.number(),
           fmt::format("expected a line that starts with '// ', up to '{}'", kExportEnd));
    json += line.substr(3);
    json += '\n';
  }
  fail(file, lines.number(), fmt::format("the file ends before the line '{}'", kExportEnd));
}

// The block's JSON, with its place in the file for messages.
class Block {
 public:
  Block(const std::string& text, std::string file, int line) : file_(std::move(file)), line_(line) {
    if (const auto excess = json_excess(text)) fail(*excess);
    try {
      json_ = Json::parse(text);
    } catch (const nlohmann::json::parse_error& error) {
      const auto before = text.substr(0, std::min(error.byte, text.size()));
      const auto breaks = std::count(before.begin(), before.end(), '\n');
      fa_tune::report::fail(file_, line_ + static_cast<int>(breaks),
                            "expected JSON, found something else");
    }
    if (!json_.is_object()) fail("expected a JSON object");
    for (const auto& [key, value] : json_.items())
      if (key != kForOtherReaders && std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end())
        fail("unknown key " + quote_text(key));
    for (const char* const key : kKeys)
      if (!json_.contains(key)) fail(std::string("the key \"") + key + "\" is missing");
  }

  std::string text(const char* key) const {
    if (!json_[key].is_string()) fail(std::string("\"") + key + "\" must be a string");
    return json_[key].get<std::string>();
  }

  // Of a profile or an architecture: what could be a path is none.
  std::string name(const char* key) const {
    const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
    std::string name = text(key);
    if (name.empty() || !std::ranges::all_of(name, plain))
      fail(std::string("\"") + key + "\" must be a name, found " + quote_text(name));
    return name;
  }

  std::string kernel(const char* key) const {
    std::string name = text(key);
    if (!source::is_kernel_name(name))
      fail(std::string("\"") + key + "\" must be the name of a kernel, found " + quote_text(name));
    return name;
  }

  Config settings(const char* key) const {
    try {
      return Config::from_json(json_[key].dump());
    } catch (const UserError& error) {
      fail(std::string("\"") + key + "\": " + error.what());
    }
  }

  std::string lines(const char* key) const {
    const Json& list = json_[key];
    std::string text;
    if (!list.is_array() || list.empty())
      fail(std::string("\"") + key + "\" must be a list of lines");
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!list[i].is_string()) fail(std::string("\"") + key + "\" must be a list of strings");
      if (i > 0) text += '\n';
      text += list[i].get<std::string>();
    }
    return text;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    fa_tune::report::fail(file_, line_, message + " in the block that fa-tune wrote; export anew");
  }

  std::string file_;
  int line_;
  Json json_;
};

}  // namespace

Exported parse_exported(const std::string& text, const std::string& file) {
  Lines lines(text);
  find_begin(lines, file);
  const int first = lines.number() + 1;
  const Block block(read_block(lines, file), file, first);
  Exported exported;
  exported.template_name = block.name("template");
  exported.manifest_text = block.lines("manifest");
  exported.kernel = block.kernel("kernel");
  exported.arch = block.name("arch");
  exported.target = block.name("target");
  exported.config = block.settings("config");
  exported.problem = block.text("problem");
  exported.settings = block.settings("settings").settings();
  exported.shape = shape_of(block.settings("shape").to_json());
  exported.cuda_text = lines.rest();
  exported.file = file;
  exported.body_line = lines.number() + 1;
  exported.edited = sha256(exported.cuda_text) != block.text("body_sha256");
  return exported;
}

Exported read_exported(const std::filesystem::path& path) {
  return parse_exported(read_file(path, kExportedFile), path.string());
}

}  // namespace fa_tune::report
