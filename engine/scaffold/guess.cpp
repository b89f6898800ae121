#include "engine/scaffold/guess.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>

#include "engine/scaffold/kernel_walk.hpp"
#include "engine/scaffold/value_lists.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::scaffold {
namespace {

constexpr std::int64_t kBlock = 256;  // of the reference, where the kernel asks for nothing

bool is_integer_type(const std::string& type) {
  return known_type(type) && lanes_of(type) == 1 && !is_floating(type) && type != "bool";
}

class Guesser {
 public:
  Guesser(const SourceText& source, const KernelText& kernel) : source_(source), kernel_(kernel) {
    check_types();
    for (const KernelParameter& each : kernel.parameters)
      if (!each.pointer && is_integer_type(each.type)) exact_.insert(each.name);
    for (const TemplateParameter& each : kernel.template_parameters)
      if (!each.is_type) tunable_[each.name] = each.otherwise.value_or(usual_value(each.name));
    for (const auto& [name, macro] : source.source.open) tunable_[name] = macro.number;
    for (auto& [name, value] : tunable_) {
      exact_.insert(name);
      // block_size_x of a row of threads, not of a square.
      const std::string stem = name.substr(0, name.size() - 1);
      const auto macro = source.source.open.find(name);
      if (macro != source.source.open.end() && macro->second.missing && name.ends_with("_x") &&
          stem.ends_with("block_size_") && !source.source.open.contains(stem + "y"))
        value = 128;
    }
  }

  Guess guess() {
    use_ = walk_kernel(source_, kernel_, exact_, {}, algebra_);
    choose_blocks();
    choose_extents();
    use_ = walk_kernel(source_, kernel_, exact_, known_, algebra_);
    choose_shapes();
    choose_sizes();
    write_arguments();
    write_parameters();
    write_launches();
    write_names();
    return std::move(made_);
  }

 private:
  struct Axis {
    Polynomial block = 1, covers = 1;
    std::optional<Polynomial> extent;
    bool guarded = false, own_block = false;
  };

  [[noreturn]] void refuse(const std::string& what) const {
    throw UserError(fmt::format("kernel '{}' (line {}): {}", kernel_.name, kernel_.line, what));
  }

  void check_types() const {
    if (kernel_.parameters.empty()) refuse("it has no parameters, so nothing it computes is seen");
    for (const KernelParameter& each : kernel_.parameters)
      if (!each.known)
        refuse(
            fmt::format("parameter '{}' has the type '{}', which init cannot state; a space has "
                        "numbers, vectors, complex numbers and structs of these by value",
                        each.name, each.type));
    if (std::ranges::none_of(kernel_.parameters, &KernelParameter::pointer))
      refuse("it takes no pointer, so nothing it computes is seen");
  }

  bool is_scalar(const std::string& name) const {
    return std::ranges::any_of(kernel_.parameters, [&](const KernelParameter& each) {
      return each.name == name && !each.pointer;
    });
  }

  std::string fresh_name(const std::string& wanted) const {
    std::string name = wanted;
    for (int i = 2; use_.words.contains(name) || source_.source.closed.contains(name) ||
                    source_.source.open.contains(name) || tunable_.contains(name);
         ++i)
      name = wanted + std::to_string(i);
    return name;
  }

  // What a launch may decide: a parameter of the space's own.
  void add_block_parameter(std::size_t index, int axes, std::optional<std::int64_t> most) {
    const std::string axis(1, static_cast<char>('X' + index));
    const std::string name = fresh_name(axes == 1 ? "BLOCK" : "BLOCK_" + axis);
    std::vector<std::int64_t> values;
    const std::vector<std::int64_t> usual = axes == 1 ? std::vector<std::int64_t>{64, 128, 256, 512}
                                            : index == 0 ? std::vector<std::int64_t>{8, 16, 32}
                                            : index == 1 ? std::vector<std::int64_t>{4, 8, 16}
                                                         : std::vector<std::int64_t>{1, 2, 4};
    for (const std::int64_t value : usual)
      if (value <= most.value_or(value)) values.push_back(value);
    if (values.empty()) values.push_back(*most);
    launch_parameters_.push_back({name, values});
    tunable_[name] = axes == 1 ? std::min(kBlock, values.back()) : values[values.size() / 2];
    axes_[index].block = Polynomial(name);
    axes_[index].own_block = true;
  }

  static bool is_blocky(const std::string& name) {
    std::string lower = name;
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    for (const char* part : {"block", "thread", "tile", "tpb", "wg", "warp", "bs", "bdim", "dim"})
      if (lower.find(part) != lower.npos) return true;
    return false;
  }

  // Of what a block covers the part that is its threads.
  std::optional<Polynomial> threads_of(const Polynomial& covers) const {
    if (covers.terms().size() != 1) return std::nullopt;
    const auto& [names, factor] = *covers.terms().begin();
    if (names.size() == 1)
      if (const auto parts = algebra_.parts(names[0])) return threads_of(parts->first);
    if (names.empty()) return factor <= 1024 && factor > 1 ? std::optional(covers) : std::nullopt;
    for (const std::string& name : names)
      if (tunable_.contains(name) && is_blocky(name)) return Polynomial(name);
    if (tunable_.contains(names[0])) return Polynomial(names[0]);
    return factor > 1 && factor <= 1024 ? std::optional(Polynomial(factor)) : std::nullopt;
  }

  void choose_blocks() {
    const auto axes = static_cast<int>(
        std::ranges::count_if(use_.axes, [](const auto& each) { return each.thread; }));
    for (std::size_t i = 0; i < 3; ++i) {
      const KernelUse::Axis& seen = use_.axes[i];
      Axis& axis = axes_[i];
      if (!seen.thread && !seen.block_size) continue;
      const auto tile = seen.tile ? seen.tile->number() : std::nullopt;
      std::optional<Polynomial> fixed;
      for (const auto& [step, end] : use_.steps)
        if (!seen.block_size && seen.covers && end == *seen.covers && step != end &&
            step != Polynomial(1) && i == 1)
          fixed = step;
      // A name says more than the number of a stride.
      const auto named = seen.covers ? threads_of(*seen.covers) : std::nullopt;
      if (!fixed && !seen.block_size && named && !named->number()) fixed = named;
      if (!fixed && !seen.block_size && !seen.strides.empty()) fixed = threads_of(seen.strides[0]);
      if (!fixed && seen.tile && !tile) fixed = threads_of(*seen.tile);
      if (!fixed && !seen.block_size && seen.covers) fixed = threads_of(*seen.covers);
      if (!fixed && !seen.block_size && tile) fixed = seen.tile;
      // A parameter that is called what blocks are, and is nowhere else to be seen.
      if (!fixed && i == 0 && axes == 1)
        for (const TemplateParameter& each : kernel_.template_parameters)
          if (!each.is_type && !each.is_bool && !fixed && is_blocky(each.name) &&
              use_.words.contains(each.name) && !seen.covers)
            fixed = Polynomial(each.name);
      if (fixed) {
        axis.block = *fixed;
        continue;
      }
      std::optional<std::int64_t> most = tile;
      if (kernel_.most_threads && axes == 1)
        most = std::min(most.value_or(*kernel_.most_threads), *kernel_.most_threads);
      add_block_parameter(i, axes, most);
    }
    std::int64_t threads = 1;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string name = std::string("blockDim.") + kAxes[i];
      known_[name] = axes_[i].block;
      threads *= static_cast<std::int64_t>(algebra_.at(axes_[i].block, default_value()));
    }
    if (threads > 1024) shrink_block(threads);
  }

  // A block of which each axis is reasonable alone.
  void shrink_block(std::int64_t threads) {
    for (GuessedValues& each : launch_parameters_)
      while (threads > 1024 && tunable_[each.name] > 1) {
        tunable_[each.name] /= 2;
        threads /= 2;
      }
  }

  std::function<double(const std::string&)> default_value() const {
    return [this](const std::string& name) {
      const auto found = tunable_.find(name);
      if (found != tunable_.end()) return static_cast<double>(found->second);
      // Sizes, all different.
      double size = 1009;
      for (const char c : name) size += c;
      return name == "nnz" ? 4 * size : size;
    };
  }

  Polynomial substituted(const Polynomial& bound) const {
    Bound all = Polynomial();
    for (const auto& [names, factor] : bound.terms()) {
      Bound term = Polynomial(factor);
      for (const std::string& name : names) {
        const auto found = known_.find(name);
        term = algebra_.product(term, found == known_.end() ? Polynomial(name) : found->second);
      }
      all = algebra_.sum(all, term);
    }
    return all.value_or(bound);
  }

  // Where blocks end that no guard ends: at a size.
  // `has_rows`: each block has a row of its own.
  std::optional<Polynomial> unguarded_extent(std::size_t axis, bool has_rows,
                                             const std::set<std::string>& taken) {
    static const std::array<std::vector<std::string>, 3> kNames = {
        std::vector<std::string>{"width", "w", "cols", "columns", "ncols", "nx", "nj", "wb", "n",
                                 "size", "length", "len", "count", "num", "total"},
        std::vector<std::string>{"height", "h", "rows", "nrows", "ny", "ni", "ha", "m", "n"},
        std::vector<std::string>{"depth", "d", "nz", "batch", "b", "n"}};
    std::vector<std::string> sizes;
    for (const KernelParameter& each : kernel_.parameters)
      if (!each.pointer && is_integer_type(each.type)) sizes.push_back(each.name);
    // y * width + x
    for (const auto& [name, buffer] : use_.buffers)
      for (const Polynomial& index : buffer.indices)
        for (const auto& [names, factor] : index.terms()) {
          const Polynomial& covers = axes_[1].covers;
          const std::int64_t by = covers.terms().empty() ? 1 : covers.terms().begin()->second;
          if (axis == 0 && !has_rows && by > 0 && factor / by > 1 &&
              std::ranges::find(names, "gridDim.y") != names.end() &&
              std::ranges::none_of(names, [&](const auto& each) { return is_scalar(each); }))
            return Polynomial(factor / by);
          if (axis != 0 || has_rows || std::ranges::find(names, "gridDim.y") == names.end())
            continue;
          for (const std::string& each : names)
            if (is_scalar(each)) return Polynomial(each);
        }
    const std::size_t list = has_rows ? 1 : axis;
    for (const std::string& wanted : kNames[list])
      for (const std::string& name : sizes) {
        std::string lower = name;
        std::ranges::transform(lower, lower.begin(),
                               [](unsigned char c) { return std::tolower(c); });
        const bool in_loop = has_rows && use_.in_bounds.contains(name) && sizes.size() > 1;
        if (lower == wanted && !taken.contains(name) && !in_loop) return Polynomial(name);
      }
    for (const std::string& name : sizes)
      if (!taken.contains(name) && !use_.in_bounds.contains(name)) return Polynomial(name);
    if (!has_rows && sizes.size() == 1) return Polynomial(sizes[0]);
    return std::nullopt;
  }

  void choose_extents() {
    std::set<std::string> taken;
    // An end that depends on the grid is none that a grid can be made from.
    for (KernelUse::Axis& seen : use_.axes) {
      const auto of_launch = [&](const std::optional<Polynomial>& bound) {
        return bound && std::ranges::any_of(algebra_.names(*bound), [](const std::string& name) {
                 return name.starts_with("gridDim.");
               });
      };
      if (of_launch(seen.extent)) seen.extent.reset();
      if (of_launch(seen.covers)) seen.covers.reset();
    }
    for (std::size_t i = 0; i < 3; ++i)
      if (use_.axes[i].extent)
        for (const std::string& name : algebra_.names(*use_.axes[i].extent)) taken.insert(name);
    const auto blocks =
        std::ranges::count_if(use_.axes, [](const auto& each) { return each.block; });
    for (std::size_t i = 0; i < 3; ++i) {
      const KernelUse::Axis& seen = use_.axes[i];
      axes_[i].covers = seen.covers ? substituted(*seen.covers) : axes_[i].block;
    }
    for (std::size_t i = 0; i < 3; ++i) {
      const KernelUse::Axis& seen = use_.axes[i];
      Axis& axis = axes_[i];
      const std::string grid = std::string("gridDim.") + kAxes[i];
      if (!seen.block) {
        known_[grid] = Polynomial(1);
        continue;
      }
      axis.guarded = seen.extent.has_value();
      const bool has_rows = axis.covers == Polynomial(1);
      if (seen.extent) axis.extent = substituted(*seen.extent);
      if (!axis.extent) axis.extent = unguarded_extent(i, has_rows, taken);
      if (!axis.extent) {
        static const std::array kOwn = {"width", "height", "depth"};
        const std::string name = fresh_name(has_rows ? "rows" : blocks == 1 ? "n" : kOwn[i]);
        own_sizes_.push_back(name);
        axis.extent = Polynomial(name);
      }
      for (const std::string& name : algebra_.names(*axis.extent)) taken.insert(name);
      if (axis.covers == Polynomial(1)) {
        known_[grid] = *axis.extent;
      } else {
        algebra_.define(grid, *axis.extent, axis.covers);
        known_[grid] = Polynomial(grid);
      }
    }
  }

  Bound largest(const std::vector<Bound>& bounds) const {
    Bound most;
    double size = 0;
    for (const Bound& each : bounds) {
      if (!each) continue;
      const double here = algebra_.at(*each, default_value());
      if (!most || here > size) {
        most = each;
        size = here;
      }
    }
    return most;
  }

  std::vector<std::string> parameter_order() const {
    std::vector<std::string> names;
    for (const KernelParameter& each : kernel_.parameters)
      if (each.pointer) names.push_back(each.name);
    return names;
  }

  // Names in a shape that are neither sizes nor what may become one: blocks of one size then.
  void fix(const Polynomial& shape) {
    for (const std::string& name : algebra_.names(shape)) {
      if (!tunable_.contains(name)) continue;
      bool of_launch = std::ranges::any_of(
          launch_parameters_, [&](const GuessedValues& each) { return each.name == name; });
      for (const Axis& axis : axes_) of_launch |= axis.block.names(name) || axis.covers.names(name);
      const bool is_macro = source_.source.open.contains(name);
      if (of_launch || !is_macro)
        fixed_.insert(name);
      else
        sized_.insert(name);
    }
  }

  // Tiles reach over the ends of what they share, in bounds that are not exact: what depends on
  // blocks alone is left out where it is little.
  Bound without_overhang(const Bound& shape) const {
    if (!shape) return shape;
    Bound rest = Polynomial();
    bool changed = false;
    for (const auto& [names, factor] : shape->terms()) {
      Bound term = Polynomial(factor);
      bool overhang = false;
      for (const std::string& name : names) {
        term = algebra_.product(term, Polynomial(name));
        for (const Axis& axis : axes_)
          overhang |= axis.block.names(name) || axis.covers.names(name);
      }
      changed |= overhang;
      if (!overhang) rest = algebra_.sum(rest, term);
    }
    if (!changed || !rest) return shape;
    const double whole = algebra_.at(*shape, default_value());
    const double kept = algebra_.at(*rest, default_value());
    return kept > 0.75 * whole && kept < 1.25 * whole ? rest : shape;
  }

  void choose_shapes() {
    Bound widest;
    for (const std::string& name : parameter_order()) {
      const Bound shape = without_overhang(largest(use_.buffers[name].extents));
      shapes_[name] = shape;
      if (shape &&
          (!widest || algebra_.at(*shape, default_value()) > algebra_.at(*widest, default_value())))
        widest = shape;
    }
    widest_ = widest;
    for (const ConstantVariable& each : source_.constants)
      if (use_.words.contains(each.name)) {
        Bound all = Polynomial(1);
        IndexScope scope;
        for (const auto& [name, number] : source_.numbers)
          scope.variables[name] = exactly(Polynomial(number));
        for (const auto& [name, number] : tunable_)
          scope.variables[name] = exactly(Polynomial(name));
        for (const Part& part : each.sizes)
          all =
              algebra_.product(all, IndexReader(source_.tokens(), scope, algebra_).read(part).high);
        shapes_[each.name] = all;
      }
    for (const auto& [name, shape] : shapes_)
      if (shape) fix(*shape);
    for (const Axis& axis : axes_)
      if (axis.extent)
        for (const std::string& name : algebra_.names(*axis.extent))
          if (source_.source.open.contains(name)) sized_.insert(name);
    for (const std::string& name : sized_) fixed_.erase(name);
  }

  bool is_size(const std::string& name) const {
    return std::ranges::find(made_.sizes, name, &GuessedSize::name) != made_.sizes.end();
  }

  std::size_t degree(const std::string& name) const {
    std::size_t most = 0;
    for (const auto& [of, shape] : shapes_) {
      if (!shape) continue;
      for (const auto& [names, factor] : shape->terms())
        if (std::ranges::find(names, name) != names.end())
          most = std::max(
              most, static_cast<std::size_t>(std::ranges::count_if(names, [&](const auto& each) {
                return is_scalar(each) || each == name || sized_.contains(each);
              })));
    }
    return most;
  }

  void choose_sizes() {
    std::set<std::string> used;
    for (const auto& [name, shape] : shapes_)
      if (shape)
        for (const std::string& each : algebra_.names(*shape)) used.insert(each);
    for (const Axis& axis : axes_)
      if (axis.extent)
        for (const std::string& each : algebra_.names(*axis.extent)) used.insert(each);
    for (const std::string& each : use_.in_bounds) used.insert(each);
    const auto add = [&](const std::string& name, bool is_define) {
      if (is_size(name)) return;
      GuessedSize size{name, 0, 0, is_define};
      static constexpr std::array<std::int64_t, 4> kTimed = {1 << 20, 1 << 20, 1024, 128};
      static constexpr std::array<std::int64_t, 4> kRagged = {1000, 1000, 100, 33};
      const auto axes = static_cast<std::size_t>(
          std::ranges::count_if(use_.axes, [](const auto& each) { return each.block; }));
      const std::size_t power = std::clamp<std::size_t>(degree(name), axes, 3);
      size.timed = is_define ? tunable_.at(name) : kTimed[power];
      size.ragged = is_define ? size.timed : kRagged[power];
      if (name == "nnz") size.timed = 1 << 20;
      made_.sizes.push_back(size);
    };
    for (const KernelParameter& each : kernel_.parameters)
      if (!each.pointer && is_integer_type(each.type) && used.contains(each.name))
        add(each.name, false);
    for (const std::string& name : own_sizes_) add(name, false);
    for (const std::string& name : sized_) add(name, true);
    for (const auto& [name, buffer] : use_.buffers)
      if (buffer.offsets_to) add(*buffer.offsets_to, false);
    if (made_.sizes.empty()) made_.sizes.push_back({fresh_name("n"), 1, 0, false});
    // Only a kernel that looks where its data ends takes other sizes.
    bool guarded = true, any = false;
    for (std::size_t i = 0; i < 3; ++i) {
      if (!use_.axes[i].block) continue;
      guarded = guarded && (axes_[i].guarded || axes_[i].covers == Polynomial(1));
      any = true;
    }
    for (const auto& [name, shape] : shapes_)
      if (shape && algebra_.text(*shape, [](const auto& each) { return each; }).find(" / ") !=
                       std::string::npos)
        guarded = false;
    if (!guarded || !any)
      for (GuessedSize& each : made_.sizes) each.ragged = 0;
    if (made_.sizes.size() == 1 && made_.sizes[0].timed == 1)
      made_.sizes_remark = {Remark::Kind::guessed, "its sizes stand in the source"};
    else
      made_.sizes_remark = {Remark::Kind::guessed,
                            guarded && any ? "the first is timed, all are checked"
                                           : "it has no guard for other sizes than multiples"};
    if (use_.buffers.contains("nnz")) return;
  }

  Algebra::Spelling in_problem() const {
    return [this](const std::string& name) {
      const auto number = tunable_.find(name);
      return !is_size(name) && number != tunable_.end() ? std::to_string(number->second) : name;
    };
  }

  // `chosen`: with the parameters' values in place of their names.
  Algebra::Spelling in_launch(bool chosen) const {
    return [this, chosen](const std::string& name) -> std::string {
      if (is_size(name)) return "problem." + name;
      const auto number = tunable_.find(name);
      if (number == tunable_.end()) return name;
      return chosen || !is_parameter(name) ? std::to_string(number->second) : name;
    };
  }

  bool is_parameter(const std::string& name) const {
    return std::ranges::find(made_.parameters, name, &GuessedParameter::name) !=
           made_.parameters.end();
  }

  void write_buffer(const std::string& name, const std::string& type, bool constant,
                    GuessedArgument& made) {
    const BufferUse& use = use_.buffers[name];
    const bool indirect =
        !shapes_[name] && !use.by.empty() && std::ranges::none_of(use.by, &std::string::empty);
    const Bound shape = shapes_[name] ? shapes_[name] : indirect ? indexed_shape(use) : widest_;
    made.shape = shape ? algebra_.factors(*shape, in_problem())
                       : std::vector<std::string>{made_.sizes[0].name};
    if (made.shape.size() > 6) made.shape = {algebra_.text(*shape, in_problem())};
    std::vector<std::string> guessed;
    if (use.offsets_to && !made.shape.empty() && made.shape.size() == 1)
      guessed.emplace_back("offsets of rows");
    const bool partly = std::ranges::any_of(use.extents, [](const Bound& each) { return !each; });
    if (indirect)
      guessed.emplace_back("the shape, which its indices are made for");
    else if (!shapes_[name])
      made.remark = {Remark::Kind::fill_in,
                     "shape: init does not see how many elements it reads or writes"};
    else if (partly)
      guessed.emplace_back("the shape, from what is seen of its indices");
    else
      guessed.emplace_back("the shape");
    if (use.written && !constant) {
      const bool some = use.read || use_.leaves_edge || use.passed_on;
      made.role = some ? "inout" : "output";
      guessed.push_back(use.atomic      ? "what it adds to begins as 0"
                        : use.read      ? "it reads what it writes"
                        : use.passed_on ? "a function gets it"
                        : some          ? "elements may be left as they are"
                                        : "it writes all of it");
      if (use.atomic && !constant) made.fill = "{value: 0}";
    }
    if (made.role != "output" && made.fill.empty()) made.fill = fill_of(use, type, guessed);
    if (made.remark.kind != Remark::Kind::none) return;
    std::string text;
    for (const std::string& each : guessed) text += (text.empty() ? "" : "; ") + each;
    made.remark = {Remark::Kind::guessed, text};
  }

  static bool is_byte(const std::string& type) { return type == "u8" || type == "i8"; }

  // Of a buffer that is indexed by what another holds: as far as its type goes.
  Bound indexed_shape(const BufferUse& use) const {
    for (const KernelParameter& each : kernel_.parameters)
      if (is_byte(each.type) && std::ranges::find(use.by, each.name) != use.by.end())
        return Polynomial(each.type == "u8" ? 256 : 128);
    return written_shape();
  }

  // Of the first buffer that it writes.
  Bound written_shape() const {
    for (const KernelParameter& each : kernel_.parameters) {
      const auto use = use_.buffers.find(each.name);
      const auto shape = shapes_.find(each.name);
      if (use != use_.buffers.end() && use->second.written && shape != shapes_.end() &&
          shape->second)
        return shape->second;
    }
    return widest_;
  }

  std::string fill_of(const BufferUse& use, const std::string& type,
                      std::vector<std::string>& guessed) const {
    if (use.offsets_to) return fmt::format("{{offsets: {}}}", *use.offsets_to);
    if (is_floating(type)) {
      if (!use_.has_hard_math) return "";
      guessed.emplace_back("above 0, for its roots, logarithms or powers");
      return "{uniform: [0.5, 2]}";
    }
    if (type == "bool") return "";
    if (use.below) {
      guessed.emplace_back("they are indices into rows");
      return fmt::format("{{integers: [0, {} - 1]}}", algebra_.text(*use.below, in_problem()));
    }
    if (type == "i8" && !use.index_of.empty()) return "{integers: [0, 127]}";
    for (const std::string& of : use.index_of) {
      if (type == "u8") break;
      const auto shape = shapes_.find(of);
      const Bound most = shape != shapes_.end() && shape->second ? shape->second : written_shape();
      if (!most) continue;
      guessed.push_back("they are indices of " + of);
      return fmt::format("{{integers: [0, {} - 1]}}", algebra_.text(*most, in_problem()));
    }
    guessed.emplace_back("the numbers");
    return type.starts_with("u8") ? "{integers: [0, 255]}" : "{integers: [0, 9]}";
  }

  void write_scalar(const KernelParameter& parameter, GuessedArgument& made) const {
    if (is_size(parameter.name)) {
      made.value = parameter.name;
      return;
    }
    made.value = usual_scalar(parameter.name, parameter.type);
    made.remark = {is_floating(parameter.type) ? Remark::Kind::guessed : Remark::Kind::fill_in,
                   is_floating(parameter.type) ? "the value" : "its value"};
  }

  void write_arguments() {
    bool has_output = false, has_input = false;
    for (const KernelParameter& each : kernel_.parameters) {
      GuessedArgument made{each.name, each.type, {}, "", "", "", false, {}};
      if (each.pointer)
        write_buffer(each.name, each.type, false, made);
      else
        write_scalar(each, made);
      has_output |= made.role == "output" || made.role == "inout";
      has_input |= each.pointer && made.role != "output";
      made_.arguments.push_back(std::move(made));
    }
    for (const ConstantVariable& each : source_.constants) {
      if (!use_.words.contains(each.name)) continue;
      if (!each.known)
        refuse(fmt::format("the variable '{}' has the type '{}', which init cannot state",
                           each.name, each.type));
      GuessedArgument made{each.name, each.type, {}, "", "", "", true, {}};
      write_buffer(each.name, each.type, true, made);
      made.role.clear();
      has_input = true;
      made_.arguments.push_back(std::move(made));
    }
    for (GuessedArgument& each : made_.arguments) {
      if (has_output) break;
      const auto parameter =
          std::ranges::find(kernel_.parameters, each.name, &KernelParameter::name);
      if (parameter == kernel_.parameters.end() || !parameter->pointer || parameter->constant)
        continue;
      each.role = "inout";
      each.remark = {Remark::Kind::fill_in, "role: init does not see which buffer it writes"};
      has_output = true;
    }
    if (!has_output) refuse("it writes to none of its arguments, as far as init sees");
    // A problem has something that is given.
    if (!has_input)
      for (GuessedArgument& each : made_.arguments)
        if (each.role == "output") {
          each.role = "inout";
          each.fill = is_floating(each.type) || each.type == "bool" ? "" : "{integers: [0, 9]}";
          if (each.type == "bool") each.fill.clear();
          break;
        }
    const auto is_f64 = [](const GuessedArgument& each) {
      return each.type.starts_with("f64") || each.type == "complex128";
    };
    const auto is_packed = [](const GuessedArgument& each) {
      return lanes_of(each.type) > 1 && each.type.find("f16") != each.type.npos;
    };
    if (std::ranges::any_of(made_.arguments, is_f64)) {
      made_.tolerance = "{absolute: 1e-9, relative: 1e-9}";
      made_.tolerance_remark = {Remark::Kind::guessed, "doubles have no wider form to measure by"};
    } else if (use_.has_packed || std::ranges::any_of(made_.arguments, is_packed)) {
      made_.tolerance = "{absolute: 1e-2, relative: 1e-2}";
      made_.tolerance_remark = {Remark::Kind::guessed,
                                "packed numbers have no wider form to measure by"};
    }
  }

  void write_parameters() {
    const auto add = [&](const std::string& name, bool is_bool, const std::string& where) {
      const auto macro = source_.source.open.find(name);
      const bool missing = macro != source_.source.open.end() && macro->second.missing;
      if (is_parameter(name) || sized_.contains(name)) return;
      if (fixed_.contains(name) && !missing) return;
      GuessedParameter made{name, {}, {Remark::Kind::guessed, where}};
      if (is_bool) {
        made.values = tunable_[name] != 0 ? std::vector<std::string>{"true", "false"}
                                          : std::vector<std::string>{"false", "true"};
      } else {
        for (const std::int64_t value : fixed_.contains(name)
                                            ? std::vector<std::int64_t>{tunable_[name]}
                                            : values_around(name, tunable_[name]))
          made.values.push_back(std::to_string(value));
      }
      if (made.values.size() == 1)
        made.remark.text += ", and other values of which may compute something else";
      made_.parameters.push_back(std::move(made));
    };
    for (const GuessedValues& each : launch_parameters_) {
      GuessedParameter made{each.name, {}, {Remark::Kind::guessed, "threads of a block"}};
      if (fixed_.contains(each.name)) {
        made_.notes.push_back(fmt::format(
            "a block has {} threads, as the number of results depends on it", tunable_[each.name]));
        continue;
      }
      for (const std::int64_t value : each.values) made.values.push_back(std::to_string(value));
      made_.parameters.push_back(std::move(made));
    }
    for (const TemplateParameter& each : kernel_.template_parameters)
      if (!each.is_type && tunable_.contains(each.name))
        add(each.name, each.is_bool, "a template parameter");
    for (const auto& [name, macro] : source_.source.open)
      if (use_.words.contains(name) || named_elsewhere(name))
        add(name, macro.is_bool,
            macro.missing ? "the source leaves it open" : fmt::format("line {}", macro.line));
    for (const auto& [name, macro] : source_.source.open)
      if (macro.missing && (use_.words.contains(name) || named_elsewhere(name)) &&
          !sized_.contains(name))
        made_.missing.emplace_back(name, tunable_[name]);
    for (const auto& [name, macro] : source_.source.closed)
      if (macro.number > 1 && macro.number <= 1024 && in_kernel(macro.uses))
        made_.notes.push_back(
            fmt::format("{} (line {}) is a parameter where #ifndef {} and #endif are around it",
                        name, macro.line, name));
  }

  bool in_kernel(const std::vector<int>& lines) const {
    const int last = source_.tokens()[std::min(kernel_.body.end, source_.tokens().size() - 1)].line;
    return std::ranges::any_of(lines,
                               [&](int line) { return line >= kernel_.line && line <= last; });
  }

  bool named_elsewhere(const std::string& name) const {
    return std::ranges::any_of(source_.tokens(), [&](const Token& each) { return each.is(name); });
  }

  void write_launches() {
    std::size_t grids = 1, blocks = 1;
    for (std::size_t i = 0; i < 3; ++i) {
      if (use_.axes[i].block) grids = i + 1;
      if (axes_[i].block != Polynomial(1)) blocks = i + 1;
    }
    for (const bool chosen : {false, true}) {
      GuessedLaunch& launch = chosen ? made_.reference_launch : made_.launch;
      const Algebra::Spelling spelling = in_launch(chosen);
      for (std::size_t i = 0; i < grids; ++i) {
        const Axis& axis = axes_[i];
        const Bound count = use_.axes[i].block
                                ? algebra_.rounded_up_quotient(axis.extent, axis.covers)
                                : Bound(Polynomial(1));
        launch.grid.push_back(count ? algebra_.text(*count, spelling) : "1");
      }
      for (std::size_t i = 0; i < blocks; ++i)
        launch.block.push_back(algebra_.text(axes_[i].block, spelling));
      if (!use_.dynamic_shared) continue;
      const Bound most = largest(use_.shared_extents);
      const auto bytes = static_cast<std::int64_t>(bytes_of(*use_.dynamic_shared));
      const Bound all = algebra_.product(
          most ? most
               : algebra_.product(algebra_.product(axes_[0].block, axes_[1].block), axes_[2].block),
          Polynomial(bytes));
      launch.shared = all ? algebra_.text(*all, spelling) : std::to_string(bytes * kBlock);
      made_.shared_remark =
          most ? Remark{Remark::Kind::guessed, "from the indices of its dynamic shared memory"}
               : Remark{Remark::Kind::fill_in, "bytes of its dynamic shared memory"};
    }
    bool guarded = true;
    for (const Axis& axis : axes_) guarded = guarded && (!axis.extent || axis.guarded);
    made_.grid_remark = {Remark::Kind::guessed,
                         guarded ? "from its guards" : "as it has no guard that tells"};
    write_constraints(blocks);
  }

  void write_constraints(std::size_t blocks) {
    std::string threads;
    bool tuned = false;
    for (std::size_t i = 0; i < blocks; ++i) {
      threads += (i == 0 ? "" : " * ") + algebra_.text(axes_[i].block, in_launch(false));
      for (const std::string& name : algebra_.names(axes_[i].block)) tuned |= is_parameter(name);
    }
    if (tuned && (blocks > 1 || kernel_.most_threads))
      made_.constraints.emplace_back(
          fmt::format("{} <= {}", threads,
                      std::min<std::int64_t>(1024, kernel_.most_threads.value_or(1024))),
          kernel_.most_threads ? "__launch_bounds__" : "a block has 1024 threads at most");
    for (std::size_t i = 0; i < 3; ++i) {
      const Axis& axis = axes_[i];
      if (!use_.axes[i].block || axis.covers == axis.block || axis.covers == Polynomial(1))
        continue;
      const std::string covers = algebra_.text(axis.covers, in_launch(false));
      const std::string block = algebra_.text(axis.block, in_launch(false));
      bool both = false;
      for (const std::string& name : algebra_.names(axis.block))
        both |= is_parameter(name) && !std::ranges::count(algebra_.names(axis.covers), name);
      if (both)
        made_.constraints.emplace_back(fmt::format("({}) % ({}) == 0", covers, block),
                                       "guessed: threads share what a block covers");
    }
  }

  void write_names() {
    made_.kernel = made_.reference_kernel = kernel_.name;
    if (kernel_.template_parameters.empty()) return;
    std::string names, values;
    for (const TemplateParameter& each : kernel_.template_parameters) {
      std::string value = each.type_otherwise;
      if (!each.is_type) {
        value = std::to_string(tunable_[each.name]);
        if (each.is_bool) value = tunable_[each.name] != 0 ? "true" : "false";
      }
      const bool tuned = !each.is_type && is_parameter(each.name);
      names += (names.empty() ? "" : ", ") + (tuned ? each.name : value);
      values += (values.empty() ? "" : ", ") + value;
    }
    made_.kernel += "<" + names + ">";
    made_.reference_kernel += "<" + values + ">";
  }

  const SourceText& source_;
  const KernelText& kernel_;
  Algebra algebra_;
  std::set<std::string> exact_;
  std::map<std::string, std::int64_t> tunable_;  // with their defaults
  std::vector<GuessedValues> launch_parameters_;
  std::map<std::string, Polynomial> known_;
  std::array<Axis, 3> axes_;
  std::vector<std::string> own_sizes_;
  std::set<std::string> fixed_;  // of one value, as shapes depend on them
  std::set<std::string> sized_;  // macros that are sizes
  std::map<std::string, Bound> shapes_;
  Bound widest_;
  KernelUse use_;
  Guess made_;
};

}  // namespace

Guess guess_space(const SourceText& source, const KernelText& kernel) {
  return Guesser(source, kernel).guess();
}

}  // namespace fa_tune::scaffold
