// Strangers on the port of an engine, many and slow ones.
#include "engine/node/reception.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/node/address.hpp"

namespace fa_tune::test {

using namespace fa_tune::node;
using namespace std::chrono_literals;

namespace {

// Connections from an address of this machine, closed with it.
class Strangers {
 public:
  Strangers(const Address& to, int count, const char* from = "127.0.0.1") {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    inet_pton(AF_INET, from, &own.sin_addr);
    sockaddr_in other = own;
    inet_pton(AF_INET, to.host.c_str(), &other.sin_addr);
    other.sin_port = htons(to.port);
    for (int i = 0; i < count; ++i) {
      const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      REQUIRE(made >= 0);
      sockets_.push_back(made);
      REQUIRE(bind(made, reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0);
      REQUIRE(connect(made, reinterpret_cast<const sockaddr*>(&other), sizeof other) == 0);
    }
  }
  ~Strangers() {
    for (const int each : sockets_) close(each);
  }
  Strangers(const Strangers&) = delete;
  Strangers& operator=(const Strangers&) = delete;

  // Of those that the other side has not ended yet.
  int left() const {
    int count = 0;
    for (const int each : sockets_) {
      char byte = 0;
      count += recv(each, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
    }
    return count;
  }
  void say(char byte) const {
    for (const int each : sockets_) (void)send(each, &byte, 1, MSG_NOSIGNAL);
  }

 private:
  std::vector<int> sockets_;
};

// A socket that listens.
struct Port {
  Address address{"127.0.0.1", 0};
  int socket = listen_at(address);
  ~Port() { close(socket); }
};

// Waits for each connection's end; a first byte 'k' proves its key.
void see_in(int socket, const std::function<void()>& proved) {
  std::array<char, 64> piece{};
  pollfd end{socket, POLLIN, 0};
  for (;;) {
    if (poll(&end, 1, 30'000) <= 0) break;
    const ssize_t got = recv(socket, piece.data(), piece.size(), 0);
    if (got <= 0) break;
    if (piece.front() == 'k') proved();
  }
  close(socket);
}

bool comes_to(const Strangers& strangers, int left) {
  for (int i = 0; i < 500 && strangers.left() != left; ++i) std::this_thread::sleep_for(10ms);
  return strangers.left() == left;
}

}  // namespace

TEST_CASE("of who has no key only a few are seen in at a time, and the oldest go first") {
  constexpr int kMost = Reception::kMostUnproved;
  const Port port;
  const Reception reception(port.socket, see_in);
  const Strangers first(port.address, 10);
  CHECK(comes_to(first, 10));
  const Strangers more(port.address, kMost);
  CHECK(comes_to(first, 0));
  CHECK(comes_to(more, kMost));
}

TEST_CASE("who has proved the key is not among those that go") {
  const Port port;
  const Reception reception(port.socket, see_in);
  const Strangers nodes(port.address, 10);
  nodes.say('k');
  std::this_thread::sleep_for(100ms);
  const Strangers strangers(port.address, 200);
  CHECK(comes_to(strangers, Reception::kMostUnproved));
  CHECK(nodes.left() == 10);
}

TEST_CASE("strangers of one address do not drive out those of another") {
  const Port port;
  const Reception reception(port.socket, see_in);
  const Strangers slow(port.address, 5, "127.0.0.2");
  CHECK(comes_to(slow, 5));
  const Strangers many(port.address, 200, "127.0.0.3");
  CHECK(comes_to(many, Reception::kMostUnproved - 5));
  CHECK(slow.left() == 5);
}

TEST_CASE(
    "where this process may open no more files, who comes waits, and nobody turns in circles") {
  const Port port;
  std::atomic<int> seen{0};
  const Reception reception(port.socket, [&](int socket, const std::function<void()>&) {
    ++seen;
    close(socket);
  });
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(client >= 0);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int next = dup(client);
  close(next);
  const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port.address.port);
  inet_pton(AF_INET, port.address.host.c_str(), &to.sin_addr);
  CHECK(connect(client, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
  const std::clock_t used = std::clock();
  std::this_thread::sleep_for(1000ms);
  CHECK(std::clock() - used < CLOCKS_PER_SEC / 4);
  CHECK(seen == 0);
  CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
  for (int i = 0; i < 500 && seen == 0; ++i) std::this_thread::sleep_for(10ms);
  CHECK(seen == 1);
  close(client);
}

}  // namespace fa_tune::test
