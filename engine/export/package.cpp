#include "engine/export/package.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "engine/export/package_json.hpp"
#include "engine/export/text.hpp"
#include "engine/util/hash.hpp"

namespace fa_tune::exports {

Capability capability_of(const std::string& arch) {
  int number = 0;
  for (const char c : arch)
    if (c >= '0' && c <= '9') number = number * 10 + (c - '0');
  return {number / 10, number % 10};
}

std::vector<PlannedStep> steps_of(const PackagedCall& call) {
  if (call.steps.empty()) return {PlannedKernel{0, call.launch, call.arguments, call.maps}};
  return call.steps;
}

std::int64_t most_shared(const PackagedCall& call, const KernelEntry& kernel) {
  return call.any_size->most_shared - std::max(kernel.resources.static_shared_bytes, 0);
}

std::string contents_lines(const Package& package, std::string_view mark) {
  std::string text;
  if (package.dispatch)
    text += comment_lines(
        "What each of these kernels takes is predicted from the sizes, and the fastest is chosen:",
        mark);
  for (const PackagedCall& call : package.calls) {
    const std::string device = call.device.empty() ? "any device" : call.device;
    text += comment_lines(
        call.described + " on " + device + ", " + package.kernels[call.kernel].image.arch, mark);
    text += comment_lines("  " + call.origin, mark);
    if (call.any_size)
      text += comment_lines("  for any sizes; gated at " + call.any_size->gated + " too", mark);
  }
  return text;
}

std::string identity(const Package& package) {
  std::string all = package.problem;
  for (const PackagedKernel& kernel : package.kernels) all += sha256(kernel.image.bytes);
  for (const PackagedCall& call : package.calls)
    all += literal(call_json(package, call), Notation::json);
  if (package.dispatch) all += python_dispatch(*package.dispatch);
  return sha256(all).substr(0, 16);
}

std::string ptx_text(const Package& package) {
  const PackagedCall& call = package.calls.at(0);
  const PackagedKernel& kernel = package.kernels.at(call.kernel);
  std::string text =
      comment_lines(fmt::format("Kernel {} for {}, exported by fa-tune {} as PTX.",
                                kernel.image.kernel, kernel.image.arch, package.version),
                    "// ");
  text += comment_lines(call.origin, "// ");
  text += comment_lines(
      "How it is launched, as JSON: grid and block and cluster x first, shared in bytes and "
      "dynamic, "
      "arguments in order; of a tensor map axes are [dimension of the tensor, modulo, divisor], "
      "innermost first. Steps, if there are some, follow one another in one stream.",
      "// ");
  nlohmann::ordered_json launch = call_json(package, call);
  launch.erase("kernel");
  if (call.steps.empty()) launch["entry"] = kernel.image.kernel;
  launch["source_sha256"] = kernel.source_hash;
  // It breaks no line within a string.
  const std::string json = literal(launch, Notation::json);
  text += "// launch begin\n";
  for (std::size_t at = 0; at < json.size();) {
    const std::size_t end = std::min(json.find('\n', at), json.size());
    text += "// " + json.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return text + "// launch end\n" + kernel.image.bytes;
}

}  // namespace fa_tune::exports
