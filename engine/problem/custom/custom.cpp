#include "engine/problem/custom/custom.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/problem/custom/draw.hpp"
#include "engine/problem/custom/inputs.hpp"
#include "engine/problem/custom/tolerance.hpp"
#include "engine/problem/custom/widen.hpp"
#include "engine/space_file/space_file.hpp"
#include "engine/util/bytes.hpp"
#include "engine/util/error.hpp"
#include "engine/util/memory.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::problem {
namespace {

// Of more data than this a truth takes seconds, most of them on the bus.
constexpr std::int64_t kMostForAllKinds = std::int64_t{1} << 30;

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) {
  auto copy = large_zeros<std::byte>(bytes.size());
  copy_large(bytes, copy);
  return copy;
}

const std::string kInDoubleWords =
    " (the reference in double, by which the tolerance is measured; a `tolerance` in the space "
    "goes without it)";

bool is_floating(const Tensor& tensor) { return !is_integer(tensor.type); }

// Manifests know sizes as "problem.n".
Constants scope_of(const Constants& shape) {
  Constants scope;
  for (const auto& [name, value] : shape) scope["problem." + name] = value;
  return scope;
}

// "mine.yaml" of "mine.yaml:3:9: ".
std::string file_of(std::string where) {
  if (where.ends_with(": ")) where.resize(where.size() - 2);
  for (int i = 0; i < 2; ++i) {
    const std::size_t colon = where.rfind(':');
    if (colon != std::string::npos &&
        where.find_first_not_of("0123456789", colon + 1) == std::string::npos)
      where.resize(colon);
  }
  return where;
}

}  // namespace

CustomProblem::CustomProblem(CustomSpec spec) : spec_(std::move(spec)) {
  const bool of_doubles = std::ranges::any_of(spec_.arguments, [](const CustomArgument& each) {
    const auto parts = layout_of(each.type).parts;
    return std::ranges::find(parts, DType::f64, &ScalarPart::type) != parts.end();
  });
  const bool exact_alone = std::ranges::none_of(spec_.arguments, [](const auto& each) {
    return each.role && is_result(*each.role) && !is_integer(each.number());
  });
  if (of_doubles && !spec_.tolerance && !exact_alone)
    throw UserError(prefix(spec_.arguments[0].mark) +
                    "arguments of f64 need a `tolerance`: nothing here is more precise than they "
                    "are, to measure it by; in the space, or by --set tolerance.relative=1e-9");
  if (spec_.reference && !spec_.tolerance && !exact_alone)
    if (const auto word = not_widened(call(shape()).source.text))
      throw UserError(fmt::format(
          "{}the reference uses {}, which has no counterpart in double: write it with plain "
          "numbers, or state a `tolerance`, which goes without it",
          prefix(spec_.reference_mark), *word));
  for (const Constants& sizes : spec_.sizes) {
    describe_custom(spec_, sizes);
    if (!spec_.reference) continue;
    const PlannedLaunch planned = spec_.reference->require_plan(Config(), scope_of(sizes));
    if (!planned.steps.empty() || !planned.workspaces.empty() || !planned.scalars.empty())
      throw UserError(
          prefix(spec_.arguments[0].mark) +
          "reference: a plain kernel is one kernel without workspaces or scalars of its "
          "own");
  }
}

void CustomProblem::locate(const source::SourceMaps& lines) {
  if (!spec_.reference) return;
  if (const auto found = lines.find(spec_.reference->source_name()); found != lines.end())
    spec_.reference->locate(found->second);
}

std::string CustomProblem::describe(const Constants& shape) const {
  std::vector<std::string> parts;
  for (const auto& [name, value] : shape) parts.push_back(name + "=" + fa_tune::to_text(value));
  return fmt::format("{}", fmt::join(parts, " "));
}

std::vector<Suite> CustomProblem::suites() const {
  Suite quick, mission{.name = SuiteName::mission, .shapes = {shape()}};
  const auto is_left_out = [this](Inputs inputs) {
    return !spec_.inputs.empty() && std::ranges::find(spec_.inputs, inputs) == spec_.inputs.end();
  };
  quick.shapes.assign(spec_.sizes.begin() + (spec_.sizes.size() > 1 ? 1 : 0), spec_.sizes.end());
  quick.given = mission.given = !spec_.reference;
  quick.kinds.push_back(Inputs::rare);
  if (largest_meets_few_kinds()) mission.kinds = {Inputs::normal, Inputs::large_logits};
  // A tolerance that is stated is of the numbers that are stated.
  if (!spec_.tolerance) quick.kinds.push_back(Inputs::extreme);
  std::erase_if(quick.kinds, is_left_out);
  std::erase_if(mission.kinds, is_left_out);
  return {quick, mission};
}

bool CustomProblem::largest_meets_few_kinds() const {
  // Where there is no other size, all kinds meet this one.
  if (spec_.sizes.size() < 2) return false;
  std::int64_t bytes = 0;
  for (const Tensor& tensor : outline(shape()).tensors)
    bytes += tensor.elements() * static_cast<std::int64_t>(size_of(tensor.type));
  return bytes > kMostForAllKinds;
}

std::vector<std::string> CustomProblem::notes() const {
  std::vector<std::string> notes;
  if (largest_meets_few_kinds())
    notes.emplace_back(
        "the timed size is large: kernels are gated at it on two of six kinds of input, in finals "
        "too; the smaller sizes meet all");
  if (std::ranges::none_of(spec_.arguments, [](const CustomArgument& each) {
        return each.role && is_given(*each.role);
      }))
    notes.emplace_back(
        "the kernel reads no buffer: what comes of it depends on sizes and scalars alone, and one "
        "that has its results written down passes");
  if (!spec_.inputs.empty()) {
    std::vector<std::string> kinds;
    for (const Inputs inputs : spec_.inputs) kinds.push_back(to_text(inputs));
    notes.push_back(
        fmt::format("the space leaves kinds of input out: kernels are gated on {} alone",
                    fmt::join(kinds, ", ")));
  }
  return notes;
}

std::vector<Constants> CustomProblem::hidden_shapes(std::uint64_t seed) const {
  std::vector<Constants> shapes;
  if (spec_.hidden.empty()) return shapes;
  Random random(derive_seed(seed, "hidden shapes"));
  for (int i = 0; i < kHiddenShapes; ++i) {
    Constants drawn = shape();
    for (const auto& [name, least, most] : spec_.hidden)
      drawn[name] = least + static_cast<std::int64_t>(
                                random.below(static_cast<std::uint64_t>(most - least) + 1));
    shapes.push_back(std::move(drawn));
  }
  return shapes;
}

std::vector<std::pair<std::string, std::string>> CustomProblem::defines(
    const Constants& shape) const {
  std::vector<std::pair<std::string, std::string>> lines;
  lines.reserve(spec_.defines.size());
  for (const auto& [name, expression] : spec_.defines)
    lines.emplace_back(name, std::to_string(evaluate(expression, shape)));
  return lines;
}

Instance CustomProblem::outline(const Constants& shape) const {
  return describe_custom(spec_, shape);
}

Instance CustomProblem::make(const Constants& shape, Inputs inputs, std::uint64_t seed) const {
  return make_custom(spec_, shape, inputs, seed);
}

ReferenceCall CustomProblem::call(const Constants& shape) const {
  const kernel::Template& reference = *spec_.reference;
  PlannedLaunch planned = reference.require_plan(Config(), scope_of(shape));
  return {.source = reference.render(Config(), defines(shape)),
          .arch = reference.arch(),
          .options = reference.options(),
          .launch = planned.config,
          .arguments = std::move(planned.arguments)};
}

std::vector<Expectation> CustomProblem::expect(const Instance& instance, Truth) const {
  if (!spec_.reference) return expected_in_files(instance);
  if (runner_ == nullptr)
    throw std::logic_error("a truth is asked for, and nobody said where its reference kernel runs");
  ReferenceCall plain = call(instance.shape);
  std::vector<std::vector<std::byte>> trusted;
  runner_->run(plain, instance, [&](const Tensor&, std::span<const std::byte> bytes) {
    trusted.push_back(copy_of(bytes));
  });
  const bool measured =
      !spec_.tolerance && std::ranges::any_of(instance.tensors, [](const Tensor& tensor) {
        return is_result(tensor.role) && is_floating(tensor);
      });
  if (measured) return measured_by(std::move(plain), instance, trusted);
  std::vector<Expectation> expectations;
  for (const Tensor& tensor : instance.tensors) {
    if (!is_result(tensor.role)) continue;
    auto& bytes = trusted[expectations.size()];
    expectations.push_back(
        is_floating(tensor)
            ? stated_expectation(tensor, numbers_of(tensor.type, bytes), *spec_.tolerance)
            : equal_expectation(tensor, std::move(bytes)));
  }
  return expectations;
}

std::vector<Expectation> CustomProblem::measured_by(
    ReferenceCall call, const Instance& instance,
    const std::vector<std::vector<std::byte>>& trusted) const {
  call.checked = true;
  ReferenceCall in_double = call;
  in_double.source = widened(call.source);
  in_double.launch.dynamic_shared_bytes *= times_wider(call.source.text);
  // A Noise for each floating output, and what there is to be said of it.
  std::vector<std::optional<Noise>> noises;
  try {
    Instance wide = widened(spec_, instance);
    std::size_t next = 0;
    runner_->run(in_double, wide, [&](const Tensor& tensor, std::span<const std::byte> bytes) {
      const Tensor& output = *std::ranges::find(instance.tensors, tensor.name, &Tensor::name);
      auto& noise = noises.emplace_back();
      if (is_floating(output))
        noise.emplace(output, numbers_of(tensor.type, bytes)).add_rounding(trusted[next]);
      ++next;
    });
    call.sanitized = in_double.sanitized = false;
    draw_noise(call, in_double, instance, wide, noises);
  } catch (const NoTruth& none) {
    throw NoTruth(none.what() + kInDoubleWords);
  } catch (const UserError& error) {
    throw UserError(error.what() + kInDoubleWords);
  }
  std::vector<Expectation> expectations;
  for (const Tensor& tensor : instance.tensors) {
    if (!is_result(tensor.role)) continue;
    auto& noise = noises[expectations.size()];
    expectations.push_back(noise ? std::move(*noise).expectation()
                                 : equal_expectation(tensor, trusted[expectations.size()]));
  }
  return expectations;
}

void CustomProblem::draw_noise(const ReferenceCall& call, const ReferenceCall& in_double,
                               const Instance& instance, Instance& wide,
                               std::vector<std::optional<Noise>>& noises) const {
  const NoiseDraws draws = NoiseDraws::of(instance);
  for (int i = 0; i < draws.moves; ++i) {
    const Move how = i == 0 ? Move::alike : Move::each;
    move_near(spec_, instance, how, derive_seed(instance.seed, "move", i), wide);
    std::size_t next = 0;
    runner_->run(in_double, wide, [&](const Tensor&, std::span<const std::byte> bytes) {
      if (auto& noise = noises[next++]) noise->add_move(bytes, how);
    });
  }
  Instance other;
  for (int i = 1; i < draws.roundings; ++i) try {
      other = redrawn(spec_, instance, derive_seed(instance.seed, "rounding", i), std::move(other));
      std::vector<std::vector<std::byte>> runs;
      runner_->run(call, other, [&](const Tensor&, std::span<const std::byte> bytes) {
        runs.push_back(copy_of(bytes));
      });
      std::size_t next = 0;
      wide = widened(spec_, other, std::move(wide));
      runner_->run(in_double, wide, [&](const Tensor&, std::span<const std::byte> bytes) {
        if (auto& noise = noises[next]) noise->add_rounding(runs[next], bytes);
        ++next;
      });
    } catch (const NoTruth&) {  // NOLINT(bugprone-empty-catch)
      // Right beside the case's inputs there may be a pole. It goes with fewer draws.
    }
}

std::vector<Expectation> CustomProblem::expected_in_files(const Instance& instance) const {
  std::vector<Expectation> expectations;
  for (const Tensor& tensor : instance.tensors) {
    if (!is_result(tensor.role)) continue;
    const std::string& file = spec_.expected.at(tensor.name);
    expectations.push_back(
        is_floating(tensor)
            ? stated_expectation(tensor, array_values(spec_, file, tensor), *spec_.tolerance)
            : equal_expectation(tensor, array_bytes(spec_, file, tensor)));
  }
  return expectations;
}

std::vector<std::pair<std::string, std::string>> CustomProblem::argument_notes(
    const Constants& shape) const {
  std::vector<std::pair<std::string, std::string>> notes;
  const Instance instance = describe_custom(spec_, shape);
  for (const CustomArgument& argument : spec_.arguments) {
    const std::string type = type_name(argument.type);
    const auto tensor = std::ranges::find(instance.tensors, argument.name, &Tensor::name);
    if (tensor == instance.tensors.end()) {
      std::vector<std::string> numbers;
      for (const expression::StatedNumber& number : argument.numbers)
        numbers.push_back(number.text());
      notes.emplace_back(argument.name, fmt::format("{}, {}", type, fmt::join(numbers, " ")));
      continue;
    }
    // As it is declared: vectors are elements.
    const auto dims =
        std::span(tensor->dims).first(tensor->dims.size() - (argument.type.lanes > 1 ? 1 : 0));
    if (argument.constant) {
      notes.emplace_back(argument.name,
                         fmt::format("to be copied to the __constant__ variable: {} [{}]", type,
                                     fmt::join(dims, ", ")));
      continue;
    }
    const char* const words = tensor->role == Role::input       ? "read"
                              : tensor->role == Role::output    ? "written whole"
                              : tensor->role == Role::workspace ? "for the kernel's own use"
                                                                : "read and written over";
    notes.emplace_back(argument.name,
                       fmt::format("pointer to {} [{}], {}", type, fmt::join(dims, ", "), words));
  }
  return notes;
}

std::vector<std::string> CustomProblem::argument_names() const {
  std::vector<std::string> names;
  for (const CustomArgument& argument : spec_.arguments)
    if (!argument.constant) names.push_back(argument.name);
  return names;
}

std::vector<std::string> CustomProblem::constant_names() const {
  std::vector<std::string> names;
  for (const CustomArgument& argument : spec_.arguments)
    if (argument.constant) names.push_back(argument.name);
  return names;
}

double CustomProblem::flop(const Constants& shape) const {
  return spec_.flop ? static_cast<double>(evaluate(*spec_.flop, shape)) : 0;
}

double CustomProblem::bytes(const Constants& shape) const {
  if (spec_.bytes) return static_cast<double>(evaluate(*spec_.bytes, shape));
  double bytes = 0;
  for (const Tensor& tensor : describe_custom(spec_, shape).tensors)
    if (is_result(tensor.role))
      bytes += static_cast<double>(tensor.elements()) * static_cast<double>(size_of(tensor.type));
  return bytes;
}

std::unique_ptr<Problem> make_custom_problem(
    const std::vector<std::pair<std::string, Value>>& settings, const std::string& where) {
  const auto text = std::ranges::find(settings, std::string(space::kCustomText),
                                      &std::pair<std::string, Value>::first);
  const auto* held = text == settings.end() ? nullptr : std::get_if<std::string>(&text->second);
  if (held == nullptr)
    throw UserError(where +
                    "a custom problem comes with the text of its space, here it is missing");
  CustomSpec spec = read_custom(YamlNode::parse(*held, file_of(where)));
  for (const auto& [name, value] : settings) {
    if (name == space::kCustomText) continue;
    const std::string size = name.starts_with("sizes.") ? name.substr(6) : "";
    const auto found = spec.sizes[0].find(size);
    if (found == spec.sizes[0].end() || !std::holds_alternative<std::int64_t>(value))
      throw UserError(where + "'" + name + "': of a custom problem only its sizes can be set");
    found->second = value;
  }
  return std::make_unique<CustomProblem>(std::move(spec));
}

}  // namespace fa_tune::problem
