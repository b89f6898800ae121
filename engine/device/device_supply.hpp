#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "engine/device/device.hpp"

namespace fa_tune::device {

// Where devices come from while others are at work. All are of one kind.
class DeviceSupply {
 public:
  virtual ~DeviceSupply() = default;

  // Those that have come since this was last asked. They live as long as the supply.
  virtual std::vector<Device*> take_arrived() = 0;
  // `wake` is called whenever another has come, by any thread, until another is set; an empty one
  // ends that.
  virtual void on_arrival(std::function<void()> wake) = 0;
  // How long who has no device left should wait for one.
  virtual std::chrono::milliseconds patience() const = 0;
  // What is waited for, for messages: "a node at login1:7440".
  virtual std::string awaited() const = 0;
};

}  // namespace fa_tune::device
