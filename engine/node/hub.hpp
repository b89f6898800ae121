#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "engine/device/device_supply.hpp"
#include "engine/kernel/compile/compiler_group.hpp"
#include "engine/node/address.hpp"
#include "engine/node/key.hpp"
#include "engine/node/link.hpp"
#include "engine/node/node_compiler.hpp"
#include "engine/node/reception.hpp"

namespace fa_tune::node {

struct HubOptions {
  Address address;  // port 0 for any that is free
  Key key{};
  std::chrono::milliseconds grace{300'000};  // DeviceSupply::patience
  Patience patience = {};
  // Nodes' compilers are added to it. Where there is none they are refused.
  std::shared_ptr<kernel::CompilerGroup> compilers = nullptr;
};

// The engine's side of all nodes: listens, has who comes prove the key (Reception), opens their
// devices, takes in their compilers, and tells them now and then that it lives. A device that is not
// of the kind of the first is refused, as its times would not compare, and so are compilers that
// make other code.
class NodeHub final : public device::DeviceSupply {
 public:
  // Listens from now on. Throws UserError where nobody can.
  explicit NodeHub(HubOptions options);
  // Tells all nodes that there is no more to do.
  ~NodeHub() override;
  NodeHub(const NodeHub&) = delete;
  NodeHub& operator=(const NodeHub&) = delete;

  // With the port that it has.
  const Address& address() const { return options_.address; }
  // The kind that all must be of, where there are devices of this machine's too.
  void require_kind(const device::DeviceInfo& kind);

  std::vector<device::Device*> take_arrived() override;
  void on_arrival(std::function<void()> wake) override;
  std::chrono::milliseconds patience() const override { return options_.grace; }
  std::string awaited() const override { return "a node at " + to_text(options_.address); }

  // How many devices have come, those included that are gone. From any thread.
  std::size_t devices_so_far() const;
  // The names of the nodes that are connected now, from any thread.
  std::set<std::string> connected_nodes() const;

  // Waits for the first device, as long as that takes; nothing once `stop` says so.
  device::Device* wait_for_first(const std::function<bool()>& stop);
  // A device of a node for reference kernels alone. Waits for one, at most for patience(); throws
  // MachineError where there is none.
  std::unique_ptr<device::Device> open_reference();

 private:
  // Who was taken in, for as long as somebody has the link.
  struct Welcomed {
    std::weak_ptr<Link> link;
    std::string node;
  };
  struct Guest {
    std::shared_ptr<Link> link;
    message::Hello hello;
  };

  void see_in(int socket, const std::function<void()>& proved);
  std::optional<Guest> welcome(int socket, const std::function<void()>& proved);
  void keep(const std::stop_token& stop);
  std::vector<std::shared_ptr<Link>> links();
  void refuse(Link& link, const std::string& node, const std::string& why);
  std::optional<std::string> wrong_kind(const device::DeviceInfo& info);
  void take_in_device(const Guest& guest);
  void take_in_compilers(const Guest& guest);

  HubOptions options_;
  int listening_;
  std::atomic<bool> ending_{false};
  mutable std::mutex mutex_;  // guards all below but the last two
  std::condition_variable_any changed_;
  std::optional<device::DeviceInfo> kind_;
  std::vector<Welcomed> welcomed_;
  std::vector<std::unique_ptr<device::Device>> devices_;
  std::vector<device::Device*> arrived_;
  std::vector<std::shared_ptr<NodeCompiler>> compilers_;  // gone ones until keep() sees it
  std::deque<Guest> references_;
  std::string last_refusal_;
  std::function<void()> wake_;
  std::jthread keeper_;
  std::unique_ptr<Reception> reception_;
};

}  // namespace fa_tune::node
