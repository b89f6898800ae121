#include "engine/device/emulator/prediction/not_modelled.hpp"

#include <cmath>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/engine/device/emulator/support.hpp"
#include "tests/engine/device/emulator/timing/counted_run.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

constexpr const char* kRegisters =
    ".reg .b32 %r<20>; .reg .f32 %f<40>; .reg .f64 %fd<8>; .reg .b64 %rd<8>; .reg .pred %p<4>;\n"
    ".shared .align 1024 .b8 s[16384];\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n";

// Why the model does not cover the kernel; empty if it does.
std::string why_not(const std::string& body,
                    const emulator::DeviceProfile& profile = small_profile(),
                    TensorRule rule = TensorRule::ampere, std::uint32_t threads = 32,
                    bool cooperative = false) {
  CountedRun run(kRegisters + body, rule, threads, 1);
  run.launch.cooperative = cooperative;
  const Prediction prediction = predict(profile, {}, run.launch, run.program, run.record, 1 << 20);
  return not_modelled(profile, run.launch, run.program, run.record, prediction);
}

emulator::DeviceProfile with_f64(double rate) {
  emulator::DeviceProfile profile = small_profile();
  profile.fma_f64_per_clock_sm = rate;
  return profile;
}

const std::string kDoubles = many("fma.rn.f64 %fd1, %fd1, %fd2, %fd3;\n", 1000);
const std::string kFloats = many("fma.rn.f32 %f1, %f1, %f2, %f3;\n", 5000);

}  // namespace

TEST_CASE("what the model knows is modelled") {
  CHECK(why_not(kFloats) == "");
  CHECK(why_not("st.global.u32 [%rd1], %r1; bar.sync 0; atom.global.add.u32 %r2, [%rd1], 1;") ==
        "");
}

TEST_CASE("f64 is modelled where its unit has little to do") {
  // 1,000 instructions of 32 lanes, two lanes a clock, at 1 GHz.
  CHECK(has(why_not(kDoubles, with_f64(2)),
            "arithmetic in f64: its unit alone is busy for 16.00 us"));
  CHECK(why_not(kDoubles + kFloats, with_f64(64)) == "");
  CHECK(why_not("mov.f64 %fd1, %fd2; st.global.f64 [%rd1], %fd1;", with_f64(2)) == "");
  // A division is many.
  const std::string divisions = many("div.rn.f64 %fd1, %fd2, %fd3;\n", 100);
  CHECK(has(why_not(divisions, with_f64(2)), "busy for 32.00 us"));
}

TEST_CASE("a profile without a rate of f64 has no time for it") {
  CHECK(has(why_not(kDoubles), "the profile has no rate (fma_f64_per_clock_sm)"));
  CHECK(why_not("add.f64 %fd1, %fd2, %fd3;" + kFloats) == "");
}

TEST_CASE("waits of unknown length are not modelled, where they were executed") {
  CHECK(has(why_not("nanosleep.u32 100;"), "nanosleep.u32 (PTX line "));
  CHECK(why_not("bra END; nanosleep.u32 100; END: ret;") == "");
}

TEST_CASE("a loop that waits for another block is not modelled, one that reads on is") {
  const std::string spin =
      "SPIN: ld.acquire.gpu.global.u32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 77;\n"
      "@%p1 bra SPIN;";
  CHECK(has(why_not(spin), "it waits in a loop for another block"));
  // Of a cooperative launch the SM that is waited for is simulated.
  CHECK(why_not(spin, small_profile(), TensorRule::ampere, 32, true) == "");
  CHECK(has(why_not("SPIN: atom.global.cas.b32 %r2, [%rd1], 0, 1; setp.eq.u32 %p1, %r2, 77;\n"
                    "@%p1 bra SPIN;"),
            "atom.global.cas.b32 (PTX line "));
  // Its address moves: it reads an array.
  CHECK(why_not("mov.u32 %r3, 0;\nNEXT: ld.volatile.global.u32 %r2, [%rd1];\n"
                "add.u64 %rd1, %rd1, 4; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 9;\n"
                "@%p1 bra NEXT;") == "");
  // It works at what it is given, as a queue's loop does.
  CHECK(why_not("NEXT: atom.global.add.u32 %r2, [%rd1], 1; st.global.u32 [%rd1+64], %r2;\n"
                "setp.lt.u32 %p1, %r2, 9; @%p1 bra NEXT;") == "");
  // A plain read is none that another block is waited for with.
  CHECK(why_not("mov.u32 %r3, 0;\nNEXT: ld.global.u32 %r2, [%rd1];\n"
                "add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 9; @%p1 bra NEXT;") == "");
}

TEST_CASE("8-bit floats through mma.sync have a rate on sm_89 alone") {
  const std::string mma =
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%f1,%f2,%f3,%f4}, "
      "{%r2,%r3,%r4,%r5}, {%r6,%r7}, {%f1,%f2,%f3,%f4};";
  CHECK(why_not(mma, small_profile("sm_89")) == "");
  CHECK(has(why_not(mma, small_profile("sm_90a"), TensorRule::hopper),
            "products of 8-bit floats through mma.sync"));
}

TEST_CASE("wgmma has no time on a profile that has no rate of it") {
  const std::string body =
      "mov.u64 %rd2, 0x4000004000010040; mov.u32 %r10, s; st.shared.u32 [%r10], %r1; bar.sync 0;\n"
      "wgmma.fence.sync.aligned;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd2, %rd2, 1, 1, 1, "
      "0, "
      "0;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;";
  emulator::DeviceProfile profile = small_profile("sm_90a");
  CHECK(why_not(body, profile, TensorRule::hopper, 128) == "");
  profile.wgmma_f16_flop_per_clock_sm = 0;
  CHECK(has(why_not(body, profile, TensorRule::hopper, 128), "the profile has no rate of wgmma"));
}

TEST_CASE("a part that does less of a unit's work than its share does not stand for the rest") {
  std::string body;
  for (int i = 0; i < 1000; ++i)
    body +=
        "ex2.approx.ftz.f32 %f" + std::to_string(i % 30) + ", %f" + std::to_string(i % 30) + ";\n";
  const CountedRun run(kRegisters + body, TensorRule::ampere, 32, 1);
  const emulator::DeviceProfile profile = small_profile();
  const auto why = [&](double part, double share) {
    Prediction prediction = predict(profile, {}, run.launch, run.program, run.record, 1 << 20);
    auto detail = nlohmann::json::parse(prediction.detail_json);
    detail["units_us"]["special"] = part * detail["units_us"]["special"].get<double>();
    detail["simulated_share"] = share;
    prediction.detail_json = detail.dump();
    return not_modelled(profile, run.launch, run.program, run.record, prediction);
  };
  CHECK(why(1, 0.5) == "");
  CHECK(why(0.85, 0.5) == "");
  CHECK(has(why(0.5, 0.5), "of the work of the unit 'special' it has 50%"));
  // Where all of it was simulated there is nothing to stand for.
  CHECK(why(0.5, 1) == "");
}

TEST_CASE("a kernel of which no way was recorded has no time") {
  const CountedRun run(std::string(kRegisters) + kFloats, TensorRule::ampere, 32, 1);
  const Record empty(run.program);
  const Prediction nothing;
  CHECK(has(not_modelled(small_profile(), run.launch, run.program, empty, nothing),
            "no warp's way through the kernel was recorded"));
}

TEST_CASE("a device answers a kernel that is not modelled in a line, and others with an interval") {
  const auto device = device::open_emulator(small_profile(), 1);
  const auto time = [&](const std::string& body) {
    const auto kernel = device->load(image(test::kernel("", ".reg .f64 %fd<4>;\n" + body)));
    REQUIRE(kernel.has_value());
    device::Launch launch;
    launch.kernel = *kernel;
    return device->time(launch, {});
  };
  const auto refused = time(many("add.f64 %fd1, %fd2, %fd3;\n", 100));
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().kind == device::FaultKind::not_modelled);
  CHECK(refused.error().message.starts_with("k: arithmetic in f64"));
  const auto timed = time("");
  REQUIRE(timed.has_value());
  CHECK(timed->low_us > 0);
  CHECK(timed->high_us > timed->low_us);
  CHECK(std::isfinite(timed->high_us));
}

}  // namespace fa_tune::test
