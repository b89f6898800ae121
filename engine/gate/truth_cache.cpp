#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <unordered_map>

#include "engine/gate/gate.hpp"
#include "engine/problem/reference.hpp"
#include "engine/util/bytes.hpp"
#include "engine/util/log.hpp"
#include "engine/util/memory.hpp"
#include "engine/util/parallel.hpp"
#include "engine/util/random.hpp"
#include "engine/util/stopwatch.hpp"

namespace fa_tune::gate {
namespace {

using EntryPtr = std::shared_ptr<const TruthCache::Entry>;

std::string key_of(const GateCase& gate_case) {
  std::string key = to_json(gate_case.shape) + " " + to_text(gate_case.inputs) + " " +
                    std::to_string(gate_case.seed);
  if (gate_case.changed_input)
    key += (gate_case.few_elements ? " few of " : " changed ") +
           std::to_string(*gate_case.changed_input);
  return key;
}

// At random places of a tensor the elements of another of its type and size.
void take_elements(problem::Tensor& tensor, const problem::Tensor& other, std::size_t count,
                   std::uint64_t seed) {
  const std::size_t size = size_of(tensor.type);
  Random random(seed);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = size * random.below(static_cast<std::uint64_t>(tensor.elements()));
    copy_bytes(std::span(other.bytes).subspan(at, size), std::span(tensor.bytes).subspan(at));
  }
}

// One input of the entry's instance, or a few elements of it, with the contents that another seed
// gives it.
void change_input(const problem::Problem& problem, const GateCase& gate_case,
                  TruthCache::Entry& entry) {
  problem::Instance& instance = entry.instance;
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < instance.tensors.size(); ++i)
    if (problem::is_given(instance.tensors[i].role)) inputs.push_back(i);
  if (inputs.empty()) throw std::logic_error("a problem without inputs has none to change");
  const std::size_t chosen = inputs[*gate_case.changed_input % inputs.size()];
  problem::Instance other =
      problem.make(gate_case.shape, gate_case.inputs, derive_seed(gate_case.seed, "changed"));
  entry.changed_tensor = chosen;
  constexpr std::size_t kFew = 4;
  problem::Tensor& tensor = instance.tensors[chosen];
  if (!gate_case.few_elements || tensor.entire || tensor.elements() <= std::int64_t{kFew}) {
    tensor.bytes = std::move(other.tensors[chosen].bytes);
    entry.changed = tensor.name;
    return;
  }
  take_elements(tensor, other.tensors[chosen], kFew,
                derive_seed(gate_case.seed, "changed elements"));
  entry.changed = std::to_string(kFew) + " elements of " + tensor.name;
}

std::size_t bytes_of(const TruthCache::Entry& entry) {
  std::size_t bytes = sizeof entry;
  for (const problem::Tensor& tensor : entry.instance.tensors) bytes += tensor.bytes.capacity();
  for (const problem::Expectation& expectation : entry.expectations) {
    bytes += (expectation.exact.capacity() + expectation.bound.capacity()) * sizeof(double);
    bytes += expectation.equal.capacity();
    const problem::ValueBounds& limits = expectation.limits;
    bytes += (limits.least.capacity() + limits.most.capacity()) * sizeof(float);
    bytes += (limits.range_of_row.capacity() + expectation.rows.capacity()) * sizeof(std::uint32_t);
  }
  return bytes;
}

// How many elements of the output the truth must be of; 0 if limits or rows have a hole in them.
std::size_t elements_to_know(const problem::Tensor& output,
                             const problem::Expectation& expectation) {
  const auto elements = static_cast<std::size_t>(output.elements());
  if (!expectation.sampled()) return elements;
  const problem::ValueBounds& limits = expectation.limits;
  const std::size_t rows = limits.range_of_row.size();
  const bool whole = limits.row_elements > 0 && rows * limits.row_elements == elements &&
                     limits.least.size() == limits.most.size();
  const auto is_row = [rows](std::uint32_t row) { return row < rows; };
  const auto has_range = [&limits](std::uint32_t range) {
    return (range + std::size_t{1}) * limits.row_elements <= limits.least.size();
  };
  if (!whole || !std::ranges::all_of(expectation.rows, is_row) ||
      !std::ranges::all_of(limits.range_of_row, has_range))
    return 0;
  return expectation.rows.size() * limits.row_elements;
}

template <typename Is>
bool all_of_large(const std::vector<double>& values, const Is& is) {
  std::atomic<bool> all = true;
  in_pieces(values.size(), [&](std::size_t first, std::size_t end) {
    if (!std::all_of(values.begin() + static_cast<std::ptrdiff_t>(first),
                     values.begin() + static_cast<std::ptrdiff_t>(end), is))
      all = false;
  });
  return all;
}

// A truth with a hole in it would let anything pass, so it is a mistake of the engine, not a
// finding.
void require_sound(const TruthCache::Entry& entry, const std::string& key) {
  for (const problem::Tensor& tensor : entry.instance.tensors) {
    if (!problem::is_result(tensor.role)) continue;
    const auto found =
        std::ranges::find(entry.expectations, tensor.name, &problem::Expectation::tensor);
    if (found != entry.expectations.end() && !found->equal.empty() && found->exact.empty() &&
        found->equal.size() == static_cast<std::size_t>(tensor.elements()) * size_of(tensor.type))
      continue;
    const std::size_t elements =
        found == entry.expectations.end() ? 0 : elements_to_know(tensor, *found);
    if (elements == 0 || found->exact.size() != elements || found->bound.size() != elements)
      throw std::logic_error("no truth for every element of " + tensor.name + " in case " + key);
    const auto is_number = [](double value) { return !std::isnan(value); };
    const auto is_bound = [](double value) { return value >= 0 && std::isfinite(value); };
    if (!all_of_large(found->exact, is_number) || !all_of_large(found->bound, is_bound) ||
        !std::ranges::all_of(found->limits.least, is_number) ||
        !std::ranges::all_of(found->limits.most, is_number) ||
        !is_bound(found->rms_bound.value_or(0)) || !is_bound(found->scaled_rms_bound))
      throw std::logic_error("the truth of " + tensor.name + " is no number in case " + key);
  }
}

}  // namespace

// Entries in the order of their last use, newest first. An entry under way is a future, so that a
// second thread that asks for it waits instead of computing it again.
struct TruthCache::State {
  struct Slot {
    std::string key;
    std::shared_future<EntryPtr> entry;
    std::size_t bytes = 0;  // 0 while under way
  };

  State(const problem::Problem& of, problem::Truth how, std::size_t limit)
      : problem(of), truth(how), max_bytes(limit) {}

  const problem::Problem& problem;
  problem::Truth truth;
  std::size_t max_bytes;
  std::mutex mutex;
  std::list<Slot> slots;
  std::unordered_map<std::string, std::list<Slot>::iterator> by_key;
  std::size_t bytes = 0;

  EntryPtr compute(const GateCase& gate_case, const std::string& key) const {
    const Stopwatch watch;
    auto entry = std::make_shared<Entry>();
    entry->instance = problem.make(gate_case.shape, gate_case.inputs, gate_case.seed);
    if (gate_case.changed_input) change_input(problem, gate_case, *entry);
    const double drawn_ms = watch.milliseconds();
    try {
      entry->expectations = problem.expect(entry->instance, truth);
      require_sound(*entry, key);
    } catch (const problem::NoTruth& none) {
      if (!problem::may_lack_truth(gate_case.inputs)) throw;
      entry->lacks = none.what();
    }
    log_debug("expected results of {}: {:.0f} ms, {:.0f} of them for its inputs", key,
              watch.milliseconds(), drawn_ms);
    return entry;
  }

  void drop(std::list<Slot>::iterator slot) {
    bytes -= slot->bytes;
    by_key.erase(slot->key);
    slots.erase(slot);
  }

  // Drops the longest unused, but never `keep` nor what is under way.
  void make_room(std::list<Slot>::iterator keep) {
    for (auto slot = slots.end(); bytes > max_bytes && slot != slots.begin();) {
      --slot;
      if (slot == keep || slot->bytes == 0) continue;
      const auto victim = slot++;
      drop(victim);
    }
  }
};

std::size_t TruthCache::usual_bytes() {
  constexpr std::uint64_t least = std::uint64_t{3} << 30;
  return std::max(least, usable_memory() / 4);
}

TruthCache::TruthCache(const problem::Problem& problem, problem::Truth truth, std::size_t max_bytes)
    : state_(std::make_unique<State>(problem, truth, max_bytes)) {}

TruthCache::~TruthCache() = default;

const problem::Expectation& TruthCache::Entry::expectation_of(const problem::Tensor& output) const {
  return *std::ranges::find(expectations, output.name, &problem::Expectation::tensor);
}

std::shared_ptr<const TruthCache::Entry> TruthCache::get(const GateCase& gate_case) {
  GateCase unchanged = gate_case;
  unchanged.changed_input.reset();
  return look_up(unchanged);
}

std::shared_ptr<const TruthCache::Entry> TruthCache::get_changed(const GateCase& gate_case) {
  return look_up(gate_case);
}

std::shared_ptr<const TruthCache::Entry> TruthCache::look_up(const GateCase& gate_case) {
  const std::string key = key_of(gate_case);
  std::promise<EntryPtr> promise;
  std::list<State::Slot>::iterator slot;
  {
    std::unique_lock lock(state_->mutex);
    if (const auto found = state_->by_key.find(key); found != state_->by_key.end()) {
      state_->slots.splice(state_->slots.begin(), state_->slots, found->second);
      const auto entry = found->second->entry;
      lock.unlock();
      return entry.get();
    }
    state_->slots.push_front({.key = key, .entry = promise.get_future().share()});
    slot = state_->slots.begin();
    state_->by_key[key] = slot;
  }
  try {
    EntryPtr entry = state_->compute(gate_case, key);
    promise.set_value(entry);
    const std::lock_guard lock(state_->mutex);
    slot->bytes = bytes_of(*entry);
    state_->bytes += slot->bytes;
    state_->make_room(slot);
    return entry;
  } catch (...) {
    promise.set_exception(std::current_exception());
    const std::lock_guard lock(state_->mutex);
    state_->drop(slot);
    throw;
  }
}

}  // namespace fa_tune::gate
