#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/node/node_messages.hpp"
#include "engine/worker/messages.hpp"

namespace fa_tune::test {

// A message of each kind, with a value in every field.
std::vector<worker::message::Request> sample_requests();
std::vector<worker::message::Answer> sample_answers();
std::vector<node::message::Message> sample_node_messages();

// What the two ends of a worker's pipes, or of a node's connection, make of these bytes: the kinds
// of messages and the reasons of refusals, in order. Throws std::logic_error where a message that was taken does not come back
// as it was.
std::string try_frames(std::string_view bytes);

}  // namespace fa_tune::test
