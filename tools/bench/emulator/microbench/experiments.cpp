#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "engine/util/random.hpp"
#include "tools/bench/emulator/microbench/microbench.hpp"

namespace fa_tune::bench {
namespace {

constexpr int kSteps = 128;  // a round of the loop: the loop itself is 2% of it
constexpr std::uint32_t kShared = 48 * 1024;

// Indices of a ring through `count` words `stride` apart, in random order.
std::vector<std::uint32_t> ring(std::uint32_t count, std::uint32_t stride) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  Random random(1);
  for (std::uint32_t i = count - 1; i > 1; --i)
    std::swap(order[i], order[1 + random.below(i)]);  // the first stays: there it starts
  std::vector<std::uint32_t> words(std::size_t{count} * stride);
  for (std::uint32_t i = 0; i < count; ++i)
    words[std::size_t{order[i]} * stride] = order[(i + 1) % count] * stride;
  return words;
}

}  // namespace

Json measure_instructions(Lab& lab) {
  Json rows = Json::object();
  fmt::print("{:<20} {:>8} {:>12}   {}\n", "instruction", "latency", "alone",
             "a clock and SM, with 4, 8, 16, 32 warps");
  for (const Instruction& each : instructions()) {
    const int rounds = 64;
    const auto per_warp = static_cast<double>(rounds * kSteps * each.per_step);
    const std::string dependent = chain_source(each, 1, kSteps);
    const std::string independent = chain_source(each, 8, kSteps / 8);
    const std::string some = chain_source(each, 4, kSteps / 4);
    const double latency = lab.clocks(dependent, {1, 32, kShared, rounds}) / per_warp;
    const double alone = lab.clocks(independent, {1, 32, kShared, rounds}) / per_warp;
    Json rates = Json::object();
    for (const std::uint32_t warps : {4U, 8U, 16U, 32U}) {
      const double clocks =
          lab.clocks(warps < 16 ? independent : some, {1, warps * 32, kShared, rounds});
      rates[std::to_string(warps)] = thousandths(warps * per_warp / clocks);
    }
    rows[each.name] = {{"latency", thousandths(latency)},
                       {"clocks_alone", thousandths(alone)},
                       {"per_clock_sm", rates}};
    fmt::print("{:<15} {:>8.2f} {:>12.3f}   {}\n", each.name, latency, alone, rates.dump());
  }
  Json barrier = Json::object();
  for (const std::uint32_t warps : {1U, 2U, 4U, 8U, 16U, 32U})
    barrier[std::to_string(warps)] =
        thousandths(lab.clocks(barrier_source(), {1, warps * 32, 0, 1024}) / 1024);
  fmt::print("bar.sync, clocks with so many warps: {}\n", barrier.dump());
  return {
      {"instructions", rows}, {"barrier", barrier}, {"clock_mhz", thousandths(lab.clock_mhz())}};
}

Json measure_memory(Lab& lab, int sms) {
  Json result = Json::object();
  const auto print = [&](const char* name, double value) {
    result[name] = thousandths(value);
    fmt::print("{:<40} {:>10.2f}\n", name, value);
  };
  lab.fill(ring(16384, 64));  // 4 MB
  print("l2_latency_clocks", lab.clocks(chase_source(), {1, 32, 0, -16384}) / 16384);
  lab.fill(ring(1U << 21, 64));  // 512 MB, of which a round touches four times what L2 holds
  const int far = 1 << 20;
  print("dram_latency_clocks", lab.clocks(chase_source(), {1, 32, 0, far}) / far);

  // 2^24 bytes stay in L2; 2^29 do not.
  const auto all = static_cast<std::uint32_t>(sms);
  const double round_bytes = 16384;
  for (const std::uint32_t warps : {4U, 8U, 16U, 32U}) {
    const double one = lab.clocks(stream_source(), {1, warps * 32, 0, (24 << 24) + 64});
    print(fmt::format("l2_bytes_per_clock_one_sm_{}_warps", warps).c_str(),
          64 * round_bytes * warps / one);
    const double each = lab.clocks(stream_source(), {all, warps * 32, 0, (24 << 24) + 64});
    print(fmt::format("l2_bytes_per_clock_sm_all_{}_warps", warps).c_str(),
          64 * round_bytes * warps / each);
  }
  const double us = lab.microseconds(stream_source(), {2 * all, 1024, 0, (29 << 24) + 62});
  print("dram_gb_per_s", 62 * round_bytes * 2 * sms * 32 / us / 1e3);

  Json waits = Json::object();
  for (const int copies : {1, 2, 4, 8, 16, -8, -16}) {
    // Below zero: with rows padded by 16 bytes.
    const int pitch = copies < 0 ? 144 : 128;
    const auto each = static_cast<std::uint32_t>(std::abs(copies));
    const std::string source = async_source(static_cast<int>(each), pitch);
    Json row = Json::object();
    for (const std::uint32_t threads : {64U, 128U, 256U}) {
      if (threads / 8 * each * static_cast<std::uint32_t>(pitch) > kShared) continue;
      row[fmt::format("{}_threads_one_sm", threads)] =
          thousandths(lab.clocks(source, {1, threads, kShared, 256}) / 256);
      row[fmt::format("{}_threads_all_sms", threads)] =
          thousandths(lab.clocks(source, {all, threads, kShared, 256}) / 256);
    }
    waits[fmt::format("{}{}", each, pitch > 128 ? " padded" : "")] = row;
    fmt::print("cp.async, {} a thread, rows {} bytes apart, wait and barrier, clocks: {}\n", each,
               pitch, row.dump());
  }
  result["async_wait"] = waits;
  return result;
}

Json measure_launches(Lab& lab, int sms) {
  Json result = Json::object();
  // What the end of a kernel waits for, and the start of clusters.
  Json ends = Json::object();
  for (const std::uint32_t blocks :
       {1U, static_cast<std::uint32_t>(sms) / 2, static_cast<std::uint32_t>(sms)}) {
    const auto us = [&](const std::string& source, std::uint32_t cluster) {
      Lab::Shape shape = {.blocks = blocks, .threads = 384};
      shape.cluster = cluster;
      return thousandths(lab.microseconds(source, shape));
    };
    ends[std::to_string(blocks)] = {{"empty", us(empty_source(), 1)},
                                    {"stores_16_bytes_a_thread", us(storing_source(), 1)}};
    if (blocks % 2 == 0)
      ends[std::to_string(blocks)]["empty_in_clusters_of_2"] = us(empty_source(), 2);
  }
  result["384_threads_by_blocks"] = ends;
  fmt::print("kernels of 384 threads, us by blocks: {}\n", ends.dump());
  const auto all = static_cast<std::uint32_t>(sms);
  for (const std::uint32_t threads : {32U, 128U, 256U, 1024U}) {
    for (const std::uint32_t shared : {0U, 40U * 1024}) {
      Json row = Json::object();
      for (const std::uint32_t blocks : {1U, all / 2, all, 2 * all, 8 * all, 64 * all})
        row[std::to_string(blocks)] =
            thousandths(lab.microseconds(empty_source(), {blocks, threads, shared, 0}));
      result[fmt::format("{}_threads_{}_bytes", threads, shared)] = row;
      fmt::print("empty kernel, {} threads, {} bytes of shared memory, us by blocks: {}\n", threads,
                 shared, row.dump());
    }
  }
  return result;
}

}  // namespace fa_tune::bench
