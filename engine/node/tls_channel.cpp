#include "engine/node/tls_channel.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/util/error.hpp"

namespace fa_tune::node {
namespace {

using Milliseconds = TlsChannel::Milliseconds;

// What the key is called on the wire. It says nothing of a run.
constexpr std::string_view kIdentity = "fa-tune node";
// The one cipher suite of both sides, as its two bytes.
constexpr const char* kSuite = "TLS_AES_128_GCM_SHA256";
constexpr std::array<unsigned char, 2> kSuiteBytes = {0x13, 0x01};
// What one record of TLS holds.
constexpr std::size_t kRecord = std::size_t{16} << 10;
// A wait is cut into looks of this length, and looks are counted, not seconds: this process may have
// been stopped meanwhile.
constexpr Milliseconds kSendLook{500};

SSL_SESSION* make_session(SSL* tls) {
  const auto* key = static_cast<const Key*>(SSL_get_app_data(tls));
  const SSL_CIPHER* suite = SSL_CIPHER_find(tls, kSuiteBytes.data());
  SSL_SESSION* session = SSL_SESSION_new();
  if (session != nullptr && suite != nullptr &&
      SSL_SESSION_set1_master_key(session, key->data(), key->size()) == 1 &&
      SSL_SESSION_set_cipher(session, suite) == 1 &&
      SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1)
    return session;
  SSL_SESSION_free(session);
  return nullptr;
}

// The engine's. A stranger's identity gets no session; there being no certificate, TLS ends there.
int find_session(SSL* tls, const unsigned char* identity, std::size_t length,
                 SSL_SESSION** session) {
  *session = nullptr;
  const std::string_view given(reinterpret_cast<const char*>(identity), length);
  if (given != kIdentity) return 1;
  *session = make_session(tls);
  return *session != nullptr ? 1 : 0;
}

// A node's.
int use_session(SSL* tls, const EVP_MD*, const unsigned char** identity, std::size_t* length,
                SSL_SESSION** session) {
  *identity = reinterpret_cast<const unsigned char*>(kIdentity.data());
  *length = kIdentity.size();
  *session = make_session(tls);
  return *session != nullptr ? 1 : 0;
}

std::string reason_of_tls() {
  const unsigned long error = ERR_get_error();
  const char* reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  ERR_clear_error();
  return reason == nullptr ? "it speaks no TLS" : reason;
}

std::string reason_of_system(int error) { return error == 0 ? "it was cut" : std::strerror(error); }

void require(bool done) {
  if (!done) throw MachineError("OpenSSL could not be set up: " + reason_of_tls());
}

}  // namespace

TlsChannel::TlsChannel(int socket, Side side, const Key& key)
    : socket_(socket),
      key_(key),
      context_(SSL_CTX_new(side == Side::engine ? TLS_server_method() : TLS_client_method()),
               SSL_CTX_free),
      tls_(nullptr, SSL_free) {
  try {
    SSL_CTX* const context = context_.get();
    require(context != nullptr && SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
            SSL_CTX_set_ciphersuites(context, kSuite) == 1 &&
            SSL_CTX_set_num_tickets(context, 0) == 1);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    if (side == Side::engine) {
      SSL_CTX_set_psk_find_session_callback(context, find_session);
    } else {
      SSL_CTX_set_psk_use_session_callback(context, use_session);
      // There is nobody whose certificate a node would take.
      SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    }
    tls_.reset(SSL_new(context));
    require(tls_ != nullptr && SSL_set_app_data(tls_.get(), &key_) == 1);
    BIO* const in = BIO_new(BIO_s_mem());
    BIO* const out = BIO_new(BIO_s_mem());
    require(in != nullptr && out != nullptr);
    SSL_set_bio(tls_.get(), in, out);
    if (side == Side::engine)
      SSL_set_accept_state(tls_.get());
    else
      SSL_set_connect_state(tls_.get());
    fcntl(socket_, F_SETFL, fcntl(socket_, F_GETFL) | O_NONBLOCK);
  } catch (...) {
    close(socket_);
    throw;
  }
}

TlsChannel::~TlsChannel() { close(socket_); }

void TlsChannel::cut() { shutdown(socket_, SHUT_RDWR); }

bool TlsChannel::connected() const {
  pollfd end{socket_, POLLRDHUP, 0};
  return poll(&end, 1, 0) == 0;
}

std::expected<std::unique_ptr<TlsChannel>, TlsChannel::Failure> TlsChannel::open(
    int socket, Side side, const Key& key, Milliseconds deadline) {
  std::unique_ptr<TlsChannel> channel(new TlsChannel(socket, side, key));
  if (auto done = channel->shake_hands(deadline); !done) return std::unexpected(done.error());
  return channel;
}

std::expected<void, TlsChannel::Failure> TlsChannel::shake_hands(Milliseconds deadline) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + deadline;
  const auto left = [&] {
    return std::max(Milliseconds(0), std::chrono::ceil<Milliseconds>(until - Clock::now()));
  };
  for (;;) {
    ERR_clear_error();
    const int done = SSL_do_handshake(tls_.get());
    const std::string reason =
        done != 1 && SSL_get_error(tls_.get(), done) != SSL_ERROR_WANT_READ ? reason_of_tls() : "";
    // An alert, too, is to reach the other side.
    if (auto sent = flush(left()); !sent && reason.empty())
      return std::unexpected(Failure{sent.error()});
    if (!reason.empty()) return std::unexpected(Failure{"no common key: " + reason, true});
    if (done == 1) break;
    if (left() == Milliseconds(0))
      return std::unexpected(Failure{"it has not proved its key in time"});
    const auto came = fetch(left());
    if (!came) return std::unexpected(Failure{came.error()});
  }
  // What both proved is the key, and not that some certificate is somebody's.
  if (SSL_session_reused(tls_.get()) != 1) return std::unexpected(Failure{"no common key", true});
  return {};
}

// Of what TLS has to send, as much as the socket takes now. True if that is all. The mutex is held, or
// there is one thread.
std::expected<bool, std::string> TlsChannel::push() {
  BIO* const out = SSL_get_wbio(tls_.get());
  const std::size_t before = unsent_.size();
  const std::size_t pending = BIO_ctrl_pending(out);
  unsent_.resize(before + pending);
  if (pending > 0) BIO_read(out, unsent_.data() + before, static_cast<int>(pending));
  while (!unsent_.empty()) {
    const ssize_t sent = ::send(socket_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (sent >= 0)
      unsent_.erase(0, static_cast<std::size_t>(sent));
    else if (errno == EAGAIN)
      return false;
    else if (errno != EINTR)
      return std::unexpected(reason_of_system(errno));
  }
  return true;
}

// All of it.
std::expected<void, std::string> TlsChannel::flush(Milliseconds patience) {
  Milliseconds waited{0};
  for (std::size_t left = 0;;) {
    const auto all = push();
    if (!all) return std::unexpected(all.error());
    if (*all) return {};
    if (unsent_.size() != std::exchange(left, unsent_.size())) waited = Milliseconds(0);
    if (waited >= patience) return std::unexpected("it takes nothing any more");
    const Milliseconds look = std::min(kSendLook, patience - waited);
    pollfd end{socket_, POLLOUT, 0};
    if (poll(&end, 1, static_cast<int>(look.count())) == 0) waited += look;
  }
}

// Into TLS, after a wait of at most `most`. False if nothing has come.
std::expected<bool, std::string> TlsChannel::fetch(Milliseconds most) {
  std::array<char, 4 * kRecord>
      piece;  // NOLINT(cppcoreguidelines-pro-type-member-init): recv fills
  pollfd end{socket_, POLLIN, 0};
  if (poll(&end, 1, static_cast<int>(most.count())) <= 0) return false;
  const ssize_t got = recv(socket_, piece.data(), piece.size(), 0);
  if (got == 0) return std::unexpected(reason_of_system(0));
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got < 0) return std::unexpected(reason_of_system(errno));
  const std::lock_guard lock(mutex_);
  if (BIO_write(SSL_get_rbio(tls_.get()), piece.data(), static_cast<int>(got)) != got)
    throw std::bad_alloc();
  return true;
}

std::expected<void, std::string> TlsChannel::send(std::string_view bytes, Milliseconds patience) {
  const std::lock_guard lock(mutex_);
  while (!bytes.empty()) {
    ERR_clear_error();
    const std::size_t record = std::min(bytes.size(), kRecord);
    if (SSL_write(tls_.get(), bytes.data(), static_cast<int>(record)) <= 0)
      return std::unexpected(reason_of_tls());
    bytes.remove_prefix(record);
    if (auto sent = flush(patience); !sent) return sent;
  }
  return {};
}

std::expected<void, std::string> TlsChannel::offer(std::string_view bytes) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return {};
  auto all = push();
  if (all && *all) {
    ERR_clear_error();
    if (SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size())) <= 0)
      return std::unexpected(reason_of_tls());
    all = push();
  }
  if (!all) return std::unexpected(all.error());
  return {};
}

std::expected<bool, std::string> TlsChannel::receive(std::string& bytes, Milliseconds most) {
  std::array<char, kRecord> piece;  // NOLINT(cppcoreguidelines-pro-type-member-init): TLS fills it
  for (bool moved = false;;) {
    {
      const std::lock_guard lock(mutex_);
      ERR_clear_error();
      bool some = false;
      int got = 0;
      while ((got = SSL_read(tls_.get(), piece.data(), static_cast<int>(piece.size()))) > 0) {
        bytes.append(piece.data(), static_cast<std::size_t>(got));
        some = true;
      }
      if (some) return true;
      const int why = SSL_get_error(tls_.get(), got);
      if (why == SSL_ERROR_ZERO_RETURN) return std::unexpected(reason_of_system(0));
      if (why != SSL_ERROR_WANT_READ) return std::unexpected(reason_of_tls());
    }
    const auto came = fetch(most);
    if (!came) return came;
    if (!*came) return moved;
    // What came may be a part of a record.
    moved = true;
    most = Milliseconds(0);
  }
}

}  // namespace fa_tune::node
