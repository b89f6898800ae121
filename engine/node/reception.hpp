#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <string>
#include <thread>

namespace fa_tune::node {

// Sees in who comes to a socket that listens, each on a thread of its own, so that nobody holds up
// another. Who has not proved the key may be a stranger. Of those there are at most kMostUnproved:
// where one more comes, the oldest of the address that has most of them is cut. So strangers,
// however many and however slow, keep a node out only if that many come while it proves its key.
class Reception {
 public:
  static constexpr std::size_t kMostUnproved = 64;

  // `see_in` takes the socket over. It calls `proved` when the key is, and throws nothing. From now
  // on until the end who comes is seen in. `listening` must outlive it.
  using SeeIn = std::function<void(int socket, const std::function<void()>& proved)>;
  Reception(int listening, SeeIn see_in);
  // Cuts the connections that are being seen in.
  ~Reception();
  Reception(const Reception&) = delete;
  Reception& operator=(const Reception&) = delete;

 private:
  struct Arrival {
    int socket = -1;  // a copy, by which it can be cut
    std::string from;
    std::atomic<bool> proved{false};
    std::atomic<bool> over{false};
    std::jthread thread;
  };

  void listen(const std::stop_token& stop);
  void begin(int socket);
  void make_room();
  void sweep();

  int listening_;
  SeeIn see_in_;
  std::list<Arrival> arrivals_;  // the listener's, oldest first
  std::jthread listener_;        // last: it uses all of the others
};

}  // namespace fa_tune::node
