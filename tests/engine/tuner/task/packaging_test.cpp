// What is exported as machine code is what was gated.

#include "engine/tuner/task/packaging.hpp"

#include <doctest/doctest.h>

#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/util/error.hpp"
#include "tests/engine/problem/custom/custom_space.hpp"
#include "tests/engine/problem/custom/one_trial.hpp"

namespace fa_tune::test {

using namespace fa_tune::kernel;
using namespace fa_tune::tuner;

namespace {

// Another release, which makes other code of the same source.
class LaterCompiler final : public Compiler {
 public:
  std::string version() const override { return "NVRTC 99.0"; }
  CompileOutcome compile(const CompileRequest& request) override {
    CompileOutcome outcome = inner_->compile(request);
    if (outcome && other_code) outcome->code_hash = "other";
    return outcome;
  }

  bool other_code = true;

 private:
  std::unique_ptr<Compiler> inner_ = open_nvrtc();
};

}  // namespace

TEST_CASE("packaging: a compiler that makes other code of a trial than was gated is refused") {
  const test::CustomSpace place;
  test::OneTrial one(place.task());
  const std::int64_t trial = one.store.trial(one.run, 1)->id;

  for (const BinaryKind kind : {BinaryKind::cubin, BinaryKind::ptx}) {
    Packager same(cached_nvrtc(), kind, test::root(), "1");
    same.add_trial(one.store, trial);
    CHECK(same.package().calls.size() == 1);

    LaterCompiler later;
    Packager other(later, kind, test::root(), "1");
    const std::string said =
        test::message_of<UserError>([&] { other.add_trial(one.store, trial); });
    CHECK_MESSAGE(
        test::has(said, "NVRTC 99.0 makes other code of it than " + cached_nvrtc().version()),
        said);
    CHECK_MESSAGE(test::has(said, "fa-tune verify"), said);

    // The same code by a later release is what was gated.
    later.other_code = false;
    other.add_trial(one.store, trial);
    CHECK(other.package().calls.size() == 1);
  }
}

}  // namespace fa_tune::test
