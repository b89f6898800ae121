#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "engine/node/key.hpp"

struct ssl_ctx_st;  // OpenSSL's
struct ssl_st;

namespace fa_tune::node {

// A connection that nobody else can read, change or speak on: TLS 1.3 with the key as an external
// pre-shared one (RFC 8446, 4.2.11) and a fresh Diffie-Hellman exchange (psk_dhe_ke). There are no
// certificates: each side has proved to the other that it has the key before a byte of the program
// is read. One thread reads; several may send.
class TlsChannel {
 public:
  using Milliseconds = std::chrono::milliseconds;
  enum class Side { engine, node };
  // Why there is none.
  struct Failure {
    std::string why;      // one line
    bool denied = false;  // the other side has not the key, so it is of no use to try again
  };

  // Takes `socket` over, a stream of any kind, and closes it in every case. Lasts until both sides
  // have proved themselves, at most until the deadline.
  static std::expected<std::unique_ptr<TlsChannel>, Failure> open(int socket, Side side,
                                                                  const Key& key,
                                                                  Milliseconds deadline);
  ~TlsChannel();
  TlsChannel(const TlsChannel&) = delete;
  TlsChannel& operator=(const TlsChannel&) = delete;

  // Sends all of it. Gives up when nothing has moved for `patience`. After an error the channel is
  // of no use any more.
  std::expected<void, std::string> send(std::string_view bytes, Milliseconds patience);
  // The same for at most a record of TLS, but it waits for nothing. Where another thread sends, or
  // the socket takes nothing now, these bytes are left out.
  std::expected<void, std::string> offer(std::string_view bytes);
  // Appends what has come, after a wait of at most `most`. False if nothing has; true also where it
  // is a part of a record, and nothing can be appended yet.
  std::expected<bool, std::string> receive(std::string& bytes, Milliseconds most);
  // From any thread: whoever waits here, or comes later, is told that it is cut.
  void cut();
  // From any thread: false once the other side has closed it, or it was cut. What has come may not
  // be read yet.
  bool connected() const;

 private:
  TlsChannel(int socket, Side side, const Key& key);
  std::expected<void, Failure> shake_hands(Milliseconds deadline);
  std::expected<void, std::string> flush(Milliseconds patience);
  std::expected<bool, std::string> push();
  std::expected<bool, std::string> fetch(Milliseconds most);

  int socket_;
  Key key_;
  std::unique_ptr<ssl_ctx_st, void (*)(ssl_ctx_st*)> context_;
  std::unique_ptr<ssl_st, void (*)(ssl_st*)> tls_;
  std::mutex mutex_;  // guards tls_ and what is not sent yet
  std::string unsent_;
};

}  // namespace fa_tune::node
