#pragma once

#include <expected>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/kernel_image.hpp"
#include "engine/kernel/template.hpp"

namespace fa_tune {

struct CompileRequest {
  Source source;
  std::string arch;  // "sm_89"
  BinaryKind kind = BinaryKind::cubin;
  std::vector<std::string> options;  // beyond those the compiler always gives
};

struct Compiled {
  KernelImage image;  // resources as ptxas reports them, for PTX too
  std::vector<std::string> warnings;
  double milliseconds = 0;  // spent in the compiler now; 0 if from the cache
  bool from_cache = false;
  // Equal for two variants whose machine code is equal: SHA-256 of the kernel's .text section, or
  // of the PTX without comments and blank lines.
  std::string code_hash;
};

// The compiler refused the source, or died or ran too long over it.
struct CompileFailure {
  std::string message;  // the first error, one line, with its line in the source
  std::string log;      // everything it said, at most 64 KiB
};

using CompileOutcome = std::expected<Compiled, CompileFailure>;

// Turns sources into images. Thread-safe.
class Compiler {
 public:
  virtual ~Compiler() = default;
  virtual CompileOutcome compile(const CompileRequest& request) = 0;
  // "NVRTC 13.0": part of every cache key and of a run's record.
  virtual std::string version() const = 0;
};

// NVRTC in this process, opened at run time. Looks at FA_TUNE_NVRTC (a file), then beside the
// program (../lib), the loader's path, /usr/local/cuda*/lib64, and the local environment that
// tools/fa-tune sets up. Throws MachineError that lists where it looked.
std::unique_ptr<Compiler> open_nvrtc();

// Remembers outcomes, failures too, on disk under `folder` by SHA-256 of (source, arch, kind,
// options, version). Entries are written whole and checked when read; a damaged one is compiled anew.
std::unique_ptr<Compiler> with_cache(std::unique_ptr<Compiler> inner,
                                     const std::filesystem::path& folder);

// Compiles on `threads` threads, in the order asked. Its destructor drops what has not begun and
// waits for what has.
class CompilePool {
 public:
  CompilePool(Compiler& compiler, int threads);
  ~CompilePool();
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;

  std::future<CompileOutcome> submit(CompileRequest request);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fa_tune
