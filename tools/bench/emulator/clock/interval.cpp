#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "engine/device/emulator/prediction/recorded_errors.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "tools/bench/emulator/clock/clock.hpp"

namespace fa_tune::bench {
namespace {

using emulator::KernelKind;

// A value that fewer kernels have is none to be called the worst.
constexpr std::size_t kFewestOfValue = 10;

// A kernel that was timed, beside its prediction.
struct Row {
  std::string shape;
  Json config;
  double predicted = 0;  // logarithms
  double error = 0;      // of measured over predicted
};
using Rows = std::vector<const Row*>;

std::vector<double> errors_of(const Rows& rows) {
  std::vector<double> errors;
  for (const Row* row : rows) errors.push_back(row->error);
  return errors;
}

std::map<std::string, Rows> by_shape(const Rows& rows) {
  std::map<std::string, Rows> shapes;
  for (const Row* row : rows) shapes[row->shape].push_back(row);
  return shapes;
}

double apart_of(const Rows& rows) {
  std::vector<std::vector<double>> errors;
  for (const auto& [shape, of_shape] : by_shape(rows)) errors.push_back(errors_of(of_shape));
  return emulator::apart_90(errors);
}

// How many of a number are as they should be.
struct Share {
  std::size_t good = 0;
  std::size_t of = 0;
  double part() const { return of == 0 ? 0 : static_cast<double>(good) / static_cast<double>(of); }
  Share& operator+=(const Share& other) {
    good += other.good;
    of += other.of;
    return *this;
  }
};
Json json_of(const Share& share) { return {{"good", share.good}, {"of", share.of}}; }

Share covered(const emulator::Middle& middle, const Rows& rows) {
  Share share;
  for (const Row* row : rows) {
    ++share.of;
    if (middle.low <= row->error && row->error <= middle.high) ++share.good;
  }
  return share;
}

// Of pairs at one shape that are predicted to be further apart, those in the right order.
Share ordered(double apart, const Rows& rows) {
  Share share;
  for (const auto& [shape, of_shape] : by_shape(rows))
    for (std::size_t i = 0; i < of_shape.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        const double by = of_shape[i]->predicted - of_shape[j]->predicted;
        const double measured = by + of_shape[i]->error - of_shape[j]->error;
        if (std::abs(by) < apart) continue;
        ++share.of;
        if (by * measured > 0) ++share.good;
      }
  return share;
}

// Rows for which `is_left_out` holds, and the others.
template <class F>
std::pair<Rows, Rows> parted(const Rows& rows, const F& is_left_out) {
  std::pair<Rows, Rows> parts;
  for (const Row* row : rows) (is_left_out(*row) ? parts.first : parts.second).push_back(row);
  return parts;
}

// The interval of all but a shape, on that shape; and so for each.
Json leave_shapes_out(const Rows& rows) {
  Share inside;
  Share right;
  Json each = Json::object();
  const auto shapes = by_shape(rows);
  if (shapes.size() < 2) return {{"why_not", "there is one shape"}};
  for (const auto& [shape, of_shape] : shapes) {
    const auto rest = parted(rows, [&](const Row& row) { return row.shape == shape; }).second;
    const Share here = covered(emulator::middle_90(errors_of(rest)), of_shape);
    inside += here;
    right += ordered(apart_of(rest), of_shape);
    each[shape] = json_of(here);
  }
  return {{"inside", json_of(inside)}, {"pairs_in_order", json_of(right)}, {"shapes", each}};
}

// The same for each value of each gene, of which there are several and some kernels have others.
Json leave_genes_out(const Rows& rows) {
  std::map<std::string, std::set<std::string>> genes;
  for (const Row* row : rows)
    for (const auto& [gene, value] : row->config.items()) genes[gene].insert(value.dump());
  Json result = Json::object();
  for (const auto& [gene, values] : genes) {
    if (values.size() < 2) continue;
    for (const std::string& value : values) {
      const auto [out, rest] = parted(rows, [&](const Row& row) {
        const auto found = row.config.find(gene);
        return found != row.config.end() && found->dump() == value;
      });
      result[gene][value] = json_of(covered(emulator::middle_90(errors_of(rest)), out));
    }
  }
  return result;
}

KernelKind kind_named(const std::string& name) {
  for (std::size_t i = 0; i < emulator::kKernelKinds; ++i)
    if (name == emulator::name_of(static_cast<KernelKind>(i))) return static_cast<KernelKind>(i);
  throw UserError(fmt::format("'{}' is no kind of kernel: predict the file anew", name));
}

std::string ratio(double log) {
  return std::isfinite(log) ? fmt::format("{:.2f}", std::exp(log)) : "-";
}
std::string percent(const Json& share) {
  const Share read{share.at("good"), share.at("of")};
  return read.of == 0 ? "-" : fmt::format("{:.0f}% of {}", 100 * read.part(), read.of);
}
std::string literal(double value) {
  return std::isfinite(value) ? fmt::format("{:.4f}", value)
                              : "std::numeric_limits<double>::infinity()";
}

struct Read {
  std::array<std::vector<Row>, emulator::kKernelKinds> of_kind;
  int not_modelled = 0;
};

Read read_rows(const std::vector<std::string>& files) {
  Read read;
  for (const std::string& file : files) {
    const Json predicted = Json::parse(read_file(file));
    const std::string model = predicted.at("model").get<std::string>();
    if (model != std::string("emulator:") + emulator::recorded_profile())
      throw UserError(fmt::format("{}: predicted by {}; expected emulator:{}", file, model,
                                  emulator::recorded_profile()));
    for (const Json& row : predicted.at("rows")) {
      if (row.contains("not_modelled")) {
        ++read.not_modelled;
        continue;
      }
      const Json interval = row.at("detail").value("interval", Json::object());
      const double us = row.at("predicted_us").get<double>();
      read.of_kind.at(static_cast<std::size_t>(kind_named(interval.value("kind", ""))))
          .push_back({row.value("shape", predicted.value("shape", std::string())), row.at("config"),
                      std::log(us), std::log(row.at("median_us").get<double>() / us)});
    }
  }
  return read;
}

Rows pointers(const std::vector<Row>& rows) {
  Rows result;
  for (const Row& row : rows) result.push_back(&row);
  return result;
}

}  // namespace

Json interval_table(const std::vector<std::string>& files,
                    const std::vector<std::string>& held_out) {
  const Read all = read_rows(files);
  const Read others = read_rows(held_out);
  Json kinds = Json::object();
  for (std::size_t i = 0; i < emulator::kKernelKinds; ++i) {
    const Rows rows = pointers(all.of_kind[i]);
    const Rows unseen = pointers(others.of_kind[i]);
    const emulator::Middle middle = emulator::middle_90(errors_of(rows));
    const double apart = apart_of(rows);
    const auto known = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
    kinds[emulator::name_of(static_cast<KernelKind>(i))] = {
        {"kernels", rows.size()},
        {"shapes", by_shape(rows).size()},
        {"low", known(middle.low)},
        {"high", known(middle.high)},
        {"apart", known(apart)},
        {"pairs_in_order", json_of(ordered(apart, rows))},
        {"shape_left_out", leave_shapes_out(rows)},
        {"gene_left_out", leave_genes_out(rows)},
        {"held_out", json_of(covered(middle, unseen))},
        {"held_out_shapes", by_shape(unseen).size()}};
  }
  return {{"model", std::string("emulator:") + emulator::recorded_profile()},
          {"not_modelled", all.not_modelled},
          {"kinds", kinds}};
}

std::string interval_code(const Json& table) {
  std::string text =
      "    // kernels, shapes, low, high, apart. Written by tools/bench/emulator/clock/interval.\n";
  for (const auto& [name, kind] : table.at("kinds").items()) {
    const bool none = kind.at("low").is_null();
    const auto number = [&](const char* key) {
      return literal(kind.at(key).is_null() ? HUGE_VAL : kind.at(key).get<double>());
    };
    text += none ? fmt::format("    {{}},  // {}\n", name)
                 : fmt::format("    {{{}, {}, {}, {}, {}}},  // {}\n",
                               kind.at("kernels").get<int>(), kind.at("shapes").get<int>(),
                               number("low"), number("high"), number("apart"), name);
  }
  return text;
}

std::string describe_interval(const Json& table) {
  std::string text =
      "| kernels | number, shapes | 90% took, times as long as predicted | inside with their shape "
      "left out | with a gene's value left out, worst | held out, shapes: inside | told apart from "
      "a "
      "ratio of | in order, with their shape left out |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const auto& [name, kind] : table.at("kinds").items()) {
    const auto log_of = [&](const char* key) {
      return kind.at(key).is_null() ? HUGE_VAL : kind.at(key).get<double>();
    };
    const Json& shapes = kind.at("shape_left_out");
    std::string worst = "-";
    double least = 2;
    Share all;
    for (const auto& [gene, values] : kind.at("gene_left_out").items())
      for (const auto& [value, share] : values.items()) {
        const Share here{share.at("good"), share.at("of")};
        all += here;
        if (here.part() >= least || here.of < kFewestOfValue) continue;
        least = here.part();
        worst = fmt::format("{} {} {}", gene, value, percent(share));
      }
    if (all.of > 0) worst = fmt::format("{:.0f}%, {}", 100 * all.part(), worst);
    const bool one = shapes.contains("why_not");
    text += fmt::format(
        "| {} | {}, {} | {} to {} | {} | {} | {}, {}: {} | {} | {} |\n", name,
        kind.at("kernels").get<int>(), kind.at("shapes").get<int>(), ratio(log_of("low")),
        ratio(log_of("high")), one ? "one shape" : percent(shapes.at("inside")), worst,
        kind.at("held_out").at("of").get<int>(), kind.at("held_out_shapes").get<int>(),
        percent(kind.at("held_out")), ratio(log_of("apart")),
        one ? percent(kind.at("pairs_in_order")) + " (of the same shape)"
            : percent(shapes.at("pairs_in_order")));
  }
  return text +
         fmt::format("not modelled, and in no row: {}\n", table.at("not_modelled").get<int>());
}

}  // namespace fa_tune::bench
