#pragma once

#include <expected>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "engine/kernel/template/template.hpp"
#include "engine/model/kernel_image.hpp"

namespace fa_tune::kernel {

struct CompileRequest {
  Source source;
  std::string arch;  // "sm_89"
  BinaryKind kind = BinaryKind::cubin;
  std::vector<std::string> options;  // beyond those the compiler always gives
};

struct Compiled {
  KernelImage image;                  // resources as ptxas reports them, for PTX too
  std::vector<std::string> warnings;  // ptxas's, and that of global_state_check.hpp
  double milliseconds = 0;            // spent in the compiler now; 0 if from the cache
  bool from_cache = false;
  // Equal for two variants whose machine code is equal: SHA-256 of the kernel's .text section with
  // the constants it reads and its static shared size, or of the PTX without comments and blank
  // lines. Of several kernels SHA-256 of theirs. Says nothing of how the kernels are launched.
  std::string code_hash;
};

// The compiler refused the source, or died or ran too long over it.
struct CompileFailure {
  std::string message;  // the first error, one line, with its line in the source
  std::string log;      // everything it said, at most 64 KiB
  // The same request will fail again. False where another try may do better (no memory, a time
  // limit, a compiler that died): such a failure is not remembered.
  bool lasting = true;
};

using CompileOutcome = std::expected<Compiled, CompileFailure>;

// Turns sources into images. Thread-safe.
class Compiler {
 public:
  virtual ~Compiler() = default;
  virtual CompileOutcome compile(const CompileRequest& request) = 0;
  // "NVRTC 13.0.88": part of every cache key and of a run's record.
  virtual std::string version() const = 0;
  // A digest of the toolkit's headers that sources may include; empty where there are none. With
  // the version it says whether two compilers make the same of a source.
  virtual std::string headers() const { return {}; }
  // Calls that still wait for their turn are not wanted any more: they throw Interrupted.
  virtual void cancel_waiting() {}
};

// Remembers outcomes, failures too, on disk under `folder` by SHA-256 of (source, arch, kind,
// options, version). Of equal requests at the same time the first alone is compiled. Entries are
// written whole and checked when read; a damaged one is compiled anew. Several processes may share a
// folder. A folder that cannot be written costs time, not the outcome: it is said once on standard
// error.
std::unique_ptr<Compiler> with_cache(std::shared_ptr<Compiler> inner,
                                     const std::filesystem::path& folder);

// Compiles on at most `threads` threads (or one), which are begun as they are needed, in the order
// asked. Its destructor drops what has not begun, whose futures then throw std::future_error (broken
// promise), and waits for what has. What a compiler throws comes out of the future. The compiler
// must outlive the pool.
class CompilePool {
 public:
  // `finished` is called, on the pool's threads, whenever a future has become ready.
  CompilePool(Compiler& compiler, int threads, std::function<void()> finished = {});
  ~CompilePool();
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;

  std::future<CompileOutcome> submit(CompileRequest request);
  // What has not begun is not wanted any more, as by the destructor; nor is what the compiler has
  // not begun (Compiler::cancel_waiting).
  void cancel_waiting();
  // At most this many threads from now on, if it is more than before. From any thread.
  void grow(int threads);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fa_tune::kernel
