#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune {

// A kernel's arguments by name, from an instance: a tensor's is what `buffer` gives for its index
// in instance.tensors, a scalar's is its bytes. Throws UserError for a name that is neither.
std::vector<Argument> make_arguments(const std::vector<std::string>& names,
                                     const Instance& instance,
                                     const std::function<Argument(std::size_t)>& buffer);

}  // namespace fa_tune
