#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>

namespace fa_tune::node {

// Where an engine listens: "login1:7440", "10.0.0.7:7440", "[::1]:7440".
struct Address {
  std::string host;
  std::uint16_t port = 0;
};
std::string to_text(const Address& address);

// What this machine calls itself.
std::string name_of_this_machine();

// Throws UserError for anything else. `option`: for its message.
Address parse_address(const std::string& text, const std::string& option);

// A socket that listens there, at the name of this machine on all of its addresses; port 0 stands
// for any that is free, and `address` gets it. Throws UserError where nobody can listen.
int listen_at(Address& address);

// The next connection of a socket that listens, after a wait of at most `most`; -1 if there is none.
// It waits so long, too, where this process can have no more of them.
int accept_at(int listening, std::chrono::milliseconds most);

// The address, without the port, of who is at the other end: "10.0.0.7".
std::string peer_of(int socket);

// A connection to it, or why there is none.
std::expected<int, std::string> connect_to(const Address& address,
                                           std::chrono::milliseconds deadline);

}  // namespace fa_tune::node
