#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/device/device.hpp"
#include "engine/node/link.hpp"
#include "engine/worker/device_service.hpp"
#include "engine/worker/shared_window.hpp"

namespace fa_tune::node {

// A node's end of one connection: one device, opened in a worker of its own when an engine first
// asks for it, and kept for the next engine. One thread's.
class Lane {
 public:
  // What became of a connection.
  struct End {
    enum class How {
      over,     // the engine has no more to ask
      refused,  // the engine wants none of this device
      lost,     // the engine, or the way there
    };
    How how = How::lost;
    std::string why;        // one line
    bool welcomed = false;  // the engine had taken it in
    bool denied = false;    // the engine has another key
  };

  // `open` opens the device in a process of its own; it may throw.
  Lane(std::function<std::unique_ptr<device::Device>()> open, Patience patience)
      : open_(std::move(open)), patience_(patience) {}

  // Introduces itself and answers until there is an end.
  End serve(Link& link, const message::Hello& hello);

 private:
  using Answer = worker::message::Answer;
  class Beating;

  End answer_all(Link& link);
  std::optional<End> on(const message::Message& message, Link& link);
  Link::Done on(const worker::message::Request& request, Link& link);
  Link::Done reply(const Answer& answer, Link& link);
  Answer begin();
  std::optional<Answer> answer(const worker::message::Request& request);

  std::function<std::unique_ptr<device::Device>()> open_;
  Patience patience_;
  worker::Window window_;
  std::unique_ptr<device::Device> device_;
  std::optional<worker::DeviceService> service_;
  bool begun_ = false;                             // and no worker has died since
  std::optional<worker::message::Faulted> death_;  // of one that has, until the engine is told
  std::uint64_t asked_ = 0;                        // the number of what is to be answered
};

}  // namespace fa_tune::node
