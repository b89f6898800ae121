#include "engine/node/node_session.hpp"

#include <fmt/core.h>

namespace fa_tune::node {

std::expected<NodeSession::Answer, NodeSession::Trouble> NodeSession::greet(Milliseconds deadline) {
  if (auto sent = link_->send(message::encode(message::Begin{}), patience_.silence); !sent)
    return std::unexpected(gone(sent.error()));
  auto answer = receive(deadline);
  if (answer)
    if (auto* opened = std::get_if<worker::message::DeviceOpened>(&*answer)) {
      opened->info.id = name_ + "/" + opened->info.id;
      // The node holds the lease; a file of this machine's would be another, or the same.
      opened->info.uuid.clear();
    }
  return answer;
}

std::expected<NodeSession::Answer, NodeSession::Trouble> NodeSession::ask(
    const worker::message::Request& request, Milliseconds deadline) {
  if (!lost_because_.empty()) return std::unexpected(settle());
  if (auto sent = send(request); !sent) return std::unexpected(gone(sent.error()));
  auto answer = receive(deadline);
  if (!answer || !std::holds_alternative<worker::message::Done>(*answer)) return answer;
  const auto room = window_.bytes().first(tensor_bytes_after(request).value());
  if (auto came = link_->receive_tensors(room, patience_.silence); !came)
    return std::unexpected(gone(came.error()));
  return answer;
}

void NodeSession::tell(const worker::message::Request& request) {
  if (!lost_because_.empty()) return;
  if (auto sent = send(request); !sent) gone(sent.error());
}

// Between requests a node has nothing to say but a late Beat.
bool NodeSession::ended() {
  while (lost_because_.empty()) {
    const auto came = link_->next(Milliseconds(0));
    if (!came)
      gone(came.error());
    else if (!came->frame)
      break;
  }
  return !lost_because_.empty();
}

Link::Done NodeSession::send(const worker::message::Request& request) {
  if (auto sent = link_->send(worker::message::encode(request), patience_.silence); !sent)
    return sent;
  return link_->send_tensors(window_.bytes().first(tensor_bytes_with(request).value()),
                             patience_.silence);
}

std::expected<NodeSession::Answer, NodeSession::Trouble> NodeSession::receive(
    Milliseconds deadline) {
  const auto frame = link_->wait(patience_.silence, deadline + patience_.slack);
  if (!frame) return std::unexpected(gone(frame.error()));
  auto answer = worker::message::decode_answer(*frame);
  if (!answer) return std::unexpected(gone("it said " + answer.error()));
  return std::move(*answer);
}

NodeSession::Trouble NodeSession::gone(const std::string& why) {
  lost_because_ = why;
  link_->cut();
  return {Trouble::Kind::gone, fmt::format("node {} is gone: {}", name_, why)};
}

std::unique_ptr<device::Device> open_on_node(const std::shared_ptr<Link>& link,
                                             const std::string& node, const std::string& device,
                                             const Patience& patience) {
  worker::RemoteOptions options;
  const bool emulator = device.starts_with("emulator");
  if (emulator) options.deadlines = worker::Deadlines::of_emulator();
  options.parks_buffers = !emulator;
  options.over_network = true;
  options.open = [=](bool, const worker::Window& window) {
    return std::make_unique<NodeSession>(link, node, patience, window);
  };
  return worker::open_remote(options);
}

}  // namespace fa_tune::node
