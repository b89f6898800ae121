#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/device/profile.hpp"
#include "engine/kernel/compile/compiler.hpp"

namespace fa_tune::worker {

// As open_device, open_nvrtc and list_gpus, but in processes of their own, which this program
// starts from its own file with the word `worker`: nothing of a driver, of NVRTC and of strangers'
// kernels is in the engine.
// `devices`: how many of its kind there will be, which share this machine's memory.
std::unique_ptr<device::Device> open_device_in_worker(const std::string& name,
                                                      const device::DeviceProfile& target,
                                                      const std::filesystem::path& root,
                                                      std::size_t devices = 1);
// Several at once, each in a process of its own: names with commas between, cuda:all for all GPUs,
// emulator:l4*2 for two of one kind. Throws UserError for a GPU that is named twice.
std::vector<std::unique_ptr<device::Device>> open_devices_in_workers(
    const std::string& names, const device::DeviceProfile& target,
    const std::filesystem::path& root);
// An emulator that may execute `instructions` warp instructions in all (open_emulator), on one
// thread: what an EmulatorOpener is to open.
std::unique_ptr<device::Device> open_emulator_in_worker(const device::DeviceProfile& profile,
                                                        std::uint64_t instructions,
                                                        const std::filesystem::path& root);
// `readable`: folders that sources may include files of, besides the toolkit's.
std::unique_ptr<kernel::Compiler> open_nvrtc_in_worker(
    const std::vector<std::filesystem::path>& readable = {});
std::vector<device::DeviceInfo> list_gpus_in_worker();

// The single devices that `names` stands for, as --device of evolve takes it: "cuda:0,cuda:1";
// "cuda:all" for what `list_gpus` gives; "emulator:l4*2" for two emulators, as those do not disturb
// each other's times. Throws UserError where it is none of these or names a GPU twice, MachineError
// where all GPUs are meant and there is none.
std::vector<std::string> device_names(const std::string& names,
                                      const std::function<std::vector<std::string>()>& list_gpus);

}  // namespace fa_tune::worker
