#pragma once

#include <memory>
#include <string>

#include "engine/node/link.hpp"
#include "engine/worker/remote_device.hpp"
#include "engine/worker/session.hpp"
#include "engine/worker/shared_window.hpp"

namespace fa_tune::node {

// The engine's end of a worker on a node. The node starts it, keeps its deadlines and tells of its
// death; a session that follows another has the same link. Whatever is wrong with the link or with
// the node is WorkerTrouble `gone`.
class NodeSession final : public worker::WorkerSession {
 public:
  using Answer = worker::message::Answer;
  using Trouble = worker::WorkerTrouble;

  // `name`: of the node, which comes before its devices' names. The window must outlive it.
  NodeSession(std::shared_ptr<Link> link, std::string name, Patience patience,
              const worker::Window& window)
      : link_(std::move(link)), name_(std::move(name)), patience_(patience), window_(window) {}

  std::expected<Answer, Trouble> greet(Milliseconds deadline) override;
  std::expected<Answer, Trouble> ask(const worker::message::Request& request,
                                     Milliseconds deadline) override;
  void tell(const worker::message::Request& request) override;
  bool ended() override;
  Trouble settle() override { return gone(lost_because_); }

 private:
  std::expected<Answer, Trouble> receive(Milliseconds deadline);
  Link::Done send(const worker::message::Request& request);
  Trouble gone(const std::string& why);

  std::shared_ptr<Link> link_;
  std::string name_;
  Patience patience_;
  const worker::Window& window_;
  std::string lost_because_;
};

// The device at the other end of the link, opened there now. `device`: its name. Throws as
// worker::open_remote does.
std::unique_ptr<device::Device> open_on_node(const std::shared_ptr<Link>& link,
                                             const std::string& node, const std::string& device,
                                             const Patience& patience);

}  // namespace fa_tune::node
