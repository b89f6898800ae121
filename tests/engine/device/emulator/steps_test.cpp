#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "engine/device/local/step_times.hpp"
#include "tests/engine/device/emulator/support.hpp"

// Several kernels, fills and copies that are launched as one.

namespace fa_tune::test {

using namespace fa_tune::device;

namespace {

// y[i] += x[i] + n, for 32 elements; and one that ends every launch.
const char* const kAddAndStop = R"(.version 9.0
.target sm_89
.address_size 64
.visible .entry add(.param .u64 x, .param .u64 y, .param .u32 n)
{
.reg .b32 %r<8>;
.reg .b64 %d<8>;
ld.param.u64 %d1, [x];
ld.param.u64 %d2, [y];
ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x;
mul.wide.u32 %d3, %r2, 4;
add.u64 %d1, %d1, %d3;
add.u64 %d2, %d2, %d3;
ld.global.u32 %r3, [%d1];
ld.global.u32 %r4, [%d2];
add.u32 %r3, %r3, %r4;
add.u32 %r3, %r3, %r1;
st.global.u32 [%d2], %r3;
ret;
}
.visible .entry stop()
{
trap;
}
)";

struct StepsBench {
  std::unique_ptr<Device> device = open_emulator(small_profile(), 1);
  KernelHandle kernel{};
  BufferHandle x = device->allocate(128), y = device->allocate(128), z = device->allocate(128);

  StepsBench() {
    KernelImage both = image(kAddAndStop, "add");
    both.more = {{"stop", {}}};
    const auto loaded = device->load(both);
    REQUIRE(loaded);
    kernel = *loaded;
  }
  KernelStep add(BufferHandle from, BufferHandle to, std::uint32_t n) const {
    return {0, {{1, 1, 1}, {32, 1, 1}, {}, 0}, {from, to, raw(n)}};
  }
  Launch launch(std::vector<LaunchStep> steps) const {
    Launch all;
    all.kernel = kernel;
    all.checks = Checks::all();
    all.steps = std::move(steps);
    return all;
  }
  std::uint32_t value_of(BufferHandle buffer) const {
    std::uint32_t value = 0;
    REQUIRE(device->read(buffer, 4, std::as_writable_bytes(std::span(&value, 1))));
    return value;
  }
};

std::string fault_text(const std::expected<void, Fault>& done) {
  return done ? "none" : to_text(done.error().kind) + ": " + done.error().message;
}

}  // namespace

TEST_CASE("steps run in their order, in one memory") {
  StepsBench bench;
  const Launch launch =
      bench.launch({BufferFill{bench.x, 0, 128, 1},  // 0x01010101
                    BufferFill{bench.y, 0, 128, 0}, bench.add(bench.x, bench.y, 1),
                    BufferCopy{bench.y, bench.z, 128}, bench.add(bench.y, bench.z, 3)});
  CHECK(fault_text(bench.device->launch(launch)) == "none");
  CHECK(bench.value_of(bench.y) == 0x01010102);
  CHECK(bench.value_of(bench.z) == 0x02020207);
}

TEST_CASE("what only a later step writes is not written yet") {
  StepsBench bench;
  const LaunchStep add = bench.add(bench.x, bench.y, 1);
  const LaunchStep set_x = BufferFill{bench.x, 0, 128, 1}, set_y = BufferFill{bench.y, 0, 128, 0};
  CHECK(fault_text(bench.device->launch(bench.launch({set_x, add, set_y})))
            .starts_with("uninitialized: in step 2 of 3: "));
  CHECK(fault_text(bench.device->launch(bench.launch({BufferCopy{bench.z, bench.y, 128}, add})))
            .starts_with("uninitialized: in step 1 of 2: "));
  CHECK(fault_text(bench.device->launch(bench.launch({set_x, set_y, add}))) == "none");
}

TEST_CASE("a step that faults ends the launch, and says which it is") {
  StepsBench bench;
  const LaunchStep set = BufferFill{bench.y, 0, 128, 0};
  Launch launch = bench.launch({set, KernelStep{1, {{1, 1, 1}, {32, 1, 1}, {}, 0}, {}}});
  CHECK(fault_text(bench.device->launch(launch)).starts_with("trap: in step 2 of 2: "));
  launch.steps = {KernelStep{2, {}, {}}};
  CHECK(fault_text(bench.device->launch(launch)).starts_with("load_failed: in step 1 of 1: "));
  launch.steps = {set};
  launch.read_only = {bench.y};
  CHECK(fault_text(bench.device->launch(launch)).starts_with("input_changed: in step 1 of 1: "));
}

TEST_CASE("the time of several steps is theirs together, with what each took") {
  StepsBench bench;
  const LaunchStep set = BufferFill{bench.x, 0, 128, 1}, add = bench.add(bench.x, bench.y, 1);
  REQUIRE(bench.device->fill({{bench.x, 0, 128, 1}, {bench.y, 0, 128, 0}}));
  const auto us = [&](std::vector<LaunchStep> steps) {
    const auto timing = bench.device->time(bench.launch(std::move(steps)), {});
    REQUIRE(timing);
    CHECK(timing->complete);
    return timing->samples_us.at(0);
  };
  const double of_set = us({set}), of_add = us({add});
  CHECK(of_set >= 1);  // small_profile's launch_us
  CHECK(us({set, add, add}) == doctest::Approx(of_set + 2 * of_add));
  const auto timing = bench.device->time(bench.launch({set, add, add}), {});
  const auto detail = nlohmann::json::parse(timing->detail_json);
  CHECK(detail.at("steps").size() == 3);
  CHECK(detail.at("steps")[0].at("step") == "set");
  CHECK(detail.at("steps")[1].at("step") == "add");
  CHECK(detail.at("launch_us") == 3);
  CHECK(detail.at("counters").at("blocks") == 2);
  CHECK(detail.at("occupancy").at("blocks_per_sm") >= 1);
  // One kernel as a step is timed as it is by itself.
  Launch alone = bench.launch({});
  alone.config = {{1, 1, 1}, {32, 1, 1}, {}, 0};
  alone.arguments = {bench.x, bench.y, raw(std::uint32_t{1})};
  CHECK(bench.device->time(alone, {})->samples_us.at(0) == of_add);
}

}  // namespace fa_tune::test
