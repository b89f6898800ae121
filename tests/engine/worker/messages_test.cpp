#include "engine/worker/messages.hpp"

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "engine/util/file.hpp"
#include "engine/util/random.hpp"
#include "tests/fuzz/try_frames.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::worker;

namespace {

Frame frame_of(const std::string& bytes) {
  FrameReader reader;
  reader.feed(bytes);
  return *reader.next().value();
}

// Equal as bytes: the messages have no other identity.
template <typename Message, typename Decode>
void round_trip(const Message& message, Decode decode) {
  const std::string bytes = encode(message);
  const auto again = decode(frame_of(bytes));
  REQUIRE(again.has_value());
  CHECK(again->index() == message.index());
  CHECK(encode(*again) == bytes);
}

}  // namespace

TEST_CASE("every message comes back as it went") {
  const auto requests = test::sample_requests();
  const auto answers = test::sample_answers();
  // All kinds, so that none is forgotten when one is added.
  std::set<std::size_t> kinds;
  for (const auto& each : requests) kinds.insert(each.index());
  CHECK(kinds.size() == std::variant_size_v<message::Request>);
  kinds.clear();
  for (const auto& each : answers) kinds.insert(each.index());
  CHECK(kinds.size() == std::variant_size_v<message::Answer>);

  for (const auto& each : requests) round_trip(each, message::decode_request);
  for (const auto& each : answers) round_trip(each, message::decode_answer);

  const auto launch = message::decode_request(frame_of(encode(requests.at(7))));
  const auto& run = std::get<message::Run>(launch.value()).launch;
  CHECK(run.config.cluster.y == 2);
  CHECK(std::get<BufferHandle>(run.arguments.at(1)) == BufferHandle{5});
  CHECK(std::get<std::vector<std::byte>>(run.arguments.at(0)).size() == 3);
  CHECK(run.checks.races);
}

TEST_CASE("a message cut at any byte, or with a byte too many, is refused") {
  std::vector<std::string> all;
  for (const auto& each : test::sample_requests()) all.push_back(encode(each));
  for (const std::string& bytes : all) {
    const Frame whole = frame_of(bytes);
    for (std::size_t cut = 0; cut < whole.payload.size(); ++cut)
      CHECK_FALSE(message::decode_request({whole.kind, whole.payload.substr(0, cut)}).has_value());
    CHECK_FALSE(message::decode_request({whole.kind, whole.payload + "x"}).has_value());
  }
}

TEST_CASE("kinds and enumerators that do not exist are refused") {
  const auto count = static_cast<std::uint32_t>(std::variant_size_v<message::Request>);
  CHECK_FALSE(message::decode_request({count, ""}).has_value());
  CHECK_FALSE(message::decode_request({0x100, ""}).has_value());
  CHECK_FALSE(message::decode_answer({3, ""}).has_value());
  Frame fault = frame_of(encode(message::Answer(message::Faulted{{FaultKind::trap, "x"}, false})));
  CHECK(message::decode_answer(fault).has_value());
  fault.payload[0] = static_cast<char>(static_cast<int>(kLastFaultKind) + 1);
  CHECK_FALSE(message::decode_answer(fault).has_value());
}

TEST_CASE("the fuzzer's corpus is of messages") {
  int messages = 0;
  for (const auto& each :
       std::filesystem::directory_iterator(FA_TUNE_ROOT "/tests/fuzz/corpus/frames")) {
    CAPTURE(each.path().string());
    FrameReader reader;
    reader.feed(read_file(each.path()));
    for (;;) {
      const auto frame = reader.next();
      REQUIRE(frame.has_value());
      if (!*frame) break;
      ++messages;
      CHECK((message::decode_request(**frame) || message::decode_answer(**frame) ||
             node::message::decode(**frame)));
    }
    CHECK_FALSE(reader.within());
  }
  CHECK(messages == 23);
}

// A short, repeatable version of `tools/fuzz 600 frames`.
TEST_CASE("bytes near to frames are refused with a reason or are messages") {
  std::vector<std::string> seeds;
  for (const auto& each : test::sample_requests()) seeds.push_back(encode(each));
  for (const auto& each : test::sample_answers()) seeds.push_back(encode(each));
  for (const auto& each : test::sample_node_messages())
    seeds.push_back(node::message::encode(each));
  Random random(17);
  std::set<std::string> outcomes;
  for (int i = 0; i < 40'000; ++i) {
    std::string bytes = seeds[random.below(seeds.size())];
    if (random.below(4) == 0) bytes += seeds[random.below(seeds.size())];
    for (std::uint64_t change = random.below(4); change > 0 && !bytes.empty(); --change) {
      const std::size_t at = random.below(bytes.size());
      switch (random.below(3)) {
        case 0:
          bytes[at] = static_cast<char>(random.below(256));
          break;
        case 1:
          bytes.erase(at, 1 + random.below(8));
          break;
        default:
          bytes.insert(at, std::string(1 + random.below(8), static_cast<char>(random.below(256))));
      }
    }
    std::string outcome;
    CHECK_NOTHROW(outcome = test::try_frames(bytes));
    outcomes.insert(outcome.substr(0, 40));
  }
  CHECK(outcomes.size() > 60);
}

}  // namespace fa_tune::test
