#include "engine/node/node_session.hpp"

#include <fmt/core.h>

namespace fa_tune::node {
namespace {

std::string numbered(std::uint64_t number, std::string_view frame) {
  return message::encode(message::Number{number}).append(frame);
}

}  // namespace

std::expected<NodeSession::Answer, NodeSession::Trouble> NodeSession::greet(Milliseconds deadline) {
  auto answer = exchange(message::encode(message::Begin{}), nullptr, deadline);
  if (answer)
    if (auto* opened = std::get_if<worker::message::DeviceOpened>(&*answer)) {
      opened->info.id = connection_->node + "/" + opened->info.id;
      // The node holds the lease; a file of this machine's would be another, or the same.
      opened->info.uuid.clear();
    }
  return answer;
}

std::expected<NodeSession::Answer, NodeSession::Trouble> NodeSession::ask(
    const worker::message::Request& request, Milliseconds deadline) {
  auto answer = exchange(worker::message::encode(request), &request, deadline);
  if (!answer || !std::holds_alternative<worker::message::Done>(*answer)) return answer;
  const auto room = window_.bytes().first(tensor_bytes_after(request).value());
  const Patience& patience = connection_->patience;
  if (auto came = connection_->link->receive_tensors(room, patience.silence,
                                                     patience.for_tensors(room.size()));
      !came)
    return std::unexpected(gone(came.error()));
  return answer;
}

std::expected<NodeSession::Answer, NodeSession::Trouble> NodeSession::exchange(
    std::string_view question, const worker::message::Request* request, Milliseconds deadline) {
  if (!connection_->link) return std::unexpected(settle());
  if (auto sent = send(numbered(++connection_->asked, question), request); !sent)
    return std::unexpected(gone(sent.error()));
  auto answer = receive(deadline + connection_->patience.slack);
  if (!answer) return std::unexpected(gone(answer.error()));
  return std::move(*answer);
}

void NodeSession::tell(const worker::message::Request& request) {
  if (!connection_->link) return;
  if (auto sent = send(worker::message::encode(request), &request); !sent) gone(sent.error());
}

// Between requests a node has nothing to say but a late Beat.
bool NodeSession::ended() {
  while (connection_->link) {
    const auto came = connection_->link->next(Milliseconds(0));
    if (!came)
      gone(came.error());
    else if (!came->frame)
      break;
    else if (!is_beat(*came->frame))
      gone(fmt::format("it said a frame of kind {} that nobody had asked for", came->frame->kind));
  }
  return !connection_->link;
}

Link::Done NodeSession::send(std::string_view question, const worker::message::Request* request) {
  const Milliseconds patience = connection_->patience.silence;
  auto sent = connection_->link->send(question, patience);
  if (!sent || request == nullptr) return sent;
  return connection_->link->send_tensors(window_.bytes().first(tensor_bytes_with(*request).value()),
                                         patience);
}

std::expected<NodeSession::Answer, std::string> NodeSession::receive(Milliseconds deadline) {
  const Milliseconds silence = connection_->patience.silence;
  const auto first = wait_for_message(*connection_->link, silence, deadline);
  if (!first) return std::unexpected(first.error());
  const auto* said = std::get_if<message::Number>(&*first);
  if (said == nullptr) return std::unexpected("it said what is no answer");
  if (said->number != connection_->asked)
    return std::unexpected(fmt::format("it answered question {} where it was asked question {}",
                                       said->number, connection_->asked));
  const auto frame = connection_->link->wait(silence, deadline);
  if (!frame) return std::unexpected(frame.error());
  auto answer = worker::message::decode_answer(*frame);
  if (!answer) return std::unexpected("it said " + answer.error());
  return std::move(*answer);
}

NodeSession::Trouble NodeSession::gone(const std::string& why) {
  if (connection_->link) {
    connection_->lost_because = fmt::format("node {} is gone: {}", connection_->node, why);
    connection_->link->cut();
    connection_->link.reset();
  }
  return {Trouble::Kind::gone, connection_->lost_because};
}

std::unique_ptr<device::Device> open_on_node(const std::shared_ptr<Link>& link,
                                             const std::string& node, const std::string& device,
                                             const Patience& patience) {
  worker::RemoteOptions options;
  const bool emulator = device.starts_with("emulator");
  if (emulator) options.deadlines = worker::Deadlines::of_emulator();
  options.parks_buffers = !emulator;
  options.offloads = true;
  const auto connection = std::make_shared<NodeConnection>();
  connection->link = link;
  connection->node = node;
  connection->patience = patience;
  options.open = [connection](bool, const worker::Window& window) {
    return std::make_unique<NodeSession>(connection, window);
  };
  return worker::open_remote(options);
}

}  // namespace fa_tune::node
