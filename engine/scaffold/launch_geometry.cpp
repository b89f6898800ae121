#include "engine/scaffold/launch_geometry.hpp"

#include <algorithm>
#include <cctype>
#include <set>

namespace fa_tune::scaffold {
namespace {

// Threads of the reference's block where the kernel asks for none.
constexpr std::int64_t kReferenceThreads = 256;

// The kernel takes blocks of any size along this axis: the space has a parameter for it. `most`: a
// limit of the kernel.
void add_block_parameter(Draft& draft, std::size_t index, int axes,
                         std::optional<std::int64_t> most) {
  const std::string axis(1, static_cast<char>('X' + index));
  const std::string name = draft.fresh_name(axes == 1 ? "BLOCK" : "BLOCK_" + axis);
  std::vector<std::int64_t> values;
  const std::vector<std::int64_t> usual = axes == 1 ? std::vector<std::int64_t>{64, 128, 256, 512}
                                          : index == 0 ? std::vector<std::int64_t>{8, 16, 32}
                                          : index == 1 ? std::vector<std::int64_t>{4, 8, 16}
                                                       : std::vector<std::int64_t>{1, 2, 4};
  for (const std::int64_t value : usual)
    if (value <= most.value_or(value)) values.push_back(value);
  if (values.empty()) values.push_back(*most);
  draft.launch_parameters.push_back({name, values});
  draft.tunable[name] =
      axes == 1 ? std::min(kReferenceThreads, values.back()) : values[values.size() / 2];
  draft.axes[index].block = Polynomial(name);
}

// People call the threads of a block so.
bool sounds_like_block(const std::string& name) {
  std::string lower = name;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const char* part : {"block", "thread", "tile", "tpb", "wg", "warp", "bs", "bdim", "dim"})
    if (lower.find(part) != lower.npos) return true;
  return false;
}

// Threads of a block that covers this many elements: a thread may compute several of them.
std::optional<Polynomial> threads_of(const Draft& draft, const Polynomial& covers) {
  if (covers.terms().size() != 1) return std::nullopt;
  const auto& [names, factor] = *covers.terms().begin();
  if (names.size() == 1)
    if (const auto parts = draft.algebra.parts(names[0])) return threads_of(draft, parts->first);
  if (names.empty()) return factor <= 1024 && factor > 1 ? std::optional(covers) : std::nullopt;
  for (const std::string& name : names)
    if (draft.tunable.contains(name) && sounds_like_block(name)) return Polynomial(name);
  if (draft.tunable.contains(names[0])) return Polynomial(names[0]);
  return factor > 1 && factor <= 1024 ? std::optional(Polynomial(factor)) : std::nullopt;
}

// Each axis has a usual size; their product is too large.
void shrink_block(Draft& draft, std::int64_t threads) {
  for (GuessedValues& each : draft.launch_parameters)
    while (threads > 1024 && draft.tunable[each.name] > 1) {
      draft.tunable[each.name] /= 2;
      threads /= 2;
    }
}

// With what is known of the launch in place of its names.
Polynomial substituted(const Draft& draft, const Polynomial& bound) {
  Bound all = Polynomial();
  for (const auto& [names, factor] : bound.terms()) {
    Bound term = Polynomial(factor);
    for (const std::string& name : names) {
      const auto found = draft.launch_values.find(name);
      term = draft.algebra.product(
          term, found == draft.launch_values.end() ? Polynomial(name) : found->second);
    }
    all = draft.algebra.sum(all, term);
  }
  return all.value_or(bound);
}

// The size at which blocks end that no guard ends: the one that strides or names tell; none where
// neither does. `has_rows`: each block has a row of its own. `taken` are sizes of other axes.
std::optional<Polynomial> unguarded_extent(const Draft& draft, std::size_t axis, bool has_rows,
                                           const std::set<std::string>& taken) {
  static const std::array<std::vector<std::string>, 3> kNames = {
      std::vector<std::string>{"width", "w", "cols", "columns", "ncols", "nx", "nj", "wb", "n",
                               "size", "length", "len", "count", "num", "total"},
      std::vector<std::string>{"height", "h", "rows", "nrows", "ny", "ni", "ha", "m", "n"},
      std::vector<std::string>{"depth", "d", "nz", "batch", "b", "n"}};
  std::vector<std::string> sizes;
  for (const KernelParameter& each : draft.kernel.parameters)
    if (!each.pointer && is_integer_type(each.type)) sizes.push_back(each.name);
  // y * width + x
  for (const auto& [name, buffer] : draft.use.buffers)
    for (const Polynomial& index : buffer.indices)
      for (const auto& [names, factor] : index.terms()) {
        const Polynomial& covers = draft.axes[1].covers;
        const std::int64_t by = covers.terms().empty() ? 1 : covers.terms().begin()->second;
        if (axis == 0 && !has_rows && by > 0 && factor / by > 1 &&
            std::ranges::find(names, "gridDim.y") != names.end() &&
            std::ranges::none_of(names, [&](const auto& each) { return draft.is_scalar(each); }))
          return Polynomial(factor / by);
        if (axis != 0 || has_rows || std::ranges::find(names, "gridDim.y") == names.end()) continue;
        for (const std::string& each : names)
          if (draft.is_scalar(each)) return Polynomial(each);
      }
  const std::size_t list = has_rows ? 1 : axis;
  for (const std::string& wanted : kNames[list])
    for (const std::string& name : sizes) {
      std::string lower = name;
      std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
      const bool in_loop = has_rows && draft.use.in_bounds.contains(name) && sizes.size() > 1;
      if (lower == wanted && !taken.contains(name) && !in_loop) return Polynomial(name);
    }
  for (const std::string& name : sizes)
    if (!taken.contains(name) && !draft.use.in_bounds.contains(name)) return Polynomial(name);
  if (!has_rows && sizes.size() == 1) return Polynomial(sizes[0]);
  return std::nullopt;
}

}  // namespace

void choose_blocks(Draft& draft) {
  const auto axes = static_cast<int>(
      std::ranges::count_if(draft.use.axes, [](const auto& each) { return each.thread; }));
  for (std::size_t i = 0; i < 3; ++i) {
    const KernelUse::Axis& seen = draft.use.axes[i];
    LaunchAxis& axis = draft.axes[i];
    if (!seen.thread && !seen.block_size) continue;
    const auto tile = seen.tile ? seen.tile->number() : std::nullopt;
    std::optional<Polynomial> fixed;
    for (const auto& [step, end] : draft.use.steps)
      if (!seen.block_size && seen.covers && end == *seen.covers && step != end &&
          step != Polynomial(1) && i == 1)
        fixed = step;
    // A name says more than the number of a stride.
    const auto named = seen.covers ? threads_of(draft, *seen.covers) : std::nullopt;
    if (!fixed && !seen.block_size && named && !named->number()) fixed = named;
    if (!fixed && !seen.block_size && !seen.strides.empty())
      fixed = threads_of(draft, seen.strides[0]);
    if (!fixed && seen.tile && !tile) fixed = threads_of(draft, *seen.tile);
    if (!fixed && !seen.block_size && seen.covers) fixed = threads_of(draft, *seen.covers);
    if (!fixed && !seen.block_size && tile) fixed = seen.tile;
    // A template parameter whose name is all that tells.
    if (!fixed && i == 0 && axes == 1)
      for (const TemplateParameter& each : draft.kernel.template_parameters)
        if (!each.is_type && !each.is_bool && !fixed && sounds_like_block(each.name) &&
            draft.use.words.contains(each.name) && !seen.covers)
          fixed = Polynomial(each.name);
    if (fixed) {
      axis.block = *fixed;
      continue;
    }
    std::optional<std::int64_t> most = tile;
    if (draft.kernel.most_threads && axes == 1)
      most = std::min(most.value_or(*draft.kernel.most_threads), *draft.kernel.most_threads);
    add_block_parameter(draft, i, axes, most);
  }
  std::int64_t threads = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string name = std::string("blockDim.") + kAxes[i];
    draft.launch_values[name] = draft.axes[i].block;
    threads *=
        static_cast<std::int64_t>(draft.algebra.at(draft.axes[i].block, draft.default_value()));
  }
  if (threads > 1024) shrink_block(draft, threads);
}

void choose_extents(Draft& draft) {
  std::set<std::string> taken;
  // An end that depends on the grid cannot tell how large the grid is.
  for (KernelUse::Axis& seen : draft.use.axes) {
    const auto of_launch = [&](const std::optional<Polynomial>& bound) {
      return bound && std::ranges::any_of(draft.algebra.names(*bound), [](const std::string& name) {
               return name.starts_with("gridDim.");
             });
    };
    if (of_launch(seen.extent)) seen.extent.reset();
    if (of_launch(seen.covers)) seen.covers.reset();
  }
  for (std::size_t i = 0; i < 3; ++i)
    if (draft.use.axes[i].extent)
      for (const std::string& name : draft.algebra.names(*draft.use.axes[i].extent))
        taken.insert(name);
  const auto blocks =
      std::ranges::count_if(draft.use.axes, [](const auto& each) { return each.block; });
  for (std::size_t i = 0; i < 3; ++i) {
    const KernelUse::Axis& seen = draft.use.axes[i];
    draft.axes[i].covers = seen.covers ? substituted(draft, *seen.covers) : draft.axes[i].block;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const KernelUse::Axis& seen = draft.use.axes[i];
    LaunchAxis& axis = draft.axes[i];
    const std::string grid = std::string("gridDim.") + kAxes[i];
    if (!seen.block) {
      draft.launch_values[grid] = Polynomial(1);
      continue;
    }
    axis.guarded = seen.extent.has_value();
    const bool has_rows = axis.covers == Polynomial(1);
    if (seen.extent) axis.extent = substituted(draft, *seen.extent);
    if (!axis.extent) axis.extent = unguarded_extent(draft, i, has_rows, taken);
    if (!axis.extent) {
      static const std::array kOwn = {"width", "height", "depth"};
      const std::string name = draft.fresh_name(has_rows ? "rows" : blocks == 1 ? "n" : kOwn[i]);
      draft.own_sizes.push_back(name);
      axis.extent = Polynomial(name);
    }
    for (const std::string& name : draft.algebra.names(*axis.extent)) taken.insert(name);
    if (axis.covers == Polynomial(1)) {
      draft.launch_values[grid] = *axis.extent;
    } else {
      draft.algebra.define(grid, *axis.extent, axis.covers);
      draft.launch_values[grid] = Polynomial(grid);
    }
  }
}

std::size_t block_dimensions(const Draft& draft) {
  std::size_t blocks = 1;
  for (std::size_t i = 0; i < 3; ++i)
    if (draft.axes[i].block != Polynomial(1)) blocks = i + 1;
  return blocks;
}

void write_launches(Draft& draft) {
  const std::size_t blocks = block_dimensions(draft);
  std::size_t grids = 1;
  for (std::size_t i = 0; i < 3; ++i)
    if (draft.use.axes[i].block) grids = i + 1;
  for (const bool of_reference : {false, true}) {
    GuessedLaunch& launch = of_reference ? draft.made.reference_launch : draft.made.launch;
    const Algebra::Spelling spelling = draft.in_launch(of_reference);
    for (std::size_t i = 0; i < grids; ++i) {
      const LaunchAxis& axis = draft.axes[i];
      const Bound count = draft.use.axes[i].block
                              ? draft.algebra.rounded_up_quotient(axis.extent, axis.covers)
                              : Bound(Polynomial(1));
      launch.grid.push_back(count ? draft.algebra.text(*count, spelling) : "1");
    }
    for (std::size_t i = 0; i < blocks; ++i)
      launch.block.push_back(draft.algebra.text(draft.axes[i].block, spelling));
    if (!draft.use.dynamic_shared) continue;
    const Bound most = draft.largest(draft.use.shared_extents);
    const auto bytes = static_cast<std::int64_t>(bytes_of(*draft.use.dynamic_shared));
    const Bound all = draft.algebra.product(
        most
            ? most
            : draft.algebra.product(draft.algebra.product(draft.axes[0].block, draft.axes[1].block),
                                    draft.axes[2].block),
        Polynomial(bytes));
    launch.shared =
        all ? draft.algebra.text(*all, spelling) : std::to_string(bytes * kReferenceThreads);
    draft.made.shared_remark =
        most ? Remark{Remark::Kind::guessed, "from the indices of its dynamic shared memory"}
             : Remark{Remark::Kind::fill_in, "bytes of its dynamic shared memory"};
  }
  bool guarded = true;
  for (const LaunchAxis& axis : draft.axes) guarded = guarded && (!axis.extent || axis.guarded);
  draft.made.grid_remark = {Remark::Kind::guessed,
                            guarded ? "from its guards" : "as it has no guard that tells"};
}

}  // namespace fa_tune::scaffold
