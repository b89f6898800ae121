#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>
#include <unordered_set>

#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "engine/util/file.hpp"
#include "engine/util/printable.hpp"
#include "engine/yaml/value.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune {
namespace {

// Whether a plain scalar means the same between the brackets of a flow as it does outside.
bool stays_plain(const std::string& text) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '/' || c == '+';
  };
  return !text.empty() &&
         (std::isalnum(static_cast<unsigned char>(text[0])) != 0 || text[0] == '_') &&
         std::ranges::all_of(text, fits);
}

bool is_negative_number(const std::string& text) {
  return text.size() > 1 && text[0] == '-' && stays_plain(text.substr(1));
}

}  // namespace

YamlNode YamlNode::completed(const YamlNode& otherwise,
                             std::initializer_list<std::string_view> without) const {
  YamlNode made = *this;
  std::erase_if(made.entries_, [&](const YamlEntry& entry) {
    return std::ranges::find(without, entry.key) != without.end();
  });
  for (const YamlEntry& entry : otherwise.entries_)
    if (find(entry.key) == nullptr) made.entries_.push_back(entry);
  return made;
}

std::string YamlNode::flow() const {
  std::string text;
  switch (kind_) {
    case Kind::null:
      return "~";
    case Kind::scalar:
      if (style_ == Style::plain && (stays_plain(text_) || is_negative_number(text_))) return text_;
      return to_json(Value(text_));
    case Kind::list:
      for (const YamlNode& item : items_) text += (text.empty() ? "" : ", ") + item.flow();
      return "[" + text + "]";
    case Kind::map:
      for (const YamlEntry& entry : entries_)
        text += (text.empty() ? "" : ", ") +
                (is_identifier(entry.key) ? entry.key : to_json(Value(entry.key))) + ": " +
                entry.value.flow();
      return "{" + text + "}";
  }
  return text;
}

namespace {

// Aliases are counted with all that they stand for.
constexpr std::size_t kMostNodes = 200'000;
constexpr std::size_t kMostText = 2 * kYamlFile.most;
constexpr std::size_t kDeepest = 64;

}  // namespace

// Builds the tree from the parser's events: the only place that knows yaml-cpp.
class YamlBuilder : public YAML::EventHandler {
 public:
  YamlBuilder(const std::string& text, std::string file) : text_(text), file_(std::move(file)) {}

  YamlNode take_root() { return std::move(root_); }

  Mark mark(const YAML::Mark& at) const {
    if (at.is_null()) return {file_, 0, 0};
    return {file_, at.line + 1, at.column + 1};
  }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& at, YAML::anchor_t anchor) override {
    add(node(at, YamlNode::Kind::null), anchor);
  }

  void OnAlias(const YAML::Mark& at, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) refuse(at, "an alias inside what it stands for");
    count(mark(at), found->second.nodes, found->second.bytes);
    if (frames_.size() + found->second.depth > kDeepest) refuse_depth(at);
    const YamlNode copy = found->second.node;
    attach(copy, found->second.depth);
  }

  void OnScalar(const YAML::Mark& at, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (!tag.empty() && tag != "?" && tag != "!") refuse(at, "tags are not used here");
    count(mark(at), 0, value.size());
    YamlNode scalar = node(at, YamlNode::Kind::scalar);
    scalar.text_ = value;
    if (tag == "!") scalar.style_ = style_at(at);
    add(std::move(scalar), anchor);
  }

  void OnSequenceStart(const YAML::Mark& at, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(at, tag, anchor, YamlNode::Kind::list);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& at, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(at, tag, anchor, YamlNode::Kind::map);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    YamlNode node;
    YAML::anchor_t anchor = 0;
    std::size_t nodes_before = 0;
    std::size_t bytes_before = 0;
    std::size_t depth_below = 0;
    bool has_key = false;
    std::string key;
    Mark key_mark;
    std::unordered_set<std::string> keys;
  };
  struct Anchored {
    YamlNode node;
    std::size_t nodes = 1;
    std::size_t bytes = 0;  // of its scalars
    std::size_t depth = 0;
  };

  [[noreturn]] void refuse(const YAML::Mark& at, const std::string& message) const {
    throw UserError(prefix(mark(at)) + message);
  }
  [[noreturn]] void refuse_depth(const YAML::Mark& at) const {
    refuse(at, fmt::format("nested deeper than {} levels", kDeepest));
  }

  YamlNode node(const YAML::Mark& at, YamlNode::Kind kind) const {
    YamlNode result;
    result.kind_ = kind;
    result.mark_ = mark(at);
    return result;
  }

  YamlNode::Style style_at(const YAML::Mark& at) const {
    const auto position = static_cast<std::size_t>(std::max(at.pos, 0));
    const char first = position < text_.size() ? text_[position] : '"';
    return first == '|' || first == '>' ? YamlNode::Style::block : YamlNode::Style::quoted;
  }

  void count(const Mark& at, std::size_t nodes, std::size_t bytes) {
    nodes_ += nodes;
    bytes_ += bytes;
    if (bytes_ > kMostText)
      throw UserError(prefix(at) + fmt::format("more than {} of text once aliases are written out",
                                               bytes_in_words(kMostText)));
    if (nodes_ > kMostNodes)
      throw UserError(prefix(at) +
                      fmt::format("more than {} nodes once aliases are written out", kMostNodes));
  }

  void open(const YAML::Mark& at, const std::string& tag, YAML::anchor_t anchor,
            YamlNode::Kind kind) {
    if (!tag.empty() && tag != "?" && tag != "!") refuse(at, "tags are not used here");
    if (frames_.size() >= kDeepest) refuse_depth(at);
    if (!frames_.empty()) refuse_as_key(frames_.back(), mark(at));
    const std::size_t before = nodes_;
    count(mark(at), 1, 0);
    Frame frame;
    frame.node = node(at, kind);
    frame.anchor = anchor;
    frame.nodes_before = before;
    frame.bytes_before = bytes_;
    frames_.push_back(std::move(frame));
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    const std::size_t depth = frame.depth_below + 1;
    if (frame.anchor != 0) {
      const std::size_t nodes = nodes_ - frame.nodes_before, bytes = bytes_ - frame.bytes_before;
      // It is held a second time, for its aliases.
      count(frame.node.mark_, nodes, bytes);
      anchors_[frame.anchor] = {frame.node, nodes, bytes, depth};
    }
    attach(std::move(frame.node), depth);
  }

  void add(YamlNode added, YAML::anchor_t anchor) {
    ++nodes_;
    if (nodes_ > kMostNodes)
      throw UserError(prefix(added.mark_) + fmt::format("more than {} nodes", kMostNodes));
    if (anchor != 0) anchors_[anchor] = {added, 1, added.text_.size(), 0};
    attach(std::move(added), 0);
  }

  static void refuse_as_key(const Frame& frame, const Mark& at) {
    if (frame.node.is_map() && !frame.has_key)
      throw UserError(prefix(at) + "expected a key that is plain text");
  }

  void attach(YamlNode added, std::size_t depth) {
    if (frames_.empty()) {
      root_ = std::move(added);
      return;
    }
    Frame& frame = frames_.back();
    frame.depth_below = std::max(frame.depth_below, depth);
    if (frame.node.is_list()) {
      frame.node.items_.push_back(std::move(added));
    } else if (frame.has_key) {
      // The parser puts a missing value where the next thing stands; a person looks at its key.
      if (added.is_null()) added.mark_ = frame.key_mark;
      frame.node.entries_.push_back({std::move(frame.key), frame.key_mark, std::move(added)});
      frame.has_key = false;
    } else {
      if (!added.is_scalar()) refuse_as_key(frame, added.mark_);
      if (!frame.keys.insert(added.text_).second)
        throw UserError(prefix(added.mark_) + "key " + quote_text(added.text_) +
                        " stands here for the second time");
      frame.key = std::move(added.text_);
      frame.key_mark = added.mark_;
      frame.has_key = true;
    }
  }

  const std::string& text_;
  std::string file_;
  YamlNode root_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  std::size_t nodes_ = 0;
  std::size_t bytes_ = 0;
};

YamlNode YamlNode::parse(const std::string& text, const std::filesystem::path& file) {
  const std::string name = file.string();
  if (text.size() > kYamlFile.most)
    throw UserError(fmt::format("{}: is larger than {}, the most that is read of {}", name,
                                bytes_in_words(kYamlFile.most), kYamlFile.name));
  if (text.find('\0') != std::string::npos)
    throw UserError(name + ": holds a zero byte, expected YAML text");
  if (const auto at = first_not_utf8(text)) {
    const std::string before = text.substr(0, *at);
    const int line = 1 + static_cast<int>(std::ranges::count(before, '\n'));
    const int column = static_cast<int>(*at - (before.rfind('\n') + 1)) + 1;  // npos + 1 is 0
    throw UserError(prefix({name, line, column}) +
                    "a byte that is no UTF-8, expected UTF-8 text: save the file as that");
  }
  YamlBuilder builder(text, name);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    YamlBuilder rest(text, name);
    if (parser.HandleNextDocument(rest))
      throw UserError(name + ": holds more than one YAML document, expected one");
  } catch (const YAML::Exception& error) {
    throw UserError(prefix(builder.mark(error.mark)) + "not valid YAML: " + error.msg);
  }
  YamlNode root = builder.take_root();
  if (root.mark_.file.empty()) root.mark_.file = name;
  return root;
}

}  // namespace fa_tune
