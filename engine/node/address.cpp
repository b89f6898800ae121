#include "engine/node/address.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <thread>

#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/util/error.hpp"

namespace fa_tune::node {
namespace {

using Found = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

std::expected<Found, std::string> look_up(const Address& address, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  // This machine's name may stand for a loopback address here (Debian's 127.0.1.1), which is not
  // what it stands for on others. So who listens at it listens at all addresses.
  const bool any = (flags & AI_PASSIVE) != 0 && address.host == name_of_this_machine();
  addrinfo* found = nullptr;
  const int error = getaddrinfo(any ? nullptr : address.host.c_str(),
                                std::to_string(address.port).c_str(), &hints, &found);
  if (error != 0) return std::unexpected(std::string(gai_strerror(error)));
  return Found(found, freeaddrinfo);
}

int make_socket(const addrinfo& place) {
  return socket(place.ai_family, place.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                place.ai_protocol);
}

void set_option(int socket, int level, int option, int value) {
  setsockopt(socket, level, option, &value, sizeof value);
}

// Requests and answers are small and wait for each other. Where the other machine is gone without a
// word, a connection on which nothing is said ends all the same.
void set_up(int socket) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 4);
}

std::uint16_t port_of(int socket) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) != 0) return 0;
  if (own.ss_family == AF_INET6) return ntohs(reinterpret_cast<sockaddr_in6&>(own).sin6_port);
  return ntohs(reinterpret_cast<sockaddr_in&>(own).sin_port);
}

std::string connect_one(int socket, const addrinfo& place, std::chrono::milliseconds deadline) {
  if (connect(socket, place.ai_addr, place.ai_addrlen) == 0) return {};
  if (errno != EINPROGRESS) return std::strerror(errno);
  pollfd end{socket, POLLOUT, 0};
  if (poll(&end, 1, static_cast<int>(deadline.count())) <= 0) return "nobody answers";
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? "" : std::strerror(error);
}

}  // namespace

std::string name_of_this_machine() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "node";
}

std::string to_text(const Address& address) {
  const bool bare = address.host.find(':') == std::string::npos;
  const std::string host = bare ? address.host : "[" + address.host + "]";
  return fmt::format("{}:{}", host, address.port);
}

Address parse_address(const std::string& text, const std::string& option) {
  const std::size_t colon = text.rfind(':');
  Address address;
  address.host = text.substr(0, colon);
  const std::string digits = colon == std::string::npos ? "" : text.substr(colon + 1);
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, address.port);
  if (address.host.starts_with('[') && address.host.ends_with(']'))
    address.host = address.host.substr(1, address.host.size() - 2);
  else if (address.host.find(':') != std::string::npos)
    address.host.clear();
  if (digits.empty() || error != std::errc() || rest != end || address.host.empty())
    throw UserError(
        fmt::format("{} '{}': expected HOST:PORT, as in login1:7440 or [::1]:7440", option, text));
  return address;
}

int listen_at(Address& address) {
  std::string reason;
  const auto found = look_up(address, AI_PASSIVE);
  if (!found) reason = found.error();
  for (const addrinfo* place = found ? found->get() : nullptr; place != nullptr;
       place = place->ai_next) {
    const int made = make_socket(*place);
    if (made >= 0) {
      // What is left of an engine that has ended does not keep the next from its port.
      set_option(made, SOL_SOCKET, SO_REUSEADDR, 1);
      if (bind(made, place->ai_addr, place->ai_addrlen) == 0 && listen(made, SOMAXCONN) == 0) {
        address.port = port_of(made);
        return made;
      }
    }
    reason = std::strerror(errno);
    if (made >= 0) close(made);
  }
  throw UserError(fmt::format("nobody can listen at {}: {}", to_text(address), reason));
}

int accept_at(int listening, std::chrono::milliseconds most) {
  pollfd end{listening, POLLIN, 0};
  if (poll(&end, 1, static_cast<int>(most.count())) <= 0) return -1;
  const int made = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (made >= 0) set_up(made);
  // Who waits stays in the queue meanwhile, and poll() would say so at once.
  const bool full = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
  if (made < 0 && full) std::this_thread::sleep_for(most);
  return made;
}

std::string peer_of(int socket) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  std::array<char, NI_MAXHOST> host{};
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) != 0 ||
      getnameinfo(reinterpret_cast<const sockaddr*>(&peer), size, host.data(), host.size(), nullptr,
                  0, NI_NUMERICHOST) != 0)
    return "nowhere";
  return host.data();
}

std::expected<int, std::string> connect_to(const Address& address,
                                           std::chrono::milliseconds deadline) {
  const auto found = look_up(address, 0);
  if (!found) return std::unexpected(found.error());
  std::string reason = "it has no address";
  for (const addrinfo* place = found->get(); place != nullptr; place = place->ai_next) {
    const int made = make_socket(*place);
    reason = made < 0 ? std::strerror(errno) : connect_one(made, *place, deadline);
    if (reason.empty()) {
      set_up(made);
      return made;
    }
    if (made >= 0) close(made);
  }
  return std::unexpected(reason);
}

}  // namespace fa_tune::node
