#include "tests/fuzz/try_proposal.hpp"

#include <stdexcept>

#include "engine/search/external/messages.hpp"

namespace fa_tune::test {

using namespace fa_tune::expression;
using namespace fa_tune::search;
using namespace fa_tune::space;
namespace {

Space mixed() {
  SpaceParts parts;
  parts.name = "mixed";
  parts.parameters.push_back({"kind", {Value("a"), Value("b")}, {}, {}});
  parts.parameters.push_back({"N", {Value(8), Value(16), Value(32)}, {}, {}});
  parts.parameters.push_back({"FLAG", {Value(true), Value(false)}, {}, {}});
  parts.parameters.push_back({"RATE", {Value(0.5), Value(2.0)}, {}, {}});
  parts.parameters.push_back({"DEEP", {Value(1), Value(2)}, Expression::parse("kind == 'b'"), {}});
  parts.constraints.push_back({Expression::parse("DEEP * N >= 16"), "", ""});
  return Space::build(std::move(parts));
}

std::string try_item(const Space& space, const RawItem& item) {
  if (!item.problem.empty()) return item.problem;
  const auto config = read_genome(space, item.genome_json);
  if (!config) return config.error();
  const auto again = read_genome(space, config->to_json());
  if (space.why_invalid(*config) || !again || *again != *config)
    throw std::logic_error("this was taken: " + config->to_json());
  return "valid";
}

}  // namespace

std::string try_proposal(std::string_view line) {
  static const Space space = mixed();
  const auto answer = read_answer(line);
  if (!answer) return answer.error();
  if (answer->kind == Answer::Kind::ready) return "ready";
  std::string outcome = "propose";
  for (const RawItem& item : answer->items) outcome += "; " + try_item(space, item);
  return outcome;
}

}  // namespace fa_tune::test
