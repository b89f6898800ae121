#include "engine/device/profile.hpp"

#include <algorithm>
#include <cctype>
#include <climits>

#include "engine/model/kernel_image.hpp"
#include "engine/util/file.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::device {

namespace {

struct Limit {
  std::string_view key;
  int DeviceProfile::*field;
};

enum class Of { work, time };  // a larger one makes kernels faster, or slower

struct Rate {
  std::string_view key;
  double DeviceProfile::*field;
  Of of = Of::work;
  bool required = true;  // and above zero; else 0 or nothing says that there is none
};

// l2_bytes, which is wider than an int, is the one limit that is not here.
constexpr Limit kLimits[] = {
    {"sms", &DeviceProfile::sms},
    {"max_threads_per_block", &DeviceProfile::max_threads_per_block},
    {"max_threads_per_sm", &DeviceProfile::max_threads_per_sm},
    {"max_blocks_per_sm", &DeviceProfile::max_blocks_per_sm},
    {"registers_per_sm", &DeviceProfile::registers_per_sm},
    {"registers_per_block", &DeviceProfile::registers_per_block},
    {"max_registers_per_thread", &DeviceProfile::max_registers_per_thread},
    {"register_allocation_unit", &DeviceProfile::register_allocation_unit},
    {"shared_per_block", &DeviceProfile::shared_per_block},
    {"shared_per_sm", &DeviceProfile::shared_per_sm},
    {"shared_reserved_per_block", &DeviceProfile::shared_reserved_per_block},
    {"shared_allocation_unit", &DeviceProfile::shared_allocation_unit},
};

constexpr Rate kRates[] = {
    {"clock_mhz", &DeviceProfile::clock_mhz},
    {"clock_loss_at_full_tensor", &DeviceProfile::clock_loss_at_full_tensor, Of::time, false},
    {"clock_load_per_bulk_byte", &DeviceProfile::clock_load_per_bulk_byte, Of::time, false},
    {"clock_load_free", &DeviceProfile::clock_load_free, Of::work, false},
    {"clock_loss_at_full_load", &DeviceProfile::clock_loss_at_full_load, Of::time, false},
    {"dram_gb_per_s", &DeviceProfile::dram_gb_per_s},
    {"l2_bytes_per_clock_sm", &DeviceProfile::l2_bytes_per_clock_sm},
    {"l2_port_bytes_per_clock_sm", &DeviceProfile::l2_port_bytes_per_clock_sm},
    {"l2_hit_gb_per_s", &DeviceProfile::l2_hit_gb_per_s, Of::work, false},
    {"l2_miss_gb_per_s", &DeviceProfile::l2_miss_gb_per_s, Of::work, false},
    {"l2_slices", &DeviceProfile::l2_slices, Of::work, false},
    {"l2_atomic_ns", &DeviceProfile::l2_atomic_ns, Of::time, false},
    {"l2_atomic_real_ns", &DeviceProfile::l2_atomic_real_ns, Of::time, false},
    {"shared_bytes_per_clock_sm", &DeviceProfile::shared_bytes_per_clock_sm},
    {"tensor_f16_flop_per_clock_sm", &DeviceProfile::tensor_f16_flop_per_clock_sm},
    {"wgmma_f16_flop_per_clock_sm", &DeviceProfile::wgmma_f16_flop_per_clock_sm, Of::work, false},
    {"fma_f32_per_clock_sm", &DeviceProfile::fma_f32_per_clock_sm},
    {"fma_f64_per_clock_sm", &DeviceProfile::fma_f64_per_clock_sm, Of::work, false},
    {"alu_int_per_clock_sm", &DeviceProfile::alu_int_per_clock_sm},
    {"special_per_clock_sm", &DeviceProfile::special_per_clock_sm},
    {"half_per_clock_sm", &DeviceProfile::half_per_clock_sm},
    {"convert_per_clock_sm", &DeviceProfile::convert_per_clock_sm},
    {"issue_per_clock_sm", &DeviceProfile::issue_per_clock_sm},
    {"launch_us", &DeviceProfile::launch_us, Of::time},
    {"block_start_clocks", &DeviceProfile::block_start_clocks, Of::time},
    {"arithmetic_latency", &DeviceProfile::arithmetic_latency, Of::time},
    {"special_latency", &DeviceProfile::special_latency, Of::time},
    {"tensor_latency", &DeviceProfile::tensor_latency, Of::time},
    {"shared_latency", &DeviceProfile::shared_latency, Of::time},
    {"l2_latency", &DeviceProfile::l2_latency, Of::time},
    {"dram_latency", &DeviceProfile::dram_latency, Of::time, false},
    {"barrier_latency", &DeviceProfile::barrier_latency, Of::time},
    {"barrier_warp_clocks", &DeviceProfile::barrier_warp_clocks, Of::time},
};

void check_known_keys(const YamlNode& root) {
  std::vector<std::string> known = {"name", "title", "arch", "l2_bytes", "residuals"};
  for (const Limit& limit : kLimits) known.emplace_back(limit.key);
  for (const Rate& rate : kRates) known.emplace_back(rate.key);
  for (const YamlEntry& entry : root.entries("a device profile")) {
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    throw UserError(prefix(entry.key_mark) + "unknown key " + quote_text(entry.key) +
                    " in a device profile" + did_you_mean(entry.key, known));
  }
}

// "sm_" and digits, and a letter as in sm_90a.
bool is_arch(const std::string& text) {
  if (!text.starts_with("sm_") || text.size() < 5) return false;
  const bool letter = text.back() == 'a' || text.back() == 'f';
  return std::all_of(text.begin() + 3, text.end() - (letter ? 1 : 0),
                     [](char c) { return c >= '0' && c <= '9'; });
}

// 1600, or {value: 1600, range: [1200, 2040]} where it is known no better.
void read_rate(const YamlNode& node, const Rate& rate, DeviceProfile& profile) {
  const auto number = [&](const YamlNode& at) {
    const double value = at.number(rate.key);
    if (value < 0 || (rate.required && value == 0))
      at.expected(rate.key, rate.required ? "a number above zero" : "0 or a number above it");
    return value;
  };
  if (!node.is_map()) {
    profile.*rate.field = number(node);
    return;
  }
  node.check_keys(rate.key, {"value", "range"});
  const double value = number(node.at("value"));
  const YamlNode& range = node.at("range");
  const auto& ends = range.items(rate.key);
  if (ends.size() != 2) range.expected(rate.key, "a range such as [1200, 2040]");
  const double low = number(ends[0]), high = number(ends[1]);
  if (!(low <= value && value <= high && low > 0))
    range.expected(rate.key, "a range above zero that holds the value");
  profile.*rate.field = value;
  // Both are members of the base.
  const auto field = static_cast<double emulator::DeviceProfile::*>(rate.field);
  const bool work = rate.of == Of::work;
  profile.ranges.push_back({field, work ? low : high, work ? high : low});
}

DeviceProfile read_profile(const std::filesystem::path& file) {
  const YamlNode root = YamlNode::parse(read_file(file, kYamlFile), file);
  check_known_keys(root);
  DeviceProfile profile;
  profile.name = root.at("name").name("name");
  profile.title = root.at("title").text("title");
  profile.arch = root.at("arch").text("arch");
  if (!is_arch(profile.arch)) root.at("arch").expected("arch", "an architecture such as sm_89");
  for (const Limit& limit : kLimits) {
    // Before compute capability 8.0 nothing is reserved.
    const int least = limit.key == "shared_reserved_per_block" ? 0 : 1;
    profile.*limit.field = static_cast<int>(root.at(limit.key).integer(limit.key, least, INT_MAX));
  }
  profile.l2_bytes = root.at("l2_bytes").integer("l2_bytes", 1, INT64_MAX);
  for (const Rate& rate : kRates) {
    if (rate.required || root.find(rate.key) != nullptr)
      read_rate(root.at(rate.key), rate, profile);
  }
  if (const YamlNode* residuals = root.find("residuals")) {
    const std::string name = residuals->text("residuals");
    // A profile may be a stranger's.
    if (name.empty() || name.find('/') != std::string::npos || !name.ends_with(".json"))
      residuals->expected("residuals", "the name of a .json file that lies beside the profile");
    profile.residuals_file = file.parent_path() / name;
  }
  return profile;
}

// The profiles that lie in search_spaces/devices, by name and in order.
std::vector<std::string> known_profiles(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

DeviceProfile find_profile(const std::string& name, const std::filesystem::path& root) {
  std::error_code error;
  // Only what looks like a path is one: a stray file called 'l4' must not stand in for the L4.
  const bool path = name.find('/') != std::string::npos || name.ends_with(".yaml");
  if (path && std::filesystem::is_regular_file(name, error)) return read_profile(name);
  const std::filesystem::path folder = root / "search_spaces" / "devices";
  const std::vector<std::string> known = known_profiles(folder);
  if (std::find(known.begin(), known.end(), name) != known.end()) {
    return read_profile(folder / (name + ".yaml"));
  }
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  if (list.empty()) list = "none in " + folder.string();
  throw UserError("no device profile " + quote_text(name) + did_you_mean(name, known) +
                  " (known: " + list + "; or give the path of a profile's file)");
}

// Its letters and digits: "NVIDIA", "A100", "SXM4", "40GB".
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// "H100" of "NVIDIA H100 SXM": the first word with a digit.
std::optional<std::string> model_of(const std::string& title) {
  for (const std::string& word : words_of(title))
    if (word.find_first_of("0123456789") != std::string::npos) return word;
  return std::nullopt;
}

}  // namespace

Constants DeviceProfile::facts() const {
  Constants facts;
  for (const Limit& limit : kLimits) {
    facts[std::string(limit.key)] = static_cast<std::int64_t>(this->*limit.field);
  }
  facts["l2_bytes"] = l2_bytes;
  facts["compute_capability"] = static_cast<std::int64_t>(arch_number(arch));
  return facts;
}

DeviceProfile load_profile(const std::string& name, const std::filesystem::path& root) {
  DeviceProfile profile = find_profile(name, root);
  profile.given = name;
  return profile;
}

bool is_of_model(const DeviceProfile& profile, const std::string& device) {
  const std::vector<std::string> words = words_of(device);
  const auto model = model_of(profile.title);
  return model && std::ranges::find(words, *model) != words.end();
}

std::optional<DeviceProfile> profile_of_device(const std::string& device, const std::string& arch,
                                               int sms, const std::filesystem::path& root) {
  std::vector<DeviceProfile> of_arch;
  for (const std::string& name : known_profiles(root / "search_spaces" / "devices")) {
    DeviceProfile profile = load_profile(name, root);
    if (profile.arch == arch) of_arch.push_back(std::move(profile));
  }
  if (of_arch.empty()) return std::nullopt;
  auto found = std::ranges::find_if(
      of_arch, [&](const DeviceProfile& profile) { return is_of_model(profile, device); });
  if (found == of_arch.end()) found = std::ranges::find(of_arch, sms, &DeviceProfile::sms);
  return found == of_arch.end() ? of_arch.front() : *found;
}

}  // namespace fa_tune::device
