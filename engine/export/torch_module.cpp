#include <algorithm>

#include <fmt/format.h>

#include "engine/export/package_json.hpp"
#include "engine/export/text.hpp"
#include "engine/export/torch_formulas.hpp"
#include "engine/util/error.hpp"
#include "engine/util/gzip.hpp"

namespace fa_tune::exports {
namespace {

using Json = nlohmann::ordered_json;

bool is(const PackagedCall& call, const char* name, const Value& value) {
  const auto found = call.shape.find(name);
  return found != call.shape.end() && found->second == value;
}

// What PyTorch's scaled_dot_product_attention computes too. Its causal mask starts at the top left.
bool is_plain_attention(const PackagedCall& call) {
  const bool square = call.shape.at("Lq") == call.shape.at("Lk") && !call.any_size;
  const bool cornered = is(call, "causal", true) && !square;
  return is(call, "lse", false) && is(call, "capped", false) && is(call, "alibi", false) &&
         is(call, "window_left", std::int64_t{-1}) && is(call, "window_right", std::int64_t{-1}) &&
         !is(call, "dtype", std::string("e4m3")) &&
         (!cornered || is(call, "causal_alignment", std::string("top_left")));
}

bool takes_the_place_of_sdpa(const Package& package) {
  if (package.problem != "attention") return false;
  const auto plain = std::ranges::count_if(package.calls, is_plain_attention);
  if (plain != 0 && plain != std::ssize(package.calls))
    throw UserError(
        "some of these kernels compute what scaled_dot_product_attention does, others have "
        "features of their own: export them into modules of their own");
  return plain != 0;
}

std::string head(const Package& package, bool attention) {
  std::string text = comment_lines(
      fmt::format(
          "Kernels for {}, exported by fa-tune {}: one module, complete in itself. It needs "
          "PyTorch (2.4 or newer, Linux) and an NVIDIA GPU that a kernel is for.",
          package.problem, package.version),
      "# ");
  text += "#\n";
  const std::string use =
      attention
          ? "attention(q, k, v, is_causal=False, scale=None): in the place of "
            "scaled_dot_product_attention, forward; what no kernel is for goes there."
          : "launch(...): the tensors that the kernel reads, in its order; gives its outputs.";
  text += comment_lines(use, "# ");
  text += "#\n";
  return text + contents_lines(package, "# ");
}

// In the module a call of one kernel is a list of one step.
Json call_of_steps(const Package& package, const PackagedCall& call) {
  Json json = call_json(package, call);
  json.erase("any_size");
  const KernelImage& image = package.kernels.at(call.kernel).image;
  const std::vector<PlannedStep> steps = steps_of(call);
  if (call.steps.empty()) {
    Json step{{"entry", image.entry(0).kernel}};
    for (const char* name :
         {"grid", "block", "cluster", "shared", "cooperative", "programmatic", "arguments"})
      if (const auto found = json.find(name); found != json.end()) {
        step[name] = *found;
        json.erase(name);
      }
    json["steps"].push_back(std::move(step));
  }
  if (!call.any_size) return json;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (const auto* kernel = std::get_if<PlannedKernel>(&steps[i]))
      json["steps"][i]["shared_most"] = most_shared(call, image.entry(kernel->entry));
  return json;
}

}  // namespace

std::string torch_module(const Package& package) {
  const bool attention = takes_the_place_of_sdpa(package);
  if (!attention) check_one_signature(package);
  Json kernels = Json::array();
  for (const PackagedKernel& kernel : package.kernels)
    kernels.push_back({{"arch", kernel.image.arch},
                       {"source_sha256", kernel.source_hash},
                       {"code", base64(gzip(kernel.image.bytes))}});
  Json calls = Json::array();
  std::string formulas;
  for (const PackagedCall& call : package.calls) {
    if (call.any_size) formulas += torch_formulas(call, calls.size());
    calls.push_back(call_of_steps(package, call));
  }
  std::string text = head(package, attention);
  text += fmt::format("\n_IDENTITY = {}  # of code and launches\n\n",
                      literal(identity(package), Notation::python));
  text += "# Machine code, as it was gated and timed: gzip, base64.\n";
  text += "_KERNELS = " + literal(kernels, Notation::python) + "\n\n";
  text += "_CALLS = " + literal(calls, Notation::python) + "\n\n";
  text += std::string(python_driver_part()) + "\n\n";
  text += std::string(python_sizes_part()) + "\n\n" + formulas;
  if (package.dispatch) text += python_dispatch(*package.dispatch) + "\n\n";
  text += attention ? python_attention_part() : python_function_part();
  return text;
}

}  // namespace fa_tune::exports
