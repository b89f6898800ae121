#include "engine/node/node_messages.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "engine/node/address.hpp"
#include "engine/node/link.hpp"
#include "engine/util/error.hpp"
#include "engine/worker/shared_window.hpp"

namespace fa_tune::test {

using namespace fa_tune::node;
using namespace fa_tune::worker;

namespace {

Frame frame_of(const std::string& bytes) {
  FrameReader reader;
  reader.feed(bytes);
  return **reader.next();
}

std::vector<node::message::Message> samples() {
  using namespace node::message;
  return {Hello{"build", "n1", "cuda:0", Role::reference},
          Welcome{},
          Refused{"why"},
          Begin{},
          Beat{},
          Over{"why"},
          Number{7}};
}

}  // namespace

TEST_CASE("what a node and an engine say comes back as it was, whole or not at all") {
  for (const auto& sample : samples()) {
    const std::string bytes = node::message::encode(sample);
    const Frame whole = frame_of(bytes);
    CHECK(node::message::is_message(whole));
    const auto back = node::message::decode(whole);
    REQUIRE(back.has_value());
    CHECK(node::message::encode(*back) == bytes);
    for (std::size_t cut = 0; cut < whole.payload.size(); ++cut)
      CHECK_FALSE(node::message::decode({whole.kind, whole.payload.substr(0, cut)}).has_value());
    CHECK_FALSE(node::message::decode({whole.kind, whole.payload + "x"}).has_value());
    // Nobody takes it for a worker's.
    CHECK_FALSE(worker::message::decode_request(whole).has_value());
    CHECK_FALSE(worker::message::decode_answer(whole).has_value());
  }
  CHECK_FALSE(
      node::message::is_message(frame_of(worker::encode_frame(node::message::kTensorBytes, "x"))));
  CHECK_FALSE(node::message::decode({0x200 + 7, ""}).has_value());
  // A role that there is not.
  Frame hello = frame_of(node::message::encode(samples().front()));
  hello.payload[hello.payload.size() - 8] = 2;
  CHECK_FALSE(node::message::decode(hello).has_value());
}

TEST_CASE("the tensors of a request are counted, and no more than a window's") {
  using namespace worker::message;
  CHECK(tensor_bytes_with(Write{{}, 0, 12}) == 12);
  CHECK(tensor_bytes_after(Write{{}, 0, 12}) == 0);
  CHECK(tensor_bytes_after(Read{{}, 0, 12}) == 12);
  Step step{{{{}, 0, 3}, {{}, 8, 4}}, {}, {{{}, 0, 5}}};
  CHECK(tensor_bytes_with(step) == 7);
  CHECK(tensor_bytes_after(step) == 5);
  step.writes.push_back({{}, 0, Window::kBytes - 7});
  CHECK(tensor_bytes_with(step) == Window::kBytes);
  step.writes.push_back({{}, 0, 1});
  CHECK_FALSE(tensor_bytes_with(step).has_value());
  CHECK_FALSE(tensor_bytes_after(Read{{}, 0, ~std::uint64_t{0}}).has_value());
  CHECK(tensor_bytes_with(Energy{}) == 0);
}

TEST_CASE("who listens at the name of this machine listens at all of its addresses") {
  Address address{name_of_this_machine(), 0};
  const int listening = listen_at(address);
  CHECK(address.host == name_of_this_machine());
  // No name stands for this one.
  const auto connected = connect_to({"127.0.0.2", address.port}, std::chrono::seconds(5));
  REQUIRE(connected.has_value());
  close(*connected);
  close(listening);
}

TEST_CASE("an address is a host and a port") {
  CHECK(parse_address("login1:7440", "--listen").host == "login1");
  CHECK(parse_address("login1:7440", "--listen").port == 7440);
  CHECK(parse_address("[::1]:0", "--listen").host == "::1");
  CHECK(to_text(parse_address("[::1]:80", "--listen")) == "[::1]:80");
  CHECK(to_text(parse_address("10.0.0.7:1", "--listen")) == "10.0.0.7:1");
  for (const std::string bad : {"", ":", "login1", "login1:", ":80", "login1:x", "login1:80x",
                                "login1:-1", "login1:65536", "::1:80", "[]:80", "[::1]"})
    CHECK_THROWS_WITH_AS(parse_address(bad, "--listen"), doctest::Contains("expected HOST:PORT"),
                         UserError);
  Address free{"127.0.0.1", 0};
  const int listening = listen_at(free);
  CHECK(free.port != 0);
  CHECK(accept_at(listening, std::chrono::milliseconds(0)) == -1);
  const auto one = connect_to(free, std::chrono::seconds(5));
  REQUIRE(one.has_value());
  const int other = accept_at(listening, std::chrono::seconds(5));
  CHECK(other >= 0);
  Address taken = free;
  CHECK_THROWS_WITH_AS(listen_at(taken), doctest::Contains("nobody can listen"), UserError);
  for (const int file : {listening, *one, other}) close(file);
  CHECK_FALSE(connect_to(free, std::chrono::seconds(5)).has_value());
}

}  // namespace fa_tune::test
