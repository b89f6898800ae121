#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "engine/device/device.hpp"

namespace fa_tune::tuner {

// How one device of a run stands.
struct DeviceStanding {
  enum class State {
    idle,
    working,
    lost,     // with its process, its driver or its machine
    retired,  // cannot be trusted any more
  };
  std::string device;  // as trials name it
  State state = State::idle;
  std::string does = {};  // while it works: "trial 12", "finals"
  std::string why = {};   // it is lost or retired, in one line
  std::chrono::system_clock::time_point since = {};
};

// "idle", "working", ...
std::string state_text(DeviceStanding::State state);

// The devices of a run's session, in the order in which they came, and what each does. Any thread
// may call any of its members.
class DeviceRoster {
 public:
  // A device that is there now, once or again. Returns what trials call it: its name, numbered where
  // it is not the first of that name.
  std::string add(const device::Device& device);
  void works(const device::Device& device, const std::string& does);
  void rests(const device::Device& device);
  // From then on it neither works nor rests.
  void lose(const device::Device& device, const std::string& why);
  void retire(const device::Device& device, const std::string& why);

  // A device works for as long as this is there.
  class Work {
   public:
    Work(DeviceRoster& roster, const device::Device& device, const std::string& does)
        : roster_(roster), device_(device) {
      roster_.works(device_, does);
    }
    ~Work() { roster_.rests(device_); }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    DeviceRoster& roster_;
    const device::Device& device_;
  };

  std::vector<DeviceStanding> standings() const;
  // It grows with each change.
  std::uint64_t changes() const;

 private:
  struct Entry {
    const device::Device* device = nullptr;
    DeviceStanding standing;
  };
  void set(const device::Device& device, DeviceStanding::State state, const std::string& does,
           const std::string& why);

  mutable std::mutex mutex_;  // guards all below
  std::vector<Entry> entries_;
  std::uint64_t changes_ = 0;
};

}  // namespace fa_tune::tuner
