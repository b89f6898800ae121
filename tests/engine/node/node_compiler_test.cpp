// The compilers of a node behind a connection, with the node's end in threads of this process.
#include "engine/node/node_compiler.hpp"

#include <atomic>
#include <future>
#include <latch>
#include <limits>
#include <thread>

#include "engine/kernel/compile/compiler_group.hpp"
#include "engine/node/compile_lane.hpp"
#include "engine/util/error.hpp"
#include "engine/util/stopwatch.hpp"
#include "engine/worker/remote_compiler.hpp"
#include "tests/engine/node/nodes.hpp"
#include "tests/engine/node/pairs.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::kernel;
using namespace fa_tune::node;
using namespace std::chrono_literals;

namespace {

CompileRequest cuda(const std::string& text) { return {{text, "kernel", ""}, "sm_89", {}, {}}; }

node::message::Hello compilers_hello(std::uint32_t jobs) {
  node::message::Hello hello{"build", "n1", "", node::message::Role::compilers};
  hello.jobs = jobs;
  hello.compiler = "bad 1";
  return hello;
}

// The test's own worker, whose sources say what becomes of it.
std::unique_ptr<Compiler> bad_compiler() {
  worker::RemoteCompilerOptions options{bad_worker({"--compile"})};
  options.deadline = 1000ms;
  return worker::open_remote_compiler(options);
}

// A node's end that compiles, and the engine's end of it.
class CompilingNode {
 public:
  explicit CompilingNode(int jobs, std::unique_ptr<Compiler> compiler = bad_compiler(),
                         node::Patience patience = short_patience())
      : compiler_(std::move(compiler)), lane_(*compiler_, jobs, patience) {
    auto [engine, node] = links();
    engine_ = engine;
    thread_ = std::jthread([this, node] { end_ = lane_.serve(node); });
    REQUIRE(engine_->send(node::message::encode(node::message::Welcome{}), 1s).has_value());
    here_ = std::make_shared<NodeCompiler>(engine_, compilers_hello(static_cast<unsigned>(jobs)),
                                           patience, [this] { gone_.set_value(); });
  }
  ~CompilingNode() { engine_->cut(); }
  CompilingNode(const CompilingNode&) = delete;
  CompilingNode& operator=(const CompilingNode&) = delete;

  const std::shared_ptr<NodeCompiler>& here() { return here_; }
  Link& link() { return *engine_; }
  std::string why_gone() {
    gone_.get_future().get();
    return here_->lost_because();
  }
  Lane::End end() {
    thread_.join();
    return end_;
  }

 private:
  std::unique_ptr<Compiler> compiler_;
  CompileLane lane_;
  std::shared_ptr<Link> engine_;
  std::promise<void> gone_;
  std::shared_ptr<NodeCompiler> here_;
  Lane::End end_;
  std::jthread thread_;
};

// Compiles as it is told.
class ToldCompiler final : public Compiler {
 public:
  explicit ToldCompiler(std::function<CompileOutcome(const CompileRequest&)> how)
      : how_(std::move(how)) {}
  CompileOutcome compile(const CompileRequest& request) override { return how_(request); }
  std::string version() const override { return "told 1"; }

 private:
  std::function<CompileOutcome(const CompileRequest&)> how_;
};

// What a NodeCompiler makes of a node that answers a Compile with these bytes.
std::string gone_after(const std::function<std::string(std::uint64_t number)>& answer) {
  auto [engine, node] = links();
  std::jthread stranger([&other = *node, &answer] {
    const auto asked = wait_for_message(other, 5s, 5s);
    if (asked) (void)other.send(answer(std::get<node::message::Compile>(*asked).number), 1s);
    (void)other.wait(3s, 3s);
  });
  NodeCompiler compiler(engine, compilers_hello(1), short_patience(), [] {});
  try {
    return compiler.compile(cuda("a")) ? "compiled" : "failed";
  } catch (const CompilerGone& gone) {
    return gone.what();
  }
}

}  // namespace

TEST_CASE("the compilers of a node compile, several sources at a time") {
  CompilingNode node(3);
  CHECK(node.here()->version() == "bad 1");
  std::vector<std::future<CompileOutcome>> outcomes;
  for (int i = 0; i < 12; ++i)
    outcomes.push_back(std::async(std::launch::async, [&node, i] {
      return node.here()->compile(cuda("source " + std::to_string(i)));
    }));
  for (int i = 0; i < 12; ++i) {
    const CompileOutcome outcome = outcomes[static_cast<std::size_t>(i)].get();
    REQUIRE(outcome.has_value());
    CHECK(outcome->image.bytes == "source " + std::to_string(i));
  }
  std::latch all(3);
  CompilingNode together(3, std::make_unique<ToldCompiler>([&all](const CompileRequest&) {
                           all.arrive_and_wait();
                           return Compiled{};
                         }));
  for (int i = 0; i < 3; ++i)
    outcomes[static_cast<std::size_t>(i)] =
        std::async(std::launch::async, [&together] { return together.here()->compile(cuda("a")); });
  for (int i = 0; i < 3; ++i) CHECK(outcomes[static_cast<std::size_t>(i)].get().has_value());
  // In workers of the node.
  CHECK(node.here()->compile(cuda("a"))->code_hash != std::to_string(getpid()));
  REQUIRE(node.link().send(node::message::encode(node::message::Over{"done"}), 1s).has_value());
  const Lane::End end = node.end();
  CHECK(end.how == Lane::End::How::over);
  CHECK(end.why == "done");
}

TEST_CASE("a source that ends a compiler of a node is told as here, and others go on") {
  const WorkerMemory memory;
  CompilingNode node(2);
  for (const char* const text : {"segfault", "hang", "exit", "garbage"}) {
    CAPTURE(text);
    const CompileOutcome outcome = node.here()->compile(cuda(text));
    REQUIRE_FALSE(outcome.has_value());
    CHECK_FALSE(outcome.error().lasting);
    CHECK(has(outcome.error().message, "the compiler ended over it, twice: "));
  }
  CHECK(node.here()->compile(cuda("segfault_once")).has_value());
  CHECK(node.here()->compile(cuda("good")).has_value());
  // What no frame holds is the source's fault, and never comes to the node.
  const CompileOutcome large = node.here()->compile(cuda(std::string(std::size_t{40} << 20, ' ')));
  REQUIRE_FALSE(large.has_value());
  CHECK(large.error().lasting);
  CHECK(has(large.error().message, "a compiler takes at most"));
  CHECK(node.here()->compile(cuda("good")).has_value());
}

TEST_CASE("what a compiler makes that no frame holds fails, and the node goes on") {
  CompilingNode node(1, std::make_unique<ToldCompiler>([](const CompileRequest& request) {
                       Compiled compiled;
                       compiled.image.bytes = request.source.text == "huge"
                                                  ? std::string(worker::kMostPayload, 'x')
                                                  : std::string("small");
                       return compiled;
                     }));
  const CompileOutcome huge = node.here()->compile(cuda("huge"));
  REQUIRE_FALSE(huge.has_value());
  CHECK_FALSE(huge.error().lasting);
  CHECK(node.here()->compile(cuda("other"))->image.bytes == "small");
}

TEST_CASE("what a lost node was compiling goes to another compiler, and counts once") {
  const WorkerMemory memory;
  std::atomic<int> compiled_there{0};
  CompilingNode lost(2);
  CompilingNode stays(1, std::make_unique<ToldCompiler>([&](const CompileRequest& request) {
                        ++compiled_there;
                        Compiled compiled;
                        compiled.image.bytes = "there: " + request.source.text;
                        return compiled;
                      }));
  CompilerGroup group({});
  REQUIRE(group.add(lost.here(), 2).has_value());
  REQUIRE(group.add(stays.here(), 1).has_value());
  // It hangs on the first, whose worker has a second for it.
  auto under_way = std::async(std::launch::async, [&] { return group.compile(cuda("hang")); });
  std::this_thread::sleep_for(200ms);
  lost.link().cut();
  CHECK(has(lost.why_gone(), "the compilers of node n1 are gone: "));
  const CompileOutcome outcome = under_way.get();
  REQUIRE(outcome.has_value());
  CHECK(outcome->image.bytes == "there: hang");
  CHECK(compiled_there == 1);
  CHECK(group.size() == 1);
  CHECK_THROWS_AS((void)lost.here()->compile(cuda("more")), CompilerGone);
  CHECK(lost.end().how == Lane::End::How::lost);
}

TEST_CASE("a node whose compilers do not start any more says so and ends") {
  CompilingNode node(1, std::make_unique<ToldCompiler>([](const CompileRequest&) -> CompileOutcome {
                       throw MachineError("no process can be started");
                     }));
  CHECK_THROWS_WITH_AS(
      (void)node.here()->compile(cuda("a")),
      "the compilers of node n1 are gone: it compiles no more: no process can be started",
      CompilerGone);
  const Lane::End end = node.end();
  CHECK(end.how == Lane::End::How::failed);
  CHECK(end.why == "no process can be started");
}

TEST_CASE("a node that is long at a source is waited for, one that has stopped is not") {
  node::Patience patience = short_patience();
  CompilingNode slow(1, std::make_unique<ToldCompiler>([](const CompileRequest&) {
                       std::this_thread::sleep_for(3000ms);
                       return Compiled{};
                     }),
                     patience);
  CHECK(slow.here()->compile(cuda("a")).has_value());

  // It says that it lives, for ever.
  patience.compile = 300ms;
  CompilingNode endless(1, std::make_unique<ToldCompiler>([](const CompileRequest&) {
                          std::this_thread::sleep_for(1000ms);
                          return Compiled{};
                        }),
                        patience);
  CHECK_THROWS_WITH_AS((void)endless.here()->compile(cuda("a")),
                       doctest::Contains("no answer in 300 ms"), CompilerGone);

  const Stopwatch watch;
  CHECK(
      has(gone_after([](std::uint64_t) { return std::string(); }), "it says nothing for 2000 ms"));
  CHECK(watch.milliseconds() > 1900);
}

TEST_CASE("what no compiler says ends it") {
  using namespace node::message;
  CHECK(gone_after([](std::uint64_t number) {
          return encode(CompileDone{number, Compiled{}});
        }) == "compiled");
  CHECK(has(gone_after([](std::uint64_t number) {
              return encode(CompileDone{number + 1, Compiled{}});
            }),
            "it answered what it was not asked"));
  for (const double milliseconds : {-1.0, 1e300, std::numeric_limits<double>::quiet_NaN()})
    CHECK(has(gone_after([&](std::uint64_t number) {
                Compiled compiled;
                compiled.milliseconds = milliseconds;
                return encode(CompileDone{number, compiled});
              }),
              "a time of compiling that is none"));
  CHECK(has(gone_after([](std::uint64_t number) {
              Compiled compiled;
              compiled.image.more.emplace_back();
              return encode(CompileDone{number, compiled});
            }),
            "other kernels than it was asked for"));
  CHECK(has(gone_after([](std::uint64_t) { return encode(Welcome{}); }),
            "it said what compilers do not say"));
  CHECK(has(gone_after([](std::uint64_t) { return std::string("GET / HTTP/1.1\r\n\r\n"); }),
            "what is no frame"));
  CHECK(has(gone_after([](std::uint64_t) { return worker::encode_frame(0x777, ""); }), "of kind"));
  CHECK(has(gone_after([](std::uint64_t) {
              return std::string("fatw\x07\x02\x00\x00\x00\x00\x00\x80", 12);
            }),
            "2147483648 bytes"));

  CompilingNode node(1);
  (void)node.link().send(worker::message::encode(worker::message::Energy{}), 1s);
  CHECK(node.end().why == "it asked compilers what devices are asked");
  CompilingNode other(1);
  (void)other.link().send(encode(Begin{}), 1s);
  CHECK(other.end().why == "it said what is not for compilers");
}

}  // namespace fa_tune::test
