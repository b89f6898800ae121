#include "engine/node/tls_channel.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>
#include <utility>

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/node/key.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/stopwatch.hpp"
#include "tests/engine/node/pairs.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::node;
using namespace std::chrono_literals;
using namespace std::string_view_literals;

namespace {

constexpr std::size_t kLarge = 10'000'000;  // more than a socket holds

std::string received(TlsChannel& channel, std::size_t bytes) {
  std::string text;
  for (int i = 0; i < 10'000 && text.size() < bytes; ++i)
    if (!channel.receive(text, 100ms)) break;
  return text;
}

}  // namespace

TEST_CASE("what is sent on a channel comes out at its other end") {
  auto [engine, node] = channels(key_of(1), key_of(1));
  REQUIRE(engine.has_value());
  REQUIRE(node.has_value());
  CHECK((*engine)->send("question", 1s).has_value());
  CHECK(received(**node, 8) == "question");
  CHECK((*node)->send("answer", 1s).has_value());
  CHECK(received(**engine, 6) == "answer");
  std::string more;
  CHECK((*engine)->receive(more, 0ms) == false);
  // More than a socket holds, both ways at once.
  std::string large;
  large.resize(kLarge, 'x');
  for (std::size_t i = 0; i < large.size(); i += 1000) large[i] = static_cast<char>(i / 1000);
  std::string back;
  std::jthread other([&there = **node, &large, &back] {
    back = received(there, large.size());
    (void)there.send(back, 5s);
  });
  CHECK((*engine)->send(large, 5s).has_value());
  CHECK((received(**engine, large.size()) == large));
}

TEST_CASE("a part of a record has moved something, though nothing can be read of it yet") {
  const auto [one, other] = socket_pair();
  const auto [third, fourth] = socket_pair();
  auto there = std::async(std::launch::async, [socket = fourth] {
    return TlsChannel::open(socket, TlsChannel::Side::node, key_of(1), 10s);
  });
  // Passes all on, from a moment on byte by byte.
  std::atomic<bool> single{false};
  std::jthread between([&, a = other, b = third](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd ends[2] = {{a, POLLIN, 0}, {b, POLLIN, 0}};
      if (poll(ends, 2, 20) <= 0) continue;
      for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
        char piece[4096];
        const ssize_t got = recv(from, piece, single ? 1 : sizeof piece, MSG_DONTWAIT);
        if (got > 0) (void)::send(to, piece, static_cast<std::size_t>(got), MSG_NOSIGNAL);
        if (single) std::this_thread::sleep_for(5ms);
      }
    }
  });
  auto here = TlsChannel::open(one, TlsChannel::Side::engine, key_of(1), 10s);
  auto peer = there.get();
  REQUIRE(here.has_value());
  REQUIRE(peer.has_value());
  single = true;
  REQUIRE((*peer)->send("x", 1s).has_value());
  std::string text;
  const auto came = (*here)->receive(text, 5s);
  REQUIRE(came.has_value());
  CHECK(*came);
  CHECK(text.empty());
  CHECK(received(**here, 1) == "x");
  between.request_stop();
  between.join();
  close(other);
  close(third);
}

TEST_CASE("what is offered goes at once, or with what is sent next, or not at all") {
  auto [engine, node] = channels(key_of(1), key_of(1));
  REQUIRE((*engine)->offer("one").has_value());
  CHECK(received(**node, 3) == "one");
  // Until the socket takes no more.
  const Stopwatch watch;
  const std::string large(10'000, 'y');
  for (int i = 0; i < 5000; ++i) REQUIRE((*engine)->offer(large).has_value());
  CHECK(watch.milliseconds() < 5000);
  std::string all;
  std::jthread reading([&, &there = **node] {
    while (!all.ends_with("two") && there.receive(all, 2s).value_or(false)) {
    }
  });
  REQUIRE((*engine)->send("two", 5s).has_value());
  reading.join();
  CHECK(all.ends_with("two"));
  CHECK(all.size() % large.size() == 3);
  CHECK(all.size() < 5000 * large.size());
}

TEST_CASE("without the same key neither side gets a channel") {
  const auto [engine, node] = channels(key_of(1), key_of(2));
  REQUIRE_FALSE(engine.has_value());
  REQUIRE_FALSE(node.has_value());
  CHECK(engine.error().why.starts_with("no common key"));
  CHECK(engine.error().denied);
  CHECK(node.error().why.starts_with("no common key"));
  CHECK(node.error().denied);
}

TEST_CASE("a stranger gets nothing and holds nobody up") {
  const auto open = [](int socket, std::chrono::milliseconds deadline) {
    return TlsChannel::open(socket, TlsChannel::Side::engine, key_of(1), deadline);
  };
  {
    const auto [here, there] = socket_pair();
    REQUIRE(write(there, "GET / HTTP/1.1\r\n\r\n", 18) == 18);
    const auto got = open(here, 5s);
    REQUIRE_FALSE(got.has_value());
    close(there);
  }
  {  // says nothing
    const auto [here, there] = socket_pair();
    const Stopwatch watch;
    const auto got = open(here, 200ms);
    REQUIRE_FALSE(got.has_value());
    CHECK_FALSE(got.error().denied);
    CHECK(got.error().why == "it has not proved its key in time");
    CHECK(watch.milliseconds() < 2000);
    close(there);
  }
  {  // says a little now and then
    const auto [here, there] = socket_pair();
    std::jthread drip([socket = there](const std::stop_token& stop) {
      // The beginning of a handshake's record that never ends.
      constexpr std::string_view begin = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"sv;
      for (std::size_t i = 0; !stop.stop_requested(); ++i) {
        const char next = i < begin.size() ? begin[i] : 'x';
        if (::send(socket, &next, 1, MSG_NOSIGNAL) != 1) return;
        std::this_thread::sleep_for(20ms);
      }
    });
    const Stopwatch watch;
    CHECK_FALSE(open(here, 300ms).has_value());
    CHECK(watch.milliseconds() < 2000);
    drip.request_stop();
    drip.join();
    close(there);
  }
  {  // is gone
    const auto [here, there] = socket_pair();
    close(there);
    CHECK_FALSE(open(here, 5s).has_value());
  }
}

TEST_CASE("a channel that is cut says so, and one that nobody reads gives up") {
  {
    auto [engine, node] = channels(key_of(1), key_of(1));
    REQUIRE((*engine)->send("last words", 1s).has_value());
    engine->reset();
    CHECK(received(**node, 10) == "last words");
    std::string none;
    CHECK_FALSE((*node)->receive(none, 1s).has_value());
  }
  {
    auto [engine, node] = channels(key_of(1), key_of(1));
    std::string large;
    large.resize(kLarge, 'x');
    const auto sent = (*engine)->send(large, 300ms);
    REQUIRE_FALSE(sent.has_value());
    CHECK(sent.error() == "it takes nothing any more");
  }
  {  // from another thread
    auto [engine, node] = channels(key_of(1), key_of(1));
    std::jthread cutter([&there = **engine] {
      std::this_thread::sleep_for(50ms);
      there.cut();
    });
    std::string none;
    CHECK_FALSE((*engine)->receive(none, 10s).has_value());
  }
  {  // a byte that somebody changed on its way
    const auto [one, other] = socket_pair();
    const auto [third, fourth] = socket_pair();
    std::jthread between([a = other, b = third](const std::stop_token& stop) {
      // Passes all on; the first record of data from the node's side is changed.
      std::size_t from_node = 0;
      while (!stop.stop_requested()) {
        pollfd ends[2] = {{a, POLLIN, 0}, {b, POLLIN, 0}};
        if (poll(ends, 2, 20) <= 0) continue;
        for (int i = 0; i < 2; ++i) {
          if (ends[i].revents == 0) continue;
          char piece[4096];
          const ssize_t got = recv(ends[i].fd, piece, sizeof piece, MSG_DONTWAIT);
          if (got <= 0) return;
          if (ends[i].fd == b && ++from_node > 2) piece[got - 1] ^= 1;
          if (::send(i == 0 ? b : a, piece, static_cast<std::size_t>(got), MSG_NOSIGNAL) < 0)
            return;
        }
      }
    });
    auto there = std::async(std::launch::async, [socket = fourth] {
      return TlsChannel::open(socket, TlsChannel::Side::node, key_of(1), 10s);
    });
    auto engine = TlsChannel::open(one, TlsChannel::Side::engine, key_of(1), 10s);
    auto node = there.get();
    REQUIRE(engine.has_value());
    REQUIRE(node.has_value());
    std::expected<bool, std::string> came = false;
    for (int i = 0; i < 5 && came; ++i) {
      (void)(*node)->send("all is well", 1s);
      std::string text;
      came = (*engine)->receive(text, 1s);
    }
    CHECK_FALSE(came.has_value());
    between.request_stop();
    between.join();
    close(other);
    close(third);
  }
}

TEST_CASE("a key is this user's alone") {
  const ScratchFolder folder;
  const auto file = folder / "key";
  const Key key = read_or_make_key(file);
  CHECK((read_or_make_key(file) == key));
  CHECK((read_key(file) == key));
  struct stat facts {};
  REQUIRE(stat(file.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0600);
  CHECK((read_or_make_key(folder / "other") != key));

  const std::string text = read_file(file);
  CHECK(text.size() == 65);
  for (const std::string& bad :
       {std::string(), text.substr(1), text + "0", std::string(65, 'g'), std::string(64, '0')}) {
    std::ofstream(file, std::ios::trunc) << bad;
    CHECK_THROWS_WITH_AS(read_key(file), doctest::Contains("is no key"), UserError);
  }
  std::ofstream(file, std::ios::trunc) << text;
  CHECK((read_key(file) == key));
  REQUIRE(chmod(file.c_str(), 0640) == 0);
  CHECK_THROWS_WITH_AS(read_key(file), doctest::Contains("others may read this key"), UserError);
  CHECK_THROWS_AS(read_key(folder / "none"), UserError);
  CHECK_THROWS_AS(read_or_make_key(folder / "no" / "folder"), UserError);
}

}  // namespace fa_tune::test
