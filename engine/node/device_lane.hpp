#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "engine/device/device.hpp"
#include "engine/device/offload_service.hpp"
#include "engine/node/lane.hpp"
#include "engine/worker/device_service.hpp"
#include "engine/worker/shared_window.hpp"

namespace fa_tune::node {

// One device, opened in a worker of its own when an engine first asks for it, and kept for the next
// engine.
class DeviceLane final : public Lane {
 public:
  using Opener = std::function<std::unique_ptr<device::Device>()>;
  using ServiceMaker = std::function<std::unique_ptr<device::OffloadService>(device::Device&)>;

  // `open` opens the device in a process of its own; it may throw. `serve` makes what does offloaded
  // work with it, for one engine.
  DeviceLane(Opener open, ServiceMaker serve, Patience patience)
      : Lane(patience), open_(std::move(open)), serve_(std::move(serve)) {}

 private:
  using Answer = worker::message::Answer;

  void start() override;
  std::optional<End> on(const message::Message& message,
                        const std::shared_ptr<Link>& link) override;
  Link::Done on(const worker::message::Request& request, Link& link) override;
  Link::Done reply(const Answer& answer, Link& link);
  Answer begin();
  std::optional<Answer> answer_to(const worker::message::Request& request);
  Answer answer_to(const worker::message::Offload& offload);

  Opener open_;
  ServiceMaker serve_;
  worker::Window window_;
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<device::OffloadService> offload_;  // once this engine has asked for it
  std::optional<worker::DeviceService> service_;
  bool begun_ = false;                             // and no worker has died since
  std::optional<worker::message::Faulted> death_;  // of one that has, until the engine is told
  std::uint64_t asked_ = 0;                        // the number of what is to be answered
};

}  // namespace fa_tune::node
