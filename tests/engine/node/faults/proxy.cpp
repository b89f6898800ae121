#include "tests/engine/node/faults/proxy.hpp"

#include <array>
#include <optional>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/node/node_messages.hpp"
#include "engine/node/tls_channel.hpp"

namespace fa_tune::test {

using namespace std::chrono_literals;

namespace {

constexpr auto kLook = 20ms;
constexpr auto kPatience = 10s;

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno != EAGAIN) return false;
    pollfd end{socket, POLLOUT, 0};
    if (poll(&end, 1, 10'000) <= 0) return false;
  }
  return true;
}

void reset(int socket) {
  const linger at_once{1, 0};
  setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

// One side's records.
struct Stream {
  int from = -1;
  int to = -1;
  std::string waiting = {};  // not a whole record yet
  std::size_t seen = 0;      // records of the type that the fault is about
  int pieces = 0;
  std::size_t single_bytes = 0;
  bool hushed = false;
  bool over = false;

  // The next whole record.
  std::optional<std::string> next() {
    constexpr std::size_t kHeader = 5;
    if (waiting.size() < kHeader) return std::nullopt;
    const auto at = [this](std::size_t i) { return static_cast<unsigned char>(waiting[i]); };
    const std::size_t size = kHeader + (std::size_t{at(3)} << 8) + at(4);
    if (waiting.size() < size) return std::nullopt;
    std::string record = waiting.substr(0, size);
    waiting.erase(0, size);
    return record;
  }
};

}  // namespace

Proxy::Proxy(node::Address engine, RecordFault fault)
    : engine_(std::move(engine)),
      records_(fault),
      listening_(listen_at(address_)),
      listener_([this](const std::stop_token& stop) {
        listen([this](int number, int node, int other,
                      const std::stop_token& ends) { pass_records(number, node, other, ends); },
               stop);
      }) {}

Proxy::Proxy(node::Address engine, FrameFault fault, const node::Key& key)
    : engine_(std::move(engine)),
      frames_(std::move(fault)),
      key_(key),
      listening_(listen_at(address_)),
      listener_([this](const std::stop_token& stop) {
        listen([this](int, int node, int other,
                      const std::stop_token& ends) { pass_frames(node, other, ends); },
               stop);
      }) {}

Proxy::~Proxy() {
  listener_ = {};
  connections_.clear();
  close(listening_);
}

std::string Proxy::recorded() {
  const std::lock_guard lock(mutex_);
  std::string longest;
  for (const auto& [number, said] : recorded_)
    if (said.size() > longest.size()) longest = said;
  return longest;
}

void Proxy::listen(const Between& between, const std::stop_token& stop) {
  for (int number = 0; !stop.stop_requested();) {
    const int node = node::accept_at(listening_, kLook);
    connections_.remove_if([](const Connection& each) { return each.over.load(); });
    if (node < 0) continue;
    const auto engine = node::connect_to(engine_, kPatience);
    if (!engine) {
      close(node);
      continue;
    }
    Connection& connection = connections_.emplace_back();
    connection.thread = std::jthread(
        [&connection, &between, node, other = *engine, number](const std::stop_token& ends) {
          between(number, node, other, ends);
          connection.over = true;
        });
    ++number;
  }
  for (Connection& each : connections_) each.thread.request_stop();
  for (Connection& each : connections_) each.thread = {};
}

void Proxy::pass_records(int number, int node, int engine, const std::stop_token& stop) {
  const RecordFault fault = number < 2 ? records_ : RecordFault{};
  Stream streams[2] = {{node, engine}, {engine, node}};
  for (Stream& each : streams) each.single_bytes = fault.single_bytes;
  bool ends = false;
  const auto pass = [&](Stream& stream, std::string_view bytes) {
    if (stream.hushed) return;
    if (stream.pieces++ < fault.delayed) {
      std::this_thread::sleep_for(fault.delay);
      happened_ = true;
    }
    while (stream.single_bytes > 0 && !bytes.empty()) {
      happened_ = true;
      --stream.single_bytes;
      ends |= !send_all(stream.to, bytes.substr(0, 1));
      bytes.remove_prefix(1);
    }
    ends |= !send_all(stream.to, bytes);
  };
  const auto on_record = [&](Stream& stream, std::string record) {
    const bool counts =
        (stream.from == node) == (fault.from == Side::node) &&
        (fault.type == RecordFault::kAny || record[0] == static_cast<char>(fault.type));
    // Two records that are there at once may never come again at the same place.
    const bool here = fault.deed == Deed::swap ? counts && stream.seen++ >= fault.nth && !happened_
                                               : counts && stream.seen++ == fault.nth;
    if (!here || fault.deed == Deed::pass) return pass(stream, record);
    if (fault.deed == Deed::swap) {
      const auto after = stream.next();
      if (after) {
        happened_ = true;
        pass(stream, *after);
      }
      return pass(stream, record);
    }
    happened_ = true;
    switch (fault.deed) {
      case Deed::flip:
        record[fault.offset] = static_cast<char>(record[fault.offset] ^ 1);
        return pass(stream, record);
      case Deed::twice:
        pass(stream, record);
        return pass(stream, record);
      case Deed::leave_out:
        return;
      case Deed::hush_both:
        streams[0].hushed = streams[1].hushed = true;
        return;
      case Deed::hush:
        pass(stream, std::string_view(record).substr(0, fault.offset));
        stream.hushed = true;
        return;
      default:
        pass(stream, std::string_view(record).substr(0, fault.offset));
        if (fault.deed == Deed::reset) {
          reset(node);
          reset(engine);
        }
        ends = true;
    }
  };
  const auto hushed = [&] { return streams[0].hushed || streams[1].hushed; };
  while (!ends && !stop.stop_requested() && !(streams[0].over && streams[1].over)) {
    pollfd both[2] = {{streams[0].over ? -1 : node, POLLIN, 0},
                      {streams[1].over ? -1 : engine, POLLIN, 0}};
    if (poll(both, 2, static_cast<int>(kLook.count())) <= 0) continue;
    for (int i = 0; i < 2 && !ends; ++i) {
      if (both[i].revents == 0) continue;
      std::array<char, 65536> piece{};
      const ssize_t got = recv(both[i].fd, piece.data(), piece.size(), 0);
      Stream& stream = streams[i];
      if (got <= 0) {
        // Where all is silent, nobody hears of an end either.
        stream.over = true;
        ends = !hushed();
        continue;
      }
      if (i == 0) {
        const std::lock_guard lock(mutex_);
        recorded_[number].append(piece.data(), static_cast<std::size_t>(got));
      }
      stream.waiting.append(piece.data(), static_cast<std::size_t>(got));
      while (!ends) {
        auto record = stream.next();
        if (!record) break;
        on_record(stream, std::move(*record));
      }
    }
  }
  close(node);
  close(engine);
}

namespace {

// Both directions of a connection that frames are seen on.
struct Conversation {
  std::unique_ptr<node::TlsChannel> node;
  std::unique_ptr<node::TlsChannel> engine;
  std::atomic<bool> spoilt{false};  // whether this is the connection that the fault is for
  std::atomic<bool> hushed_node{false};
  std::atomic<bool> hushed_engine{false};
  std::atomic<bool> over{false};

  void cut() {
    over = true;
    node->cut();
    engine->cut();
  }
};

bool is_for_references(const worker::Frame& frame) {
  const auto message = node::message::decode(frame);
  const auto* hello = message ? std::get_if<node::message::Hello>(&*message) : nullptr;
  return hello != nullptr && hello->role == node::message::Role::reference;
}

}  // namespace

void Proxy::pass_frames(int node_socket, int engine_socket, const std::stop_token& stop) {
  using node::TlsChannel;
  Conversation talk;
  auto to_node = TlsChannel::open(node_socket, TlsChannel::Side::engine, key_, kPatience);
  auto to_engine = TlsChannel::open(engine_socket, TlsChannel::Side::node, key_, kPatience);
  if (!to_node || !to_engine) return;
  talk.node = std::move(*to_node);
  talk.engine = std::move(*to_engine);

  const auto pump = [&](Side from) {
    TlsChannel& in = from == Side::node ? *talk.node : *talk.engine;
    TlsChannel& out = from == Side::node ? *talk.engine : *talk.node;
    std::atomic<bool>& hushed = from == Side::node ? talk.hushed_node : talk.hushed_engine;
    worker::FrameReader reader;
    worker::Frame before;
    int seen = 0;
    const auto say = [&](std::string_view bytes) {
      if (!hushed && !bytes.empty() && !out.send(bytes, kPatience)) talk.cut();
    };
    const auto on_frame = [&](const worker::Frame& frame) {
      const std::string bytes = worker::encode_frame(frame.kind, frame.payload);
      const bool here =
          talk.spoilt && from == frames_.from && frames_.is(frame) && ++seen == frames_.nth;
      if (!here) return say(bytes);
      happened_ = true;
      std::string said = bytes.substr(0, frames_.sent);
      if (frames_.instead) said = frames_.instead(frame, before);
      if (frames_.drip > 0ms)
        for (std::size_t i = 0; i < said.size() && !talk.over && !stop.stop_requested(); ++i) {
          say(said.substr(i, 1));
          std::this_thread::sleep_for(frames_.drip);
        }
      else
        say(said);
      if (frames_.deed == Deed::hush || frames_.deed == Deed::hush_both) hushed = true;
      if (frames_.deed == Deed::hush_both) talk.hushed_node = talk.hushed_engine = true;
      if (frames_.deed == Deed::cut) talk.cut();
    };
    while (!talk.over && !stop.stop_requested()) {
      std::string bytes;
      const auto came = in.receive(bytes, kLook);
      reader.feed(bytes);
      for (;;) {
        auto frame = reader.next();
        if (!frame || !*frame) break;
        // The device's connection says of itself which it is, with its first frame.
        if (from == Side::node && before.kind == 0 && !happened_)
          talk.spoilt = !is_for_references(**frame);
        on_frame(**frame);
        before = std::move(**frame);
      }
      if (came) continue;
      if (from == Side::engine && talk.spoilt && happened_) noticed_ = true;
      if (talk.hushed_node || talk.hushed_engine) break;
      talk.cut();
    }
    // The node may have ended first, and this direction with it.
    if (from == Side::engine && talk.spoilt && happened_ && !talk.hushed_node &&
        !talk.hushed_engine)
      noticed_ = true;
  };
  std::jthread other([&] { pump(Side::engine); });
  pump(Side::node);
  other.join();
  // Who is silent is silent also about its end.
  while ((talk.hushed_node || talk.hushed_engine) && !talk.over && !stop.stop_requested())
    std::this_thread::sleep_for(kLook);
}

}  // namespace fa_tune::test
