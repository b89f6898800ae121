#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/export/header_tables.hpp"
#include "engine/export/header_types.hpp"
#include "engine/export/package_json.hpp"
#include "engine/export/text.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::exports {
namespace {

bool is_option(const problem::Scalar& scalar) {
  return scalar.plain() && (scalar.type == DType::f32 || scalar.type == DType::f64);
}

class Header {
 public:
  explicit Header(const Package& package)
      : package_(package), names_{tensors_in_order(package.calls.front()), {}, names_of_sizes()} {
    for (const problem::Scalar& scalar : scalars_in_order(package.calls.front()))
      if (is_option(scalar) && !is_computed(scalar.name)) names_.options.push_back(scalar);
  }

  std::string text() const;

 private:
  bool is_computed(const std::string& scalar) const;
  bool is_for_any_size() const;
  std::vector<std::string> names_of_sizes() const;
  std::string head() const;
  std::string same_sizes() const;
  std::string dispatch() const;
  std::string user_side() const;
  std::string launcher() const;
  std::string refusals() const;
  std::string workspace_sizes() const;

  const Package& package_;
  HeaderNames names_;
};

// At any sizes it is what follows from these.
bool Header::is_computed(const std::string& scalar) const {
  return std::ranges::any_of(package_.calls, [&](const PackagedCall& call) {
    return call.any_size && call.any_size->scalars.contains(scalar);
  });
}

bool Header::is_for_any_size() const {
  return std::ranges::any_of(package_.calls,
                             [](const PackagedCall& call) { return call.any_size.has_value(); });
}

// Numbers and flags of the shape. What else it has is the same for one header, whose function takes
// pointers of one type.
std::vector<std::string> Header::names_of_sizes() const {
  std::set<std::string> names;
  const PackagedCall& first = package_.calls.front();
  for (const PackagedCall& call : package_.calls) {
    for (const auto& [name, value] : call.given) {
      if (std::holds_alternative<std::int64_t>(value) || std::holds_alternative<bool>(value)) {
        names.insert(name);
      } else if (!first.given.contains(name) || first.given.at(name) != value) {
        throw UserError(fmt::format(
            "one header cannot hold kernels that differ in {}: export them into headers of their "
            "own",
            name));
      }
    }
  }
  return {names.begin(), names.end()};
}

std::string Header::head() const {
  std::string text = comment_lines(
      fmt::format(
          "Kernels for {}, exported by fa-tune {}: machine code, and what launches it. Needs "
          "C++17, cuda.h of CUDA 12 or newer, and the driver (link with -lcuda).",
          package_.problem, package_.version),
      "// ");
  text += "//\n";
  text += contents_lines(package_, "// ");
  text += "\n#pragma once\n\n#include <cuda.h>\n\n";
  std::set<std::string> included = {"cstddef", "cstdint",  "cstring", "map",
                                    "mutex",   "optional", "utility"};
  if (is_for_any_size()) included.insert({"algorithm", "initializer_list"});
  if (package_.dispatch) included.insert({"functional", "vector"});
  for (const std::string& name : included) text += fmt::format("#include <{}>\n", name);
  std::set<std::string> declared;
  for (const problem::Tensor& tensor : names_.tensors)
    declared.insert(cxx_type(tensor).declaration);
  return text + "\n" + fmt::format("{}", fmt::join(declared, ""));
}

std::string Header::same_sizes() const {
  std::vector<std::string> tests;
  for (const std::string& name : names_.sizes) tests.push_back(fmt::format("a.{0} == b.{0}", name));
  return fmt::format("inline bool same(const Sizes& a, const Sizes& b) {{\n  return {};\n}}\n\n",
                     fmt::join(tests, " && "));
}

std::string Header::dispatch() const {
  if (!package_.dispatch) return "inline int dispatch(const Sizes&) { return -1; }\n\n";
  Constants fixed = package_.calls.front().shape;
  for (const std::string& name : names_.sizes) fixed.erase(name);
  return cxx_dispatch(*package_.dispatch, names_.sizes, fixed);
}

std::string Header::user_side() const {
  const PackagedCall& first = package_.calls.front();
  std::string text =
      is_for_any_size() ? "// Of the tensors: at first those that the first kernel was tuned for.\n"
                        : "// Which of the kernels: at first those of the first.\n";
  text += "struct Sizes {\n";
  for (const std::string& name : names_.sizes)
    text +=
        fmt::format("  {} {} = {};\n",
                    std::holds_alternative<bool>(first.shape.at(name)) ? "bool" : "std::int64_t",
                    name, to_text(first.shape.at(name)));
  text +=
      "};\n\n// What is not set is as it was when the kernel was tuned; the gate knows no other "
      "values.\nstruct Options {\n";
  for (const problem::Scalar& scalar : names_.options)
    text += fmt::format("  std::optional<{}> {} = std::nullopt;\n", cxx_type(scalar.type).name,
                        scalar.name);
  return text + "};\n\n";
}

std::string Header::launcher() const {
  std::vector<std::string> parameters, addresses, options;
  std::string notes;
  for (const problem::Tensor& tensor : names_.tensors) {
    const bool read = tensor.role == problem::Role::input;
    parameters.push_back(
        fmt::format("{}{}* {}", read ? "const " : "", cxx_type(tensor).name, tensor.name));
    addresses.push_back(fmt::format("reinterpret_cast<CUdeviceptr>({})", tensor.name));
    const char* const use = read                                      ? ""
                            : tensor.role == problem::Role::workspace ? ", to work in"
                            : problem::is_written_over(tensor.role)   ? ", written over"
                                                                      : ", written";
    notes += comment_lines(
        fmt::format("  {} [{}]{}", tensor.name, fmt::join(tensor.dims, ", "), use), "// ");
  }
  for (const problem::Scalar& scalar : names_.options)
    options.push_back(fmt::format("detail::bits_of(options.{})", scalar.name));
  if (options.empty()) options.emplace_back("std::nullopt");
  return "// Starts the kernel that was tuned for these sizes on a device like the current "
         "context's.\n"
         "// Tensors lie in its memory, row-major, at multiples of 16 bytes; of the first "
         "sizes:\n" +
         notes +
         "// CUDA_ERROR_NOT_FOUND: there is none for these sizes on this device, and nothing was "
         "done.\n" +
         fmt::format(
             "inline CUresult launch(const Sizes& sizes, {},\n"
             "                       CUstream stream = nullptr, const Options& options = {{}}) {{\n"
             "  const CUdeviceptr tensors[] = {{{}}};\n"
             "  const detail::Chosen chosen[] = {{{}}};\n"
             "  static_cast<void>(options);\n"
             "  return detail::launch(detail::kernels, detail::calls, {}, sizes, tensors, {}, "
             "chosen, stream);\n}}\n",
             fmt::join(parameters, ", "), fmt::join(addresses, ", "), fmt::join(options, ", "),
             package_.calls.size(), names_.tensors.size());
}

std::string Header::refusals() const {
  if (!is_for_any_size()) return "";
  return fmt::format(
      "\n// Why no kernel is for these sizes, on whatever device; nullptr where one is.\n"
      "inline const char* why_not(const Sizes& sizes) {{\n"
      "  return detail::why_not(detail::calls, {}, sizes);\n}}\n",
      package_.calls.size());
}

// What to work in may be larger for other sizes, and is another for other kernels.
std::string Header::workspace_sizes() const {
  std::string text;
  for (std::size_t i = 0; i < names_.tensors.size(); ++i)
    if (names_.tensors[i].role == problem::Role::workspace)
      text += fmt::format(
          "\n// The bytes that {0} must have for these sizes on the current context's device; 0 "
          "where no\n// kernel is for them.\n"
          "inline std::size_t bytes_of_{0}(const Sizes& sizes) {{\n"
          "  return detail::bytes_of(detail::calls, {1}, sizes, {2});\n}}\n",
          names_.tensors[i].name, package_.calls.size(), i);
  return text;
}

std::string Header::text() const {
  return head() + "\nnamespace " + package_.name + " {\n\n" + user_side() +
         "namespace detail {\n\n" + same_sizes() +
         std::string(is_for_any_size() ? cxx_number_part() : "") + "\n" + dispatch() +
         HeaderTables(package_, names_).text() + "\n}  // namespace detail\n\n" + launcher() +
         refusals() + workspace_sizes() + "\n}  // namespace " + package_.name + "\n";
}

}  // namespace

std::string cxx_header(const Package& package) {
  check_one_signature(package);
  return Header(package).text();
}

}  // namespace fa_tune::exports
