#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/report/export.hpp"
#include "engine/report/json.hpp"
#include "engine/report/rows.hpp"
#include "engine/report/table.hpp"
#include "engine/report/text_format.hpp"
#include "engine/util/error.hpp"
#include "engine/util/hash.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::report {
namespace {

using Json = nlohmann::ordered_json;

// A line break would leave the comment, a backslash at a line's end would join the next line to it.
std::string one_line(std::string text) {
  for (char& character : text)
    if (static_cast<unsigned char>(character) < ' ' || character == '\x7f' || character == '\\')
      character = '?';
  return text;
}

// The expressions of the manifest's launch section, as written.
struct LaunchTexts {
  std::string grid, block, shared;
};

LaunchTexts launch_texts(const ExportFacts& facts) {
  const YamlNode root = YamlNode::parse(facts.manifest_text, facts.template_name + ".yaml");
  const YamlNode& launch = root.at("launch");
  const auto joined = [&](const char* key) {
    std::string text;
    for (const std::string& part : launch.at(key).texts(key))
      text += (text.empty() ? "[" : ", ") + part;
    return text + "]";
  };
  const YamlNode* const shared = launch.find("shared");
  return {joined("grid"), joined("block"), shared == nullptr ? "0" : shared->text("shared")};
}

// " --use_fast_math": what the manifest asks of the compiler, which nvcc knows by the same names.
std::string option_texts(const ExportFacts& facts) {
  const YamlNode root = YamlNode::parse(facts.manifest_text, facts.template_name + ".yaml");
  std::string text;
  if (const YamlNode* options = root.find("options"))
    for (const std::string& option : options->texts("options")) text += " " + option;
  return text;
}

class Comment {
 public:
  void line(const std::string& text) { text_ += text.empty() ? "//\n" : "// " + text + "\n"; }

  void prose(const std::string& text) {
    for (const std::string& part : wrap_words(one_line(text), kPageWidth - 3)) line(part);
  }

  void fact(std::string label, const std::string& value) {
    text_ += labelled("// ", std::move(label), one_line(value), 11);
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string dims_text(const Dim3& dims) {
  return fmt::format("{} x {} x {}", dims.x, dims.y, dims.z);
}

std::string with_unit(int count, const char* unit) {
  return count < 0 ? fmt::format("{} not known", unit) : fmt::format("{} {}", count, unit);
}

// A host puts them into one stream, in their order.
void write_step(const StepFacts& facts, std::size_t number, Comment& comment) {
  const std::string label = fmt::format("step {}", number);
  if (const auto* fill = std::get_if<PlannedFill>(&facts.step))
    return comment.fact(label, fmt::format("set each byte of {} to {}", fill->tensor, fill->value));
  if (const auto* copy = std::get_if<PlannedCopy>(&facts.step))
    return comment.fact(label, fmt::format("copy {} to {}", copy->from, copy->to));
  const LaunchConfig& launch = std::get<PlannedKernel>(facts.step).config;
  std::string text = fmt::format("kernel {}: grid {}, block {}", facts.kernel,
                                 dims_text(launch.grid), dims_text(launch.block));
  if (launch.cluster.count() > 1) text += ", cluster " + dims_text(launch.cluster);
  if (launch.cooperative) text += ", cooperative";
  if (launch.programmatic) text += ", programmatic";
  comment.fact(label, text + fmt::format(", {} bytes dynamic shared", launch.dynamic_shared_bytes));
  for (const auto& [name, words] : facts.arguments)
    comment.fact("argument", words.empty() ? name : name + ": " + words);
}

std::string joined(const Json& texts) {
  std::string text;
  for (const Json& each : texts) text += (text.empty() ? "" : ", ") + each.get<std::string>();
  return text;
}

// The same figures for other sizes, in the words of spaces.
void write_any_size(const Json& any, Comment& comment) {
  comment.fact("any size", fmt::format("for any {}; gated at {} too", joined(any.at("sizes")),
                                       any.at("gated").get<std::string>()));
  for (const Json& kernel : any.at("kernels"))
    comment.fact("  launch", fmt::format("grid [{}], block [{}], {} bytes dynamic shared",
                                         joined(kernel.at("grid")), joined(kernel.at("block")),
                                         kernel.at("shared").get<std::string>()));
  for (const auto& [name, dims] : any.at("dims").items())
    comment.fact("  tensor", fmt::format("{} [{}]", name, joined(dims)));
  for (const auto& [name, value] : any.at("scalars").items())
    comment.fact("  scalar", fmt::format("{} = {}", name, value.get<std::string>()));
  for (const Json& each : any.at("required")) comment.fact("  requires", each.get<std::string>());
}

std::string provenance(const ExportFacts& facts) {
  Comment comment;
  if (facts.steps.empty())
    comment.prose(fmt::format("Kernel {} of template {}, exported by fa-tune {}.", facts.kernel,
                              facts.template_name, facts.version));
  else
    comment.prose(
        fmt::format("{} steps of template {}, exported by fa-tune {}. They are launched "
                    "in this order in one stream.",
                    facts.steps.size(), facts.template_name, facts.version));
  comment.prose(fmt::format("Build: nvcc -arch={}{} -c FILE.cu", facts.arch, option_texts(facts)));
  comment.line("");
  comment.fact("space", fmt::format("{}, hash {}", facts.space, facts.space_hash));
  comment.fact("problem", facts.problem + " " + settings_text(fa_tune::to_json(facts.shape)));
  comment.fact("trial", fmt::format("{}: number {} of run {}, seed {}", facts.trial, facts.number,
                                    facts.run, facts.seed));
  comment.fact("device", fmt::format("{}, {}{}", facts.device, facts.device_name,
                                     facts.driver.empty() ? "" : ", driver " + facts.driver));
  comment.fact("compiler",
               fmt::format("{} for {}, limits of {}", facts.compiler, facts.arch, facts.target));
  comment.fact("when", facts.when);
  if (facts.time)
    comment.fact("time",
                 fmt::format("{} us {}, interval {} us, stage {}", time_text(facts.time->value),
                             facts.time_kind, interval_text(*facts.time), facts.stage));
  else
    comment.fact("time", "none: the trial was not timed");
  comment.fact("verdict", fmt::format("{}; {} gate cases, worst error {:.3g} of what is allowed{}",
                                      facts.verdict, facts.gate_cases, facts.worst_ratio,
                                      facts.left_open.empty() ? "" : "; " + facts.left_open));
  comment.fact("config", settings_text(facts.config.to_json()));
  for (const PlannedWorkspace& workspace : facts.workspaces)
    comment.fact(
        "workspace",
        fmt::format("{}: {} [{}], the host's to allocate; what is in it does not matter",
                    workspace.name, type_name(workspace.type), fmt::join(workspace.dims, ", ")));
  for (std::size_t i = 0; i < facts.steps.size(); ++i) write_step(facts.steps[i], i + 1, comment);
  if (facts.steps.empty()) {
    const LaunchTexts launch = launch_texts(facts);
    comment.fact("grid", fmt::format("{} blocks = {}", dims_text(facts.launch.grid), launch.grid));
    comment.fact("block",
                 fmt::format("{} threads = {}", dims_text(facts.launch.block), launch.block));
    if (facts.launch.cluster.count() > 1)
      comment.fact("cluster", dims_text(facts.launch.cluster) + " blocks");
    if (facts.launch.cooperative)
      comment.fact("launched by", "cuLaunchCooperativeKernel: all blocks run at once");
    if (facts.launch.programmatic)
      comment.fact("launched by",
                   "cuLaunchKernelEx with programmatic stream serialization: it begins before the "
                   "kernel in front of it has ended");
    comment.fact("shared", fmt::format("{} bytes dynamic = {}", facts.launch.dynamic_shared_bytes,
                                       launch.shared));
  }
  if (!facts.any_size.empty()) write_any_size(Json::parse(facts.any_size), comment);
  comment.fact("resources",
               fmt::format("{}, {}, {}", with_unit(facts.resources.registers, "registers"),
                           with_unit(facts.resources.spill_store_bytes, "bytes spilled"),
                           with_unit(facts.resources.static_shared_bytes, "bytes static shared")));
  for (const auto& [name, words] : facts.arguments)
    comment.fact("argument", words.empty() ? name : name + ": " + words);
  comment.line("");
  return comment.text();
}

// Lines of the manifest as an array: a person can read it, and a diff shows one line a change.
Json lines_of(const std::string& text) {
  auto lines = Json::array();
  std::size_t start = 0;
  for (std::size_t end; (end = text.find('\n', start)) != std::string::npos; start = end + 1)
    lines.push_back(text.substr(start, end - start));
  lines.push_back(text.substr(start));
  return lines;
}

Json launch_json(const LaunchConfig& launch) {
  const auto dims = [](const Dim3& d) { return Json{d.x, d.y, d.z}; };
  Json json = {{"grid", dims(launch.grid)},
               {"block", dims(launch.block)},
               {"cluster", dims(launch.cluster)},
               {"dynamic_shared_bytes", launch.dynamic_shared_bytes}};
  if (launch.cooperative) json["cooperative"] = true;
  if (launch.programmatic) json["programmatic"] = true;
  return json;
}

Json step_json(const StepFacts& facts) {
  if (const auto* fill = std::get_if<PlannedFill>(&facts.step))
    return {{"set", fill->tensor}, {"value", fill->value}};
  if (const auto* copy = std::get_if<PlannedCopy>(&facts.step))
    return {{"copy", copy->from}, {"to", copy->to}};
  Json json = {{"kernel", facts.kernel}};
  json.update(launch_json(std::get<PlannedKernel>(facts.step).config));
  return json;
}

std::string block(const ExportFacts& facts) {
  Json json;
  json["template"] = facts.template_name;
  json["kernel"] = facts.kernel;
  json["arch"] = facts.arch;
  json["target"] = facts.target;
  json["config"] = facts.config;
  json["problem"] = facts.problem;
  json["settings"] = Config(facts.settings);
  json["shape"] = facts.shape;
  // For other readers, who need no expressions; `verify` evaluates the manifest.
  if (facts.steps.empty()) json["launch"] = launch_json(facts.launch);
  for (const StepFacts& step : facts.steps) json["launch"].push_back(step_json(step));
  if (!facts.any_size.empty()) json["any_size"] = Json::parse(facts.any_size);
  json["body_sha256"] = sha256(facts.body);
  json["manifest"] = lines_of(facts.manifest_text);
  std::istringstream lines;
  try {
    lines.str(json.dump(1, ' ', true));
  } catch (const nlohmann::json::exception&) {
    throw UserError(facts.template_name + ": its manifest is not UTF-8 text; mend it");
  }
  std::string text(kExportBegin);
  text += '\n';
  for (std::string line; std::getline(lines, line);) {
    for (std::size_t at = 0; (at = line.find("*/", at)) != std::string::npos; at += 3)
      line.insert(at + 1, 1, '\\');
    text += "// " + line + '\n';
  }
  return text + std::string(kExportEnd) + '\n';
}

}  // namespace

ExportFacts export_facts(const db::Store& store, std::int64_t trial) {
  const auto [row, run, raced, plain, ties] = require_trial(store, trial);
  ExportFacts facts;
  facts.space = run.space;
  facts.space_hash = run.space_hash;
  facts.trial = row.id;
  facts.number = row.number;
  facts.run = run.id;
  facts.seed = run.seed;
  facts.device = run.device;
  facts.device_name = run.device_name;
  facts.driver = run.driver;
  facts.arch = run.arch;
  facts.target = run.target;
  facts.compiler = run.compiler;
  facts.when = row.finished_at;
  facts.stage = row.stage;
  facts.time = shown_time(row);
  facts.time_kind = run.time_kind;
  facts.verdict = to_text(row.outcome);
  if (row.outcome != Outcome::passed) facts.verdict += ": " + row.finding;
  facts.left_open = left_open(row);
  facts.gate_cases = row.gate_cases;
  facts.worst_ratio = row.worst_ratio;
  facts.resources.registers = row.registers;
  // The store keeps one figure for spills; stores and loads of a spill go together.
  facts.resources.spill_store_bytes = row.spill_bytes;
  facts.resources.static_shared_bytes = row.static_shared_bytes;
  facts.config = Config::from_json(row.config_json);
  facts.problem = run.problem;
  facts.shape = shape_of(run.shape_json);
  facts.body = store.source(row.source_hash).value_or("");
  facts.code_hash = row.code_hash;
  return facts;
}

std::string export_text(const ExportFacts& facts) {
  return provenance(facts) + block(facts) + facts.body;
}

}  // namespace fa_tune::report
