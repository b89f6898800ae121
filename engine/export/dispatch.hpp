#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/expression/expression.hpp"
#include "engine/expression/residue.hpp"
#include "engine/kernel/template/formulas.hpp"
#include "engine/yaml/value.hpp"

namespace fa_tune::exports {

// How the tiles of one launch queue for a device (cxx/queue.hpp), as formulas of sizes; `steps` has
// the number of a tile too. `blocks` counts a cluster as one.
struct QueueFormulas {
  expression::Residue sets, together, of_a_set, steps, blocks;
};

// By what the template says of its tiles. Where it says nothing, blocks are alike, and the steps of
// each are the product of all sizes over the number of blocks.
QueueFormulas queue_of(const kernel::KernelFormulas& kernel, const std::vector<std::string>& sizes);

// The queue at one shape, ready for any overhead and number of slots.
struct QueueAtShape {
  std::int64_t sets = 0, together = 0, blocks = 0;
  std::vector<std::int64_t> steps;  // of each tile of a set

  // In sixteenths of a step, of which each tile takes `overhead` more than its steps.
  std::int64_t longest(std::int64_t slots, std::int64_t overhead) const;
  // The same of all blocks of the busiest of `sms` together.
  std::int64_t busiest(std::int64_t slots, std::int64_t sms, std::int64_t overhead) const;

 private:
  std::vector<std::int64_t> costs(std::int64_t overhead) const;
};
// Nothing where the formulas have no value there, or none that could be launched.
std::optional<QueueAtShape> queue_at(const QueueFormulas& formulas, const Constants& shape);

// What a kernel takes at sizes that nobody timed: fixed_us, step_us for each step of its longest
// queue, and shared_step_us for each step of the busiest SM, since blocks that an SM holds at once
// take some of its time from each other; of several kernels one after another, of the sums.
struct KernelCost {
  std::size_t choice = 0;
  Constants category = {};  // members that are compiled in, where those of other kernels differ
  std::vector<QueueFormulas> queues = {};
  std::int64_t slots = 1;     // blocks or clusters that the device holds at once
  std::int64_t overhead = 0;  // of a tile, in sixteenths of a step
  std::int64_t sms = 0;       // or as many clusters as they hold, one each
  double fixed_us = 0, step_us = 0, shared_step_us = 0;

  // Whether it is compiled for shapes like this one.
  bool is_for(const Constants& shape) const;
  std::optional<double> us(const Constants& shape) const;
};

// Which of several kernels serves a shape: the one that is predicted to be done first.
struct Dispatch {
  struct Range {
    std::string size;
    std::int64_t least = 0, most = 0;
  };

  std::vector<KernelCost> costs;
  std::vector<Range> ranges;  // of the shapes that they were learned from
  // The choices, the most robust first: that is taken outside of the ranges, and the first that can
  // serve a shape where the chosen one cannot.
  std::vector<std::size_t> robust;

  bool in_ranges(const Constants& shape) const;
  std::size_t choice(const Constants& shape) const;
  // That first, then the others in the order in which they are asked where it cannot serve.
  std::vector<std::size_t> preferred(const Constants& shape) const;
};

// {"ranges": {size: [least, most]}, "outside": name, "costs": [{"choice": name, "category": {...},
//  "queues": [{"sets", "together", "of_a_set", "steps", "blocks"}], "slots", "sms",
//  "overhead_steps", "fixed_us", "step_us", "shared_step_us"}]}, formulas in the native dialect;
// `names` of the choices.
nlohmann::ordered_json dispatch_json(const Dispatch& dispatch,
                                     const std::vector<nlohmann::ordered_json>& names);

// `int dispatch(const Sizes& sizes)` for a header whose Sizes have these members, with what it
// rests on; `fixed` is what all shapes of the header have alike. Stands behind Number and same().
std::string cxx_dispatch(const Dispatch& dispatch, const std::vector<std::string>& sizes,
                         const Constants& fixed);
// `def _dispatch(s)`, of a dict of sizes, with what it rests on.
std::string python_dispatch(const Dispatch& dispatch);

}  // namespace fa_tune::exports
