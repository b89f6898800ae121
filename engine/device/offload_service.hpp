#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/device/device.hpp"

namespace fa_tune::device {

// The other end of Device::offload: does pieces of work with a device, beside it. One thread's, that
// of the device.
class OffloadService {
 public:
  virtual ~OffloadService() = default;

  // Both texts mean something to who asks and to this alone. Whatever it throws is thrown where the
  // work was asked for.
  virtual std::string answer(const std::string& work) = 0;
};

// Another one, for whoever asks next. It is gone before the device. `name`: as --device has it.
// Called by several threads.
using OffloadServiceMaker =
    std::function<std::unique_ptr<OffloadService>(Device& device, const std::string& name)>;

}  // namespace fa_tune::device
