#include "engine/device/emulator/sanitizer/register_flight.hpp"

#include <doctest/doctest.h>

using namespace fa_tune::emulator;

namespace {

using Wrong = RegisterFlight::Wrong;
using Places = std::vector<std::uint16_t>;

// Instructions one after the other, executed as they come.
class Scene {
 public:
  std::optional<Wrong> run(FlightRole role, const Places& reads, const Places& writes,
                           std::int64_t stay = 0) {
    program_.slots = 64;
    program_.touches.add(reads, writes);
    return flight_.step(program_, program_.touches.size() - 1, role, stay);
  }
  std::optional<Wrong> use(const Places& reads, const Places& writes) {
    return run(FlightRole::other, reads, writes);
  }
  std::optional<Wrong> multiply(const Places& d) { return run(FlightRole::multiply, d, d); }
  std::optional<Wrong> move(std::uint16_t from, std::uint16_t to) {
    return run(FlightRole::move, {from}, {to});
  }
  void fence() { CHECK_FALSE(run(FlightRole::fence, {}, {})); }
  void commit() { CHECK_FALSE(run(FlightRole::commit, {}, {})); }
  void wait(std::int64_t stay) { CHECK_FALSE(run(FlightRole::wait, {}, {}, stay)); }

 private:
  Program program_;
  RegisterFlight flight_;
};

}  // namespace

TEST_CASE("accumulators are left alone until their group is over") {
  Scene scene;
  scene.fence();
  CHECK_FALSE(scene.multiply({4, 5}));
  CHECK_FALSE(scene.multiply({4, 5}));  // the same accumulators, in order
  scene.commit();
  CHECK_FALSE(scene.use({1, 2}, {3}));
  CHECK(scene.use({5}, {3}) == Wrong::in_flight);
  CHECK(scene.use({}, {4}) == Wrong::in_flight);
  CHECK_FALSE(scene.multiply({6, 7}));
  scene.commit();
  scene.wait(1);
  CHECK_FALSE(scene.use({4, 5}, {3}));
  CHECK(scene.use({6}, {3}) == Wrong::in_flight);
  scene.wait(0);
  CHECK_FALSE(scene.use({6, 7}, {3}));
}

TEST_CASE("a group that was never committed is not waited for") {
  Scene scene;
  CHECK_FALSE(scene.multiply({4}));
  scene.wait(0);
  CHECK(scene.use({4}, {}) == Wrong::in_flight);
}

TEST_CASE("what was written is fenced before a multiplication takes it") {
  Scene scene;
  scene.fence();
  CHECK_FALSE(scene.use({}, {4}));
  CHECK(scene.multiply({4, 5}) == Wrong::not_fenced);
  scene.fence();
  CHECK_FALSE(scene.multiply({4, 5}));
}

TEST_CASE("moves carry what is known of a register") {
  Scene scene;
  CHECK_FALSE(scene.use({}, {8}));
  CHECK_FALSE(scene.move(8, 4));
  CHECK(scene.multiply({4}) == Wrong::not_fenced);
  scene.fence();
  CHECK_FALSE(scene.move(8, 4));
  CHECK_FALSE(scene.multiply({4}));
  scene.commit();
  CHECK_FALSE(scene.move(4, 9));
  CHECK_FALSE(scene.use({}, {4}));  // the place belongs to something else now
  CHECK(scene.use({9}, {}) == Wrong::in_flight);
  scene.wait(0);
  CHECK_FALSE(scene.use({9}, {}));
}
