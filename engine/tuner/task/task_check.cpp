#include "engine/tuner/task/task_check.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/source/declarations.hpp"
#include "engine/source/identifier_substitution.hpp"
#include "engine/util/error.hpp"
#include "engine/util/random.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::tuner {
namespace {

using source::KernelDeclaration;

// So many configs are planned in less than a second.
constexpr std::uint64_t kMostConfigs = 500;

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// "scale" of "mine::scale<4, float>".
std::string function_of(const std::string& kernel) {
  const std::string path = kernel.substr(0, kernel.find('<'));
  const std::size_t colon = path.rfind(':');
  return colon == std::string::npos ? path : path.substr(colon + 1);
}

// One template's source beside what the space says of it.
class SourceCheck {
 public:
  // `defined`: what stands before its text by #define.
  SourceCheck(const kernel::Template& from, std::vector<std::string> defined,
              TaskFindings& findings)
      : template_(from),
        found_(source::declarations(from.cuda_text())),
        defined_(std::move(defined)),
        findings_(findings) {}

  void look() {
    for (kernel::Template::NamedKernel& each : template_.named_kernels()) {
      kernel_ = std::move(each);
      function_ = function_of(kernel_.name);
      look_at_kernel();
    }
    for (const std::string& name : defined_) look_at_define(name);
    look_at_uses();
  }

 private:
  std::string here() const { return prefix(kernel_.mark); }

  std::string told(const KernelDeclaration& kernel) const {
    return fmt::format("{} ({})", kernel.name, template_.place_of(kernel.line));
  }

  void look_at_kernel() {
    // A parameter may choose among kernels, by their names or by their text.
    if (has(defined_, function_)) return;
    std::vector<const KernelDeclaration*> meant;
    std::vector<std::string> names, places;
    bool may_be_hidden = found_.may_hide_kernels;
    for (const KernelDeclaration& kernel : found_.kernels) {
      if (kernel.name == function_) meant.push_back(&kernel);
      names.push_back(kernel.name);
      places.push_back(told(kernel));
      may_be_hidden = may_be_hidden || has(defined_, kernel.name);
    }
    if (meant.empty()) {
      const std::string what =
          fmt::format("{}kernel: no __global__ function of {} is called '{}': it has {}", here(),
                      template_.source_name(), function_,
                      names.empty() ? "none" : fmt::format("{}", fmt::join(places, ", ")));
      if (may_be_hidden)
        findings_.warnings.push_back(what + ", and macros that may make it");
      else
        findings_.errors.push_back(what + did_you_mean(function_, names));
      return;
    }
    look_at_instance(meant);
    look_at_instance_words();
    look_at_arguments(meant);
  }

  void look_at_instance(const std::vector<const KernelDeclaration*>& meant) {
    const bool is_instance = kernel_.name.contains('<');
    const auto fits = [&](const auto* each) { return each->is_template == is_instance; };
    if (std::ranges::any_of(meant, fits)) return;
    findings_.errors.push_back(
        is_instance
            ? fmt::format("{}kernel: {} is no template: write its name alone", here(),
                          told(*meant[0]))
            : fmt::format("{}kernel: {} is a template: name an instance of it, as in \"{}<{}>\"",
                          here(), told(*meant[0]), function_,
                          defined_.empty() ? "float" : defined_[0] + ", float"));
  }

  // A type of a header's cannot be told from a parameter that is spelled wrong.
  void look_at_instance_words() {
    const std::string& kernel = kernel_.name;
    for (auto word = source::next_word(kernel, kernel.find('<')); word;
         word = source::next_word(kernel, word->end())) {
      const std::string name(word->text);
      const std::string meant = did_you_mean(name, template_.parameters());
      if (has(template_.parameters(), name) || meant.empty() || names_word(name)) continue;
      findings_.warnings.push_back(fmt::format("{}kernel: {} in {} is no parameter{}", here(), name,
                                               quote_text(kernel), meant));
    }
  }

  bool names_word(const std::string& name) const {
    const std::string& text = template_.cuda_text();
    for (auto word = source::next_word(text, 0); word; word = source::next_word(text, word->end()))
      if (word->text == name) return true;
    return false;
  }

  void look_at_arguments(const std::vector<const KernelDeclaration*>& meant) {
    const auto& given = kernel_.arguments;
    const auto may_fit = [&](const auto* each) {
      return !each->count || *each->count == given->size();
    };
    if (!given || std::ranges::any_of(meant, may_fit)) return;
    const auto many = [](std::size_t count, const char* what) {
      return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
    };
    findings_.errors.push_back(fmt::format(
        "{}kernel: {} ({}) where {} has {} ({}): make the two lists the same, in one order", here(),
        many(given->size(), "argument"), fmt::join(*given, ", "), told(*meant[0]),
        many(*meant[0]->count, "parameter"), meant[0]->parameters));
  }

  void look_at_define(const std::string& name) {
    if (found_.undefined.contains(name)) return;
    if (const auto at = found_.template_parameters.find(name);
        at != found_.template_parameters.end())
      findings_.errors.push_back(fmt::format(
          "{}kernel: {} is a template parameter at {}, which the #define of that name would "
          "change: "
          "write it into the kernel's name, as in \"{}<{}>\", or give one of the two another name",
          here(), name, template_.place_of(at->second), function_, name));
    const auto at = found_.macros.find(name);
    // By the engine, or by the source itself further up.
    const auto is_defined = [&](const std::string& guard) {
      if (guard.empty() || has(defined_, guard)) return !guard.empty();
      const auto own = found_.macros.find(guard);
      return own != found_.macros.end() && found_.unless.at(guard).empty() &&
             own->second < at->second;
    };
    if (at != found_.macros.end() && !found_.conditions.contains(name) &&
        std::ranges::none_of(found_.unless.at(name), is_defined))
      findings_.warnings.push_back(fmt::format(
          "{}kernel: {} is #defined at {} too, so that its values in the space change nothing: "
          "remove that line, or write #ifndef {} before it and #endif behind it",
          here(), name, template_.place_of(at->second), name));
  }

  std::string place_of(const source::Use& use) const {
    return fmt::format("{}:{}: ", template_.place_of(use.line), use.column);
  }

  // Of configs that an #if leaves it out for nothing is said.
  void look_at_uses() {
    if (const auto& texture = found_.texture)
      (texture->conditional ? findings_.warnings : findings_.errors)
          .push_back(fmt::format(
              "{}{}: textures and surfaces are not supported: take a pointer instead, clamp the "
              "index where the texture would (min(max(i, 0), n - 1)), read by __ldg(pointer + i), "
              "and interpolate by hand",
              place_of(*texture), texture->name));
    if (const auto& grid = found_.grid_sync; grid && !template_.may_cooperate())
      findings_.warnings.push_back(fmt::format(
          "{}{}: if the whole grid syncs here, write `cooperative: true` into the launch: other "
          "launches have no barrier of the grid, and the kernel stops itself",
          place_of(*grid), grid->name));
  }

  const kernel::Template& template_;
  source::Declarations found_;
  kernel::Template::NamedKernel kernel_;  // that is looked at, and its function's name
  std::string function_;
  std::vector<std::string> defined_;
  TaskFindings& findings_;
};

std::vector<Constants> shapes_of(const problem::Problem& problem) {
  std::vector<Constants> shapes = {problem.shape()};
  for (const problem::Suite& suite : problem.suites())
    if (suite.name == problem::SuiteName::quick)
      for (const Constants& shape : suite.shapes)
        if (std::ranges::find(shapes, shape) == shapes.end()) shapes.push_back(shape);
  return shapes;
}

// Why a config cannot be launched; nothing if it can.
std::optional<std::string> refusal(const TuningTask& task, const Config& config,
                                   const std::vector<Constants>& scopes) {
  for (const Constants& scope : scopes) {
    const auto planned = task.template_of(config).plan(config, scope);
    if (!planned) return planned.error();
    for (const PlannedKernel& kernel : planned->kernels())
      if (const auto shared = kernel.config.dynamic_shared_bytes;
          shared > static_cast<std::uint32_t>(task.target.shared_per_block))
        return fmt::format("{}shared is {} bytes, {} has {} a block, for the config {}",
                           prefix(task.template_of(config).named_kernels().front().mark), shared,
                           task.target.title, task.target.shared_per_block, config.to_json());
  }
  return std::nullopt;
}

}  // namespace

TaskFindings check_sources(const TuningTask& task) {
  TaskFindings findings;
  std::vector<std::string> problem_names;
  for (const auto& [name, text] : task.problem->defines(task.problem->shape()))
    problem_names.push_back(name);
  for (const kernel::Template& each : task.templates) {
    std::vector<std::string> defined;
    for (const std::string& name : each.parameters())
      if (!has(each.template_parameters(), name)) defined.push_back(name);
    defined.insert(defined.end(), problem_names.begin(), problem_names.end());
    SourceCheck(each, std::move(defined), findings).look();
  }
  if (const kernel::Template* reference = task.problem->plain_kernel())
    SourceCheck(*reference, problem_names, findings).look();
  return findings;
}

TaskFindings check_launches(const TuningTask& task) {
  std::vector<Constants> scopes;
  for (const Constants& shape : shapes_of(*task.problem)) scopes.push_back(task.scope(shape));
  const bool all = task.space.exact() && task.space.count() <= kMostConfigs;
  const std::uint64_t tried = all ? task.space.count() : kMostConfigs;
  Random random(derive_seed(1, "launches that are checked"));
  std::uint64_t refused = 0;
  std::string first;
  for (std::uint64_t i = 0; i < tried; ++i) {
    const Config config = all ? task.space.at(i) : task.space.sample(random);
    const auto why = refusal(task, config, scopes);
    if (!why) continue;
    if (refused++ == 0) first = *why;
  }
  TaskFindings findings;
  if (refused == 0) return findings;
  const std::string of = all ? "valid configs" : "valid configs drawn at random";
  if (refused == tried)
    findings.errors.push_back(
        fmt::format("{}; none of {} {} can be launched: mend the launch", first, tried, of));
  else
    findings.warnings.push_back(
        fmt::format("{}; {} of {} {} cannot be launched: a constraint can leave them out", first,
                    refused, tried, of));
  return findings;
}

}  // namespace fa_tune::tuner
