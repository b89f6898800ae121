// What is exported as machine code is what was gated.

#include "engine/tuner/task/packaging.hpp"

#include <doctest/doctest.h>

#include "engine/device/local/open.hpp"
#include "engine/tuner/evolve.hpp"
#include "engine/util/error.hpp"
#include "tests/engine/problem/custom/custom_space.hpp"
#include "tests/engine/tuner/quiet_listener.hpp"

using namespace fa_tune;

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
  const TuningTask task = place.task();
  const auto device = open_device("emulator:l4", task.target, test::root());
  const auto compiler = open_nvrtc();
  const test::ScratchFolder folder;
  Store store(folder / "fa.db", Store::Mode::write);
  EvolveOptions options;
  options.trials = 1;
  options.finals = false;
  test::QuietListener quiet;
  const std::atomic<bool> stop{false};
  const EvolveResult result = evolve(task, *device, *compiler, store, options, quiet, stop);
  const std::int64_t trial = store.trial(result.run, 1)->id;

  for (const BinaryKind kind : {BinaryKind::cubin, BinaryKind::ptx}) {
    Packager same(*compiler, kind, test::root(), "1");
    same.add_trial(store, trial);
    CHECK(same.package().calls.size() == 1);

    LaterCompiler later;
    Packager other(later, kind, test::root(), "1");
    const std::string said = test::message_of<UserError>([&] { other.add_trial(store, trial); });
    CHECK_MESSAGE(test::has(said, "NVRTC 99.0 makes other code of it than " + compiler->version()),
                  said);
    CHECK_MESSAGE(test::has(said, "fa-tune verify"), said);

    // The same code by a later release is what was gated.
    later.other_code = false;
    other.add_trial(store, trial);
    CHECK(other.package().calls.size() == 1);
  }
}
