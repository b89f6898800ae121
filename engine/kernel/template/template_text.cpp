// What a template's manifest and its CUDA text have to say of each other.
#include <algorithm>

#include <fmt/format.h>

#include "engine/kernel/template/template.hpp"
#include "engine/source/declarations.hpp"
#include "engine/source/identifier_substitution.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::kernel {
namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

void Template::take_text(const std::string& cuda_text) {
  cuda_text_ = cuda_text;
  // Lines of a text that is several files are not those of one.
  const bool is_one_file = !cuda_text.contains("// ---- end of ");
  lines_ = source::SourceLines::of_file(is_one_file ? source_name_
                                                    : source_name_ + " with its includes");
  template_parameters_.clear();
  std::optional<source::Declarations> found;
  for (const NamedKernel& kernel : named_kernels()) {
    const std::size_t list = kernel.name.find('<');
    if (list == std::string::npos) continue;
    if (!found) found = source::declarations(cuda_text_);
    for (auto word = source::next_word(kernel.name, list); word;
         word = source::next_word(kernel.name, word->end())) {
      const std::string name(word->text);
      if (found->template_parameters.contains(name) && has(parameters_, name) &&
          !has(template_parameters_, name))
        template_parameters_.push_back(name);
    }
  }
}

void Template::require_no_conditions() const {
  if (template_parameters_.empty()) return;
  const source::Declarations found = source::declarations(cuda_text_);
  for (const std::string& name : template_parameters_)
    if (const auto used = found.conditions.find(name); used != found.conditions.end())
      throw UserError(fmt::format(
          "{}kernel: {} is a template parameter at {}, so it is not #defined, and {} asks for it "
          "with an #if: give one of the two another name",
          prefix(named_kernels().front().mark), name, place_of(found.template_parameters.at(name)),
          place_of(used->second)));
}

std::string Template::place_of(int line) const {
  const source::SourceLines::Place place = lines_.at(line);
  return place.file + ":" + std::to_string(place.line);
}

std::vector<Template::NamedKernel> Template::named_kernels() const {
  std::vector<NamedKernel> all;
  for (const Kernel* each : all_kernels()) {
    NamedKernel& kernel = all.emplace_back(each->name, each->mark, std::vector<std::string>());
    for (const Argument& argument : each->arguments) {
      if (kernel.arguments) kernel.arguments->push_back(argument.name);
      if (argument.when) kernel.arguments.reset();
    }
  }
  return all;
}

std::vector<std::string> Template::options(const Config& config) const {
  std::vector<std::string> all;
  for (const source::CompileOption& option : options_)
    all.push_back(source::with_value(option, [&](const std::string& name) {
      const Value* value = config.find(name);
      return value == nullptr ? name : to_text(*value);
    }));
  return all;
}

void Template::require_option_value(const std::string& parameter, const Value& value) const {
  for (const source::CompileOption& option : options_)
    if (source::named_value(option) == parameter)
      (void)source::with_value(option, [&](const std::string&) { return to_text(value); });
}

}  // namespace fa_tune::kernel
