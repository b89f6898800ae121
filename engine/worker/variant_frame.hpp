#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "engine/util/serializer.hpp"
#include "engine/worker/wire_format.hpp"

namespace fa_tune::worker {

// One of several messages as a frame. Its kind is `first` and the message's place in the variant.
// Each message lists its fields for the serializer.
template <typename Message>
std::string encode_variant(const Message& message, std::uint32_t first) {
  wire::Putter putter;
  std::visit([&putter](const auto& one) { putter(one); }, message);
  return encode_frame(first + static_cast<std::uint32_t>(message.index()), putter.take());
}

template <typename Message, std::size_t... i>
bool read_variant(Message& message, std::size_t index, std::string_view payload,
                  std::index_sequence<i...>) {
  wire::Getter getter(payload);
  ((index == i ? getter(message.template emplace<i>()) : void()), ...);
  return getter.good();
}

// For any frame whatever: the message, or what is wrong in one line. `what`: a word for it.
template <typename Message>
std::expected<Message, std::string> decode_variant(const Frame& frame, std::uint32_t first,
                                                   const char* what) {
  constexpr std::size_t count = std::variant_size_v<Message>;
  if (frame.kind < first || frame.kind - first >= count)
    return std::unexpected(fmt::format("no {} is of kind {}", what, frame.kind));
  Message message;
  if (!read_variant(message, frame.kind - first, frame.payload, std::make_index_sequence<count>{}))
    return std::unexpected(fmt::format("{} bytes that are no {} of kind {}", frame.payload.size(),
                                       what, frame.kind - first));
  return message;
}

}  // namespace fa_tune::worker
