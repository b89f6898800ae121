#include <algorithm>

#include <doctest/doctest.h>

#include "tests/engine/device/emulator/hopper_support.hpp"

// What runs together: warps by mbarriers in every schedule, clusters, each other's shared memory.

namespace fa_tune::test {

using namespace fa_tune::device;

namespace {

// A bench with one buffer of words, zeroed, its kernel's only argument.
class Hopper : public HopperBench {
 public:
  Hopper(const std::string& ptx, std::size_t words)
      : HopperBench(ptx), words_(words), buffer_(buffer(std::vector<std::uint32_t>(words))) {
    launch.arguments = {buffer_};
  }

  std::vector<std::uint32_t> words() { return read<std::uint32_t>(buffer_, words_); }

 private:
  std::size_t words_;
  BufferHandle buffer_;
};

const std::string kRegisters = R"(
  .reg .pred %p<8>;
  .reg .b32 %r<32>;
  .reg .b64 %rd<16>;
)";

// A warp produces `rounds` numbers one by one through one slot of shared memory, another adds them
// up: two mbarriers, full and empty.
std::string producer_consumer(const std::string& wait_for_empty) {
  return kernel(".param .u64 out", kRegisters + R"(
  .shared .align 8 .b64 full;
  .shared .align 8 .b64 empty;
  .shared .align 4 .b32 box[32];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  and.b32 %r2, %r1, 31;
  mov.u32 %r10, box;
  shl.b32 %r3, %r2, 2;
  add.u32 %r10, %r10, %r3;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra READY;
  mbarrier.init.shared.b64 [full], 32;
  mbarrier.init.shared.b64 [empty], 32;
READY:
  bar.sync 0;
  mov.u32 %r4, 0;      // round
  mov.u32 %r5, 0;      // parity
  mov.u32 %r6, 0;      // sum
  setp.ge.u32 %p2, %r1, 32;
  @%p2 bra CONSUME;
PRODUCE:
  xor.b32 %r7, %r5, 1;
WAIT_EMPTY:
)" + wait_for_empty + R"(
  add.u32 %r8, %r4, %r2;
  st.shared.u32 [%r10], %r8;
  mbarrier.arrive.shared.b64 %rd2, [full];
  xor.b32 %r5, %r5, 1;
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p4, %r4, 20;
  @%p4 bra PRODUCE;
  ret;
CONSUME:
  mbarrier.try_wait.parity.shared.b64 %p5, [full], %r5;
  @!%p5 bra CONSUME;
  ld.shared.u32 %r9, [%r10];
  add.u32 %r6, %r6, %r9;
  mbarrier.arrive.shared.b64 %rd3, [empty];
  xor.b32 %r5, %r5, 1;
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p6, %r4, 20;
  @%p6 bra CONSUME;
  mul.wide.u32 %rd4, %r2, 4;
  add.u64 %rd4, %rd1, %rd4;
  st.global.u32 [%rd4], %r6;
)");
}

const std::string kTryWait = R"(
  mbarrier.try_wait.parity.shared.b64 %p3, [empty], %r7;
  @!%p3 bra WAIT_EMPTY;)";
const std::string kTestWait = R"(
  mbarrier.test_wait.parity.shared.b64 %p3, [empty], %r7;
  @!%p3 bra WAIT_EMPTY;)";

// Each CTA of a cluster adds its rank to every other's counter, and each thread of it reads back
// what its right neighbour holds.
std::string neighbours(const std::string& last_barrier) {
  return kernel(".param .u64 out", kRegisters + R"(
  .shared .align 4 .b32 counter;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %cluster_ctarank;
  mov.u32 %r3, %cluster_nctarank;
  setp.ne.u32 %p1, %r1, 0;
  @!%p1 st.shared.u32 [counter], 0;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  mov.u32 %r4, counter;
  mov.u32 %r5, 0;
NEXT:
  mapa.shared::cluster.u32 %r6, %r4, %r5;
  getctarank.shared::cluster.u32 %r7, %r6;
  add.u32 %r8, %r2, 1;
  @!%p1 red.relaxed.cluster.shared::cluster.add.u32 [%r6], %r8;
  setp.ne.u32 %p2, %r7, %r5;
  @%p2 trap;
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p3, %r5, %r3;
  @%p3 bra NEXT;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  add.u32 %r9, %r2, 1;
  rem.u32 %r9, %r9, %r3;
  cvt.u64.u32 %rd2, %r4;
  cvta.shared.u64 %rd2, %rd2;
  mapa.u64 %rd3, %rd2, %r9;
  ld.u32 %r10, [%rd3];
)" + last_barrier + R"(
  mov.u32 %r11, %ctaid.x;
  mov.u32 %r12, %ntid.x;
  mad.lo.u32 %r13, %r11, %r12, %r1;
  mul.wide.u32 %rd4, %r13, 4;
  add.u64 %rd4, %rd1, %rd4;
  st.global.u32 [%rd4], %r10;
)");
}

const std::string kClusterSync = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";

}  // namespace

TEST_CASE("a producer and a consumer hand numbers over through mbarriers, in every schedule") {
  for (const std::string& wait : {kTryWait, kTestWait}) {
    Hopper hopper(producer_consumer(wait), 32);
    hopper.launch.config.block = {64, 1, 1};
    for (std::uint64_t schedule = 0; schedule < 12; ++schedule) {
      hopper.launch.schedule = schedule;
      CHECK(hopper.run() == "");
      const auto words = hopper.words();
      for (std::uint32_t lane = 0; lane < 32; ++lane) CHECK(words[lane] == 190 + 20 * lane);
    }
  }
}

TEST_CASE("schedules show what only luck orders") {
  // Without the wait the producer overwrites what has not been read in some schedules.
  Hopper hopper(producer_consumer(""), 32);
  hopper.launch.config.block = {64, 1, 1};
  int wrong = 0;
  for (std::uint64_t schedule = 0; schedule < 12; ++schedule) {
    hopper.launch.schedule = schedule;
    const std::string outcome = hopper.run();
    wrong += !outcome.empty() || hopper.words()[0] != 190 ? 1 : 0;
  }
  CHECK(wrong > 6);
}

TEST_CASE("a wait for a phase that nobody completes is named") {
  std::string ptx = producer_consumer(kTryWait);
  ptx.replace(ptx.find("[full], 32"), 10, "[full], 33");
  Hopper hopper(ptx, 32);
  hopper.launch.config.block = {64, 1, 1};
  const std::string outcome = hopper.run();
  INFO(outcome);
  CHECK(outcome.starts_with("deadlock: "));
  CHECK(outcome.find("mbarrier at 0x400 (parity 0): 1 arrivals and 0 bytes are missing") !=
        std::string::npos);
}

TEST_CASE("an mbarrier in the wrong is named") {
  const auto outcome = [](const std::string& body) {
    Hopper hopper(kernel(".param .u64 out",
                         kRegisters + ".shared .align 8 .b64 bar;\nmov.u32 %r1, 1;\n" + body),
                  32);
    hopper.launch.config.block = {32, 1, 1};
    return hopper.run();
  };
  CHECK(outcome("mbarrier.arrive.shared.b64 %rd1, [bar];").find("not initialized") !=
        std::string::npos);
  CHECK(outcome("mbarrier.init.shared.b64 [bar], 0;").find("1 to 2^20 - 1") != std::string::npos);
  CHECK(outcome("mbarrier.init.shared.b64 [bar], 40;\n"
                "mbarrier.arrive.shared.b64 %rd1, [bar], 21;")
            .find("more threads arrive") != std::string::npos);
  CHECK(outcome("mbarrier.init.shared.b64 [bar], 32;\nmov.u32 %r2, 2;\n"
                "mbarrier.try_wait.parity.shared.b64 %p1, [bar], %r2;")
            .find("parity 2") != std::string::npos);
  // Of the threads of a warp the second finds it ended.
  CHECK(outcome("mbarrier.init.shared.b64 [bar], 32;\nmbarrier.inval.shared.b64 [bar];")
            .find("thread (1,0,0): there is no mbarrier to invalidate") != std::string::npos);
}

TEST_CASE("an arrival when copies are done comes after the copies") {
  const std::string ptx = kernel(".param .u64 out", kRegisters + R"(
  .shared .align 8 .b64 bar;
  .shared .align 16 .b32 box[128];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra READY;
  mbarrier.init.shared.b64 [bar], 32;
READY:
  bar.sync 0;
  mul.wide.u32 %rd2, %r1, 16;
  add.u64 %rd3, %rd1, %rd2;
  mov.u32 %r2, box;
  cvt.u32.u64 %r3, %rd2;
  add.u32 %r3, %r2, %r3;
  cp.async.cg.shared.global [%r3], [%rd3], 16;
  cp.async.mbarrier.arrive.noinc.shared.b64 [bar];
  mov.u32 %r4, 0;
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [bar], %r4;
  @!%p2 bra WAIT;
  // The words of the thread 31 places on.
  add.u32 %r5, %r1, 31;
  and.b32 %r5, %r5, 31;
  shl.b32 %r5, %r5, 4;
  add.u32 %r5, %r2, %r5;
  ld.shared.u32 %r6, [%r5];
  st.global.u32 [%rd3], %r6;
)");
  for (std::uint64_t schedule = 0; schedule < 6; ++schedule) {
    const auto device = open_emulator(small_profile("sm_90a"), 1);
    std::vector<std::uint32_t> words(128);
    std::iota(words.begin(), words.end(), 0U);
    const BufferHandle buffer = device->allocate(words.size() * 4);
    REQUIRE(device->write(buffer, 0, std::as_bytes(std::span(words))));
    const auto loaded = device->load(image(ptx));
    REQUIRE(loaded);
    Launch launch;
    launch.kernel = *loaded;
    launch.config.block = {32, 1, 1};
    launch.arguments = {buffer};
    launch.schedule = schedule;
    const auto outcome = device->launch(launch);
    REQUIRE_MESSAGE(outcome, outcome.error().message);
    REQUIRE(device->read(buffer, 0, std::as_writable_bytes(std::span(words))));
    for (std::uint32_t i = 0; i < 32; ++i) CHECK(words[4 * i] == 4 * ((i + 31) % 32));
  }
}

TEST_CASE("CTAs of a cluster reach each other's shared memory") {
  Hopper hopper(neighbours(kClusterSync), 256);
  hopper.launch.config.grid = {4, 1, 1};
  hopper.launch.config.block = {64, 1, 1};
  for (std::uint64_t schedule = 0; schedule < 6; ++schedule) {
    hopper.launch.schedule = schedule;
    for (const std::uint32_t size : {1U, 2U, 4U}) {
      hopper.launch.config.cluster = {size, 1, 1};
      CHECK(hopper.run() == "");
      const auto words = hopper.words();
      const std::uint32_t sum = size * (size + 1) / 2;
      CHECK(std::all_of(words.begin(), words.end(), [&](std::uint32_t w) { return w == sum; }));
    }
  }
}

TEST_CASE("the shared memory of a CTA that has ended is gone") {
  Hopper hopper(neighbours(""), 256);
  hopper.launch.config.grid = {4, 1, 1};
  hopper.launch.config.block = {64, 1, 1};
  hopper.launch.config.cluster = {4, 1, 1};
  int gone = 0;
  for (std::uint64_t schedule = 0; schedule < 12; ++schedule) {
    hopper.launch.schedule = schedule;
    gone += hopper.run().find("has ended") != std::string::npos ? 1 : 0;
  }
  CHECK(gone > 0);
}

TEST_CASE("a cluster that cannot be is refused, and a missing arrival is named") {
  Hopper hopper(neighbours(kClusterSync), 256);
  hopper.launch.config.block = {64, 1, 1};
  hopper.launch.config.grid = {3, 1, 1};
  hopper.launch.config.cluster = {2, 1, 1};
  CHECK(hopper.run().find("cannot be divided") != std::string::npos);
  hopper.launch.config.grid = {32, 1, 1};
  hopper.launch.config.cluster = {32, 1, 1};
  CHECK(hopper.run().find("allows 16") != std::string::npos);

  Hopper stuck(kernel(".param .u64 out", kRegisters + R"(
  mov.u32 %r1, %cluster_ctarank;
  setp.eq.u32 %p1, %r1, 0;
  barrier.cluster.arrive;
  @%p1 bra DONE;
  barrier.cluster.wait;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ret;
DONE:
  barrier.cluster.wait;
  mov.u32 %r2, %tid.x;
  setp.ge.u32 %p2, %r2, 32;
  @%p2 exit;
  bar.sync 1, 64;
)"),
               32);
  stuck.launch.config.grid = {2, 1, 1};
  stuck.launch.config.block = {64, 1, 1};
  stuck.launch.config.cluster = {2, 1, 1};
  const std::string outcome = stuck.run();
  CHECK(outcome.find("deadlock") == 0);

  Hopper wrong(kernel(".param .u64 out", "barrier.cluster.wait;"), 32);
  wrong.launch.config.block = {32, 1, 1};
  CHECK(wrong.run().find("has not arrived") != std::string::npos);
  Hopper twice(kernel(".param .u64 out", kRegisters + R"(
  mov.u32 %r1, %tid.x;
  setp.lt.u32 %p1, %r1, 32;
  @%p1 bra TWICE;
  bar.sync 0;
TWICE:
  barrier.cluster.arrive;
  barrier.cluster.arrive;)"),
               32);
  twice.launch.config.block = {64, 1, 1};
  CHECK(twice.run().find("twice") != std::string::npos);
}

TEST_CASE("a prediction looks at eight clusters of a launch that is too large to run as a whole") {
  constexpr std::uint32_t kBlocks = 100;
  Hopper bench(kernel(".param .u64 out", kRegisters + R"(
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r3, 0;
LOOP:
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p1, %r3, 100000;
  @%p1 bra LOOP;
  ld.param.u64 %rd1, [out];
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd2, %rd1, %rd2;
  st.global.u32 [%rd2], 1;)"),
               kBlocks);
  bench.launch.config.grid.x = kBlocks;
  bench.launch.config.cluster.x = 2;
  REQUIRE(bench.device->time(bench.launch, {}));
  CHECK(std::ranges::count(bench.words(), 1U) == 2 * 8);
}

}  // namespace fa_tune::test
