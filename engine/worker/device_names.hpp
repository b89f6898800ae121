#pragma once

#include <functional>
#include <string>
#include <vector>

namespace fa_tune {

// The single devices that `names` stands for, as --device of evolve takes it: "cuda:0,cuda:1";
// "cuda:all" for what `list_gpus` gives; "emulator:l4*2" for two emulators, as those do not disturb
// each other's times. Throws UserError where it is none of these or names a GPU twice, MachineError
// where all GPUs are meant and there is none.
std::vector<std::string> device_names(const std::string& names,
                                      const std::function<std::vector<std::string>()>& list_gpus);

}  // namespace fa_tune
