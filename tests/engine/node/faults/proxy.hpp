#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "engine/node/address.hpp"
#include "engine/node/key.hpp"
#include "engine/worker/wire_format.hpp"

namespace fa_tune::test {

// Whose bytes.
enum class Side { node, engine };

enum class Deed {
  pass,
  cut,        // both connections end, as those of a process that ends
  reset,      // both connections are reset
  hush,       // what this side says is swallowed from here on, and nobody is told of an end
  hush_both,  // what either says is
  flip,       // one bit
  twice,      // the record is sent again
  leave_out,  // the record
  swap,       // with the next that has come by then
};

// What is done to a connection at one place of it, below TLS.
struct RecordFault {
  Side from = Side::node;
  int type = kAny;         // of the record: kClear, kProtected
  std::size_t nth = 0;     // of these, from 0
  std::size_t offset = 0;  // within the record, whose header has five bytes
  Deed deed = Deed::pass;
  // Of the first pieces that each side sends.
  std::chrono::milliseconds delay{0};
  int delayed = 0;
  std::size_t single_bytes = 0;  // this number is passed on one at a time

  static constexpr int kAny = -1;
  static constexpr int kClear = 22;      // a handshake's first records
  static constexpr int kProtected = 23;  // all that come later
};

// The same for who has the key, and sees frames.
struct FrameFault {
  Side from = Side::node;
  std::function<bool(const worker::Frame&)> is = {};
  int nth = 1;           // of these, from 1
  std::size_t sent = 0;  // bytes of the frame that are passed on before the deed
  Deed deed = Deed::pass;
  // Said in its place, if there is one, and `deed` follows. `before`: the frame that came before.
  std::function<std::string(const worker::Frame& frame, const worker::Frame& before)> instead = {};
  std::chrono::milliseconds drip{
      0};  // where it is not 0: what is said comes byte by byte, so far apart
};

// Somebody between a node and its engine, on this machine. It spoils a connection or two and passes
// on what is said on all others.
class Proxy {
 public:
  // Spoils the first two connections: those of a node with one device.
  Proxy(node::Address engine, RecordFault fault);
  // Spoils the first connection of the device; the other is for reference kernels.
  Proxy(node::Address engine, FrameFault fault, const node::Key& key);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  const node::Address& address() const { return address_; }
  // Whether the fault has.
  bool happened() const { return happened_; }
  // Whether the engine has ended the connection of frames that was spoilt.
  bool noticed() const { return noticed_; }
  // The most that a node said on one connection, below TLS. On a busy machine the first may be given
  // up after its handshake.
  std::string recorded();

 private:
  struct Connection {
    std::atomic<bool> over{false};
    std::jthread thread;
  };
  using Between = std::function<void(int number, int node, int engine, const std::stop_token&)>;

  void listen(const Between& between, const std::stop_token& stop);
  void pass_records(int number, int node, int engine, const std::stop_token& stop);
  void pass_frames(int node, int engine, const std::stop_token& stop);

  node::Address engine_;
  RecordFault records_;
  FrameFault frames_;
  node::Key key_{};
  node::Address address_{"127.0.0.1", 0};
  int listening_;
  std::atomic<bool> happened_{false};
  std::atomic<bool> noticed_{false};
  std::mutex mutex_;                     // guards recorded_
  std::map<int, std::string> recorded_;  // by the connection's number
  std::list<Connection> connections_;    // the listener's
  std::jthread listener_;
};

}  // namespace fa_tune::test
