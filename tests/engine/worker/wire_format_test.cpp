#include "engine/worker/wire_format.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::worker;

TEST_CASE("frames come out as they went in, in pieces of any size") {
  const std::string stream =
      encode_frame(3, "") + encode_frame(0x105, std::string(1000, '\0')) + encode_frame(7, "seven");
  for (const std::size_t piece : {std::size_t{1}, std::size_t{5}, std::size_t{13}, stream.size()}) {
    FrameReader reader;
    std::vector<Frame> frames;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      reader.feed(stream.substr(at, piece));
      for (;;) {
        auto frame = reader.next();
        REQUIRE(frame.has_value());
        if (!*frame) break;
        frames.push_back(std::move(**frame));
      }
    }
    REQUIRE(frames.size() == 3);
    CHECK(frames[0].kind == 3);
    CHECK(frames[0].payload.empty());
    CHECK(frames[1].kind == 0x105);
    CHECK(frames[1].payload == std::string(1000, '\0'));
    CHECK(frames[2].payload == "seven");
    CHECK_FALSE(reader.within());
  }
}

TEST_CASE("a frame that is cut off is none yet, at every byte") {
  const std::string whole = encode_frame(1, "payload");
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    FrameReader reader;
    reader.feed(whole.substr(0, cut));
    const auto frame = reader.next();
    REQUIRE(frame.has_value());
    CHECK_FALSE(frame->has_value());
    CHECK(reader.within() == (cut > 0));
  }
}

TEST_CASE("what is no frame is refused at its first byte, what is too long by its header") {
  FrameReader words;
  words.feed("x");
  REQUIRE_FALSE(words.next().has_value());
  CHECK(words.next().error() == "what is no frame: 'x'");

  FrameReader almost;
  almost.feed("fatz");
  CHECK_FALSE(almost.next().has_value());

  std::string header = encode_frame(1, "");
  header.replace(8, 4, "\xff\xff\xff\x7f");
  FrameReader huge;
  huge.feed(header);
  REQUIRE_FALSE(huge.next().has_value());
  CHECK(test::has(huge.next().error(), "a frame of 2147483647 bytes"));
}

}  // namespace fa_tune::test
