#include "engine/export/dispatch.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/export/text.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::exports {
namespace {

// The very text that goes into headers.
#include "engine/export/cxx/queue.hpp"

using expression::Expression;
using expression::Language;
using expression::Residue;
using Json = nlohmann::ordered_json;

std::string native(const Residue& residue) { return residue.text(Language::native); }

std::string product(const std::vector<Residue>& factors) {
  std::vector<std::string> texts;
  for (const Residue& each : factors) texts.push_back("(" + native(each) + ")");
  return fmt::format("{}", fmt::join(texts, " * "));
}

Json value_json(const Value& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

// Members that a dispatch asks for.
std::set<std::string> asked_names(const Dispatch& dispatch) {
  std::set<std::string> names;
  for (const Dispatch::Range& range : dispatch.ranges) names.insert(range.size);
  for (const KernelCost& cost : dispatch.costs)
    for (const auto& [name, value] : cost.category) names.insert(name);
  return names;
}

}  // namespace

QueueFormulas queue_of(const kernel::KernelFormulas& kernel,
                       const std::vector<std::string>& sizes) {
  const Residue one = Residue::of(std::int64_t{1});
  Residue blocks = Residue::of_text(product(kernel.grid) + " // (" + product(kernel.cluster) + ")");
  if (const auto& tiles = kernel.tiles)
    return {tiles->sets, tiles->together, tiles->of_a_set, tiles->steps, std::move(blocks)};
  const std::string work = fmt::format("{}", fmt::join(sizes, " * "));
  return {.sets = blocks,
          .together = one,
          .of_a_set = one,
          .steps = Residue::of_text(fmt::format("ceil_div({}, {})", work, native(blocks))),
          .blocks = blocks};
}

std::vector<std::int64_t> QueueAtShape::costs(std::int64_t overhead) const {
  std::vector<std::int64_t> costs;
  for (const std::int64_t each : steps) costs.push_back(16 * each + overhead);
  return costs;
}

std::int64_t QueueAtShape::longest(std::int64_t slots, std::int64_t overhead) const {
  return longest_queue({sets, together, std::ssize(steps), blocks, slots}, costs(overhead));
}

std::int64_t QueueAtShape::busiest(std::int64_t slots, std::int64_t sms,
                                   std::int64_t overhead) const {
  return busiest_sm({sets, together, std::ssize(steps), blocks, slots}, sms, costs(overhead));
}

std::optional<QueueAtShape> queue_at(const QueueFormulas& formulas, const Constants& shape) {
  Value tile = std::int64_t{0};
  const Expression::Scope scope = [&](const std::string& name) -> const Value* {
    if (name == kernel::kTileNumber) return &tile;
    const auto found = shape.find(name);
    return found == shape.end() ? nullptr : &found->second;
  };
  const auto value = [&](const Expression& expression) {
    return std::get<std::int64_t>(expression.evaluate(scope));
  };
  const auto number = [&](const Residue& residue) {
    return value(Expression::parse(native(residue)));
  };
  try {
    QueueAtShape queue{
        number(formulas.sets), number(formulas.together), number(formulas.blocks), {}};
    const std::int64_t of_a_set = number(formulas.of_a_set);
    const Queue launch{queue.sets, queue.together, of_a_set, queue.blocks, 1};
    if (!can_be_launched(launch)) return std::nullopt;
    const Expression steps = Expression::parse(native(formulas.steps));
    for (std::int64_t i = 0; i < of_a_set; ++i) {
      tile = i;
      queue.steps.push_back(value(steps));
      if (queue.steps.back() < 0 || queue.steps.back() > longest_tile(launch)) return std::nullopt;
    }
    return queue;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

bool KernelCost::is_for(const Constants& shape) const {
  return std::ranges::all_of(category, [&](const auto& member) {
    const auto found = shape.find(member.first);
    return found != shape.end() && found->second == member.second;
  });
}

std::optional<double> KernelCost::us(const Constants& shape) const {
  std::int64_t longest = 0, busiest = 0;
  for (const QueueFormulas& each : queues) {
    const auto queue = queue_at(each, shape);
    if (!queue) return std::nullopt;
    longest += queue->longest(slots, overhead);
    if (shared_step_us > 0) busiest += queue->busiest(slots, sms, overhead);
  }
  return fixed_us + step_us * static_cast<double>(longest) / 16 +
         shared_step_us * static_cast<double>(busiest) / 16;
}

bool Dispatch::in_ranges(const Constants& shape) const {
  return std::ranges::all_of(ranges, [&](const Range& range) {
    const std::int64_t size = integer(shape, range.size);
    return range.least <= size && size <= range.most;
  });
}

std::size_t Dispatch::choice(const Constants& shape) const {
  std::size_t chosen = robust.at(0);
  if (!in_ranges(shape)) return chosen;
  std::optional<double> best;
  for (const KernelCost& cost : costs) {
    if (!cost.is_for(shape)) continue;
    const auto us = cost.us(shape);
    if (!us || (best && *us >= *best)) continue;
    best = us;
    chosen = cost.choice;
  }
  return chosen;
}

std::vector<std::size_t> Dispatch::preferred(const Constants& shape) const {
  std::vector<std::size_t> order = {choice(shape)};
  for (const std::size_t other : robust)
    if (other != order[0]) order.push_back(other);
  return order;
}

Json dispatch_json(const Dispatch& dispatch, const std::vector<Json>& names) {
  Json ranges = Json::object();
  for (const Dispatch::Range& range : dispatch.ranges)
    ranges[range.size] = {range.least, range.most};
  Json costs = Json::array();
  for (const KernelCost& cost : dispatch.costs) {
    Json queues = Json::array(), category = Json::object();
    for (const auto& [name, value] : cost.category) category[name] = value_json(value);
    for (const QueueFormulas& each : cost.queues)
      queues.push_back({{"sets", native(each.sets)},
                        {"together", native(each.together)},
                        {"of_a_set", native(each.of_a_set)},
                        {"steps", native(each.steps)},
                        {"blocks", native(each.blocks)}});
    costs.push_back({{"choice", names.at(cost.choice)},
                     {"category", category},
                     {"queues", queues},
                     {"slots", cost.slots},
                     {"sms", cost.sms},
                     {"overhead_steps", static_cast<double>(cost.overhead) / 16},
                     {"fixed_us", cost.fixed_us},
                     {"step_us", cost.step_us},
                     {"shared_step_us", cost.shared_step_us}});
  }
  return {{"ranges", ranges}, {"outside", names.at(dispatch.robust.at(0))}, {"costs", costs}};
}

std::string cxx_dispatch(const Dispatch& dispatch, const std::vector<std::string>& sizes,
                         const Constants& fixed) {
  const auto written = [](const Residue& residue) {
    return residue.text(Language::cxx, [](const std::string& name) {
      return name == kernel::kTileNumber ? std::string("Number(tile)") : "of." + name;
    });
  };
  std::vector<std::string> given;
  for (const std::string& name : sizes) given.push_back("sizes." + name);
  std::string text(cxx_queue_part());
  text += cxx_dispatch_part();
  text += fmt::format("\nstruct AsNumbers {{\n  Number {};\n}};\n\n", fmt::join(sizes, ", "));
  text +=
      "// Which kernel is for these sizes: the one that is predicted to be done first. Where no "
      "shape\n// lay from which that was learned, the one that is never far behind.\n"
      "inline int fastest(const Sizes& sizes) {\n";
  for (const Dispatch::Range& range : dispatch.ranges)
    text += fmt::format("  if (sizes.{0} < {1} || sizes.{0} > {2}) return {3};\n", range.size,
                        range.least, range.most, dispatch.robust.at(0));
  text += fmt::format(
      "  const AsNumbers of = {{{}}};\n  static_cast<void>(of);\n"
      "  int chosen = {};\n  double best = 0;\n  bool any = false;\n"
      "  const auto offer = [&](int choice, double us) {{\n"
      "    if (any && us >= best) return;\n"
      "    any = true;\n    best = us;\n    chosen = choice;\n  }};\n",
      fmt::join(given, ", "), dispatch.robust.at(0));
  for (const KernelCost& cost : dispatch.costs) {
    std::vector<std::string> conditions;
    bool possible = true;
    for (const auto& [name, value] : cost.category) {
      if (const auto known = fixed.find(name); known != fixed.end())
        possible = possible && known->second == value;
      else
        conditions.push_back(fmt::format("sizes.{} == {}", name, to_text(value)));
    }
    if (!possible) continue;
    text +=
        fmt::format("  if ({}) {{\n    Lengths all;\n    bool there = true;\n",
                    conditions.empty() ? "true" : fmt::format("{}", fmt::join(conditions, " && ")));
    for (const QueueFormulas& each : cost.queues)
      text += fmt::format(
          "    there = there && add_queue({}, {}, {},\n        {}, {}, {}, {},\n"
          "        [&](std::int64_t tile) {{ static_cast<void>(tile); return {}; }}, all);\n",
          written(each.sets), written(each.together), written(each.of_a_set), written(each.blocks),
          cost.slots, cost.shared_step_us > 0 ? cost.sms : 0, cost.overhead, written(each.steps));
    text += fmt::format(
        "    if (there)\n      offer({}, {} + {} * static_cast<double>(all.longest) / 16 +\n"
        "                    {} * static_cast<double>(all.busiest) / 16);\n  }}\n",
        cost.choice, cost.fixed_us, cost.step_us, cost.shared_step_us);
  }
  return text + "  return chosen;\n}\n\n";
}

std::string python_dispatch(const Dispatch& dispatch) {
  const auto text_of = [](const std::string& text) { return literal(Json(text), Notation::json); };
  const auto written = [&](const Residue& residue) {
    return residue.text(Language::python, [&](const std::string& name) {
      return name == kernel::kTileNumber ? std::string("tile") : "s[" + text_of(name) + "]";
    });
  };
  std::string text(python_queue_part());
  std::string ranges, costs;
  for (const Dispatch::Range& range : dispatch.ranges)
    ranges += fmt::format("{}{}: ({}, {})", ranges.empty() ? "" : ", ", text_of(range.size),
                          range.least, range.most);
  for (const KernelCost& cost : dispatch.costs) {
    std::string category, queues;
    for (const auto& [name, value] : cost.category)
      category += fmt::format("{}{}: {}", category.empty() ? "" : ", ", text_of(name),
                              literal(value_json(value), Notation::python));
    for (const QueueFormulas& each : cost.queues)
      queues += fmt::format(
          "\n        (lambda s: {}, lambda s: {}, lambda s: {},\n         lambda s: {},\n"
          "         lambda s, tile: {}),",
          written(each.sets), written(each.together), written(each.of_a_set), written(each.blocks),
          written(each.steps));
    costs += fmt::format(
        "    {{\"choice\": {}, \"category\": {{{}}}, \"slots\": {}, \"sms\": {}, \"overhead\": "
        "{},\n"
        "     \"fixed_us\": {}, \"step_us\": {}, \"shared_step_us\": {}, \"queues\": [{}\n    "
        "]}},\n",
        cost.choice, category, cost.slots, cost.sms, cost.overhead, cost.fixed_us, cost.step_us,
        cost.shared_step_us, queues);
  }
  std::string asked;
  for (const std::string& name : asked_names(dispatch)) asked += text_of(name) + ", ";
  return text + fmt::format("\n\n_ASKED = ({})\n_RANGES = {{{}}}\n_OUTSIDE = {}\n_COSTS = [\n{}]\n",
                            asked, ranges, dispatch.robust.at(0), costs);
}

}  // namespace fa_tune::exports
