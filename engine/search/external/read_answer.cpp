#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "engine/search/external/messages.hpp"
#include "engine/util/error.hpp"
#include "engine/util/json_limits.hpp"
#include "engine/util/printable.hpp"

namespace fa_tune::search {
namespace {

// Not the ordered kind, whose cost grows with the square of the keys: a stranger chooses how many.
using AnswerJson = nlohmann::json;

// Enough for a generation's items and for any lineage; more is no honest answer.
constexpr std::size_t kMostItems = 1000;
constexpr std::size_t kMostParents = 8;
constexpr std::size_t kMostNote = 500;
constexpr std::size_t kMostName = 40;
constexpr std::size_t kMostIgnored = 8;

std::string cite(const std::string& text) { return "'" + printable(text, kLongestQuote) + "'"; }

bool fits(const AnswerJson& number) {
  return !number.is_number_unsigned() ||
         number.get<std::uint64_t>() <=
             static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

// A flat object of scalars, so that making a Config of it cannot fail.
std::string genome_problem(const AnswerJson& genome) {
  if (!genome.is_object()) return "its genome is no object of parameters and values";
  if (genome.size() > kMostItems) return "its genome has too many parameters";
  for (const auto& [name, value] : genome.items()) {
    const bool scalar = value.is_boolean() || value.is_string() || value.is_number();
    if (!scalar || !fits(value))
      return "its " + cite(name) + " is no number of 64 bits, boolean or string";
  }
  return {};
}

std::string read_parents(const AnswerJson& parents, RawItem& item) {
  constexpr const char* kWrong = "its parents are no list of up to 8 trial numbers";
  if (!parents.is_array() || parents.size() > kMostParents) return kWrong;
  for (const AnswerJson& parent : parents) {
    if (!parent.is_number_unsigned()) return kWrong;
    const auto number = parent.get<std::uint64_t>();
    if (std::ranges::find(item.parents, number) != item.parents.end())
      return "it names a parent twice";
    item.parents.push_back(number);
  }
  return {};
}

// All of an item but the genome, parents and note is ignored: a proposer has no say in times and
// verdicts, under whatever name.
RawItem read_item(const AnswerJson& json) {
  RawItem item;
  if (!json.is_object()) {
    item.problem = "it is no object with a genome";
    return item;
  }
  for (const auto& [key, value] : json.items()) {
    if (key == "genome") {
      item.problem = genome_problem(value);
      if (item.problem.empty()) item.genome_json = value.dump();
    } else if (key == "note" && value.is_string()) {
      item.note = printable(value.get_ref<const std::string&>(), kMostNote);
    } else if (key != "parents" && item.ignored.size() < kMostIgnored) {
      item.ignored.push_back(printable(key, kLongestQuote));
    }
    if (!item.problem.empty()) return item;
  }
  if (item.genome_json.empty()) item.problem = "it has no genome";
  const auto parents = json.find("parents");
  if (item.problem.empty() && parents != json.end() && !parents->is_null())
    item.problem = read_parents(*parents, item);
  return item;
}

std::expected<Answer, std::string> read_ready(const AnswerJson& json) {
  Answer answer;
  answer.kind = Answer::Kind::ready;
  const auto name = json.find("name");
  if (name == json.end() || !name->is_string()) return std::unexpected("ready without a name");
  answer.name = name->get<std::string>();
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  if (answer.name.empty() || answer.name.size() > kMostName ||
      !std::ranges::all_of(answer.name, allowed))
    return std::unexpected("the name " + cite(answer.name) +
                           " is not 1 to 40 letters, digits, '_', '-' or '.'");
  return answer;
}

std::expected<Answer, std::string> read_propose(const AnswerJson& json) {
  Answer answer;
  answer.kind = Answer::Kind::propose;
  const auto id = json.find("id");
  if (id != json.end() && id->is_number_unsigned() &&
      id->get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
    answer.id = id->get<int>();
  if (!answer.id) return std::unexpected("propose without the id of an ask");
  const auto items = json.find("items");
  if (items == json.end() || !items->is_array())
    return std::unexpected("propose without a list of items");
  if (items->size() > kMostItems)
    return std::unexpected("propose with " + std::to_string(items->size()) +
                           " items, the most are " + std::to_string(kMostItems));
  for (const AnswerJson& item : *items) answer.items.push_back(read_item(item));
  return answer;
}

}  // namespace

std::expected<Answer, std::string> read_answer(std::string_view line) {
  if (const auto excess = json_excess(line))
    return std::unexpected("the line cannot be read: " + *excess);
  const AnswerJson json = AnswerJson::parse(line, nullptr, false);
  if (json.is_discarded()) return std::unexpected("the line is no JSON");
  if (!json.is_object()) return std::unexpected("the line is no JSON object");
  const auto type = json.find("type");
  if (type == json.end() || !type->is_string()) return std::unexpected("the line has no type");
  const auto& text = type->get_ref<const std::string&>();
  if (text == "ready") return read_ready(json);
  if (text == "propose") return read_propose(json);
  return std::unexpected("expected ready or propose, not " + cite(text));
}

namespace {

// Whether the parameter cannot exist beside the earlier ones that `config` holds. Where its `when`
// mentions a derived value the answer is no, and the space has the last word.
bool is_absent(const space::Parameter& parameter, const Config& config,
               const space::SpaceParts& parts) {
  if (!parameter.when) return false;
  const auto look_up = [&](const std::string& name) -> const Value* {
    if (const Value* value = config.find(name)) return value;
    const auto constant = parts.constants.find(name);
    return constant == parts.constants.end() ? nullptr : &constant->second;
  };
  for (const std::string& name : parameter.when->names())
    if (look_up(name) == nullptr)
      return std::ranges::find(parts.parameters, name, &space::Parameter::name) !=
             parts.parameters.end();
  return !parameter.when->evaluate_bool(look_up);
}

}  // namespace

std::expected<Config, std::string> read_genome(const space::Space& space, const std::string& json) {
  const space::SpaceParts& parts = space.parts();
  try {
    const Config given = Config::from_json(json);
    Config config;
    for (const space::Parameter& parameter : parts.parameters)
      if (const Value* value = given.find(parameter.name))
        if (!is_absent(parameter, config, parts)) config.set(parameter.name, *value);
    // Names that the space does not know are left in, for it to complain of.
    for (const auto& [name, value] : given.settings())
      if (std::ranges::find(parts.parameters, name, &space::Parameter::name) ==
          parts.parameters.end())
        config.set(name, value);
    if (const auto problem = space.why_invalid(config)) return std::unexpected(*problem);
    return config;
  } catch (const UserError& error) {
    return std::unexpected(error.what());
  }
}

}  // namespace fa_tune::search
