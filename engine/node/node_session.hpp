#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/node/link.hpp"
#include "engine/worker/remote_device.hpp"
#include "engine/worker/session.hpp"
#include "engine/worker/shared_window.hpp"

namespace fa_tune::node {

// A device's connection to its node, which sessions that follow each other share.
struct NodeConnection {
  std::shared_ptr<Link> link;  // none once the node is gone
  std::string node;            // its name, which comes before those of its devices
  Patience patience = {};
  std::uint64_t asked = 0;   // questions so far
  std::string lost_because;  // empty while it is there
};

// The engine's end of a worker on a node. The node starts it, keeps its deadlines and tells of its
// death. Whatever is wrong with the connection or with the node is WorkerTrouble `gone`, what no
// node of this fa-tune says too: no kernel is charged with it.
class NodeSession final : public worker::WorkerSession {
 public:
  using Answer = worker::message::Answer;
  using Trouble = worker::WorkerTrouble;

  // The window must outlive it.
  NodeSession(std::shared_ptr<NodeConnection> connection, const worker::Window& window)
      : connection_(std::move(connection)), window_(window) {}

  std::expected<Answer, Trouble> greet(Milliseconds deadline) override;
  std::expected<Answer, Trouble> ask(const worker::message::Request& request,
                                     Milliseconds deadline) override;
  void tell(const worker::message::Request& request) override;
  bool ended() override;
  Trouble settle() override { return gone(connection_->lost_because); }
  Trouble babbled(const std::string& what) override { return gone(what); }

 private:
  std::expected<Answer, Trouble> exchange(std::string_view question,
                                          const worker::message::Request* request,
                                          Milliseconds deadline);
  std::expected<Answer, std::string> receive(Milliseconds deadline);
  Link::Done send(std::string_view question, const worker::message::Request* request);
  Trouble gone(const std::string& why);

  std::shared_ptr<NodeConnection> connection_;
  const worker::Window& window_;
};

// The device at the other end of the link, opened there now. `device`: its name. Throws as
// worker::open_remote does.
std::unique_ptr<device::Device> open_on_node(const std::shared_ptr<Link>& link,
                                             const std::string& node, const std::string& device,
                                             const Patience& patience);

}  // namespace fa_tune::node
