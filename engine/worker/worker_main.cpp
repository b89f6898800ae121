#include "engine/worker/worker_main.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <new>
#include <stdexcept>

#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/util/error.hpp"
#include "engine/worker/sandbox.hpp"

namespace fa_tune::worker {
namespace {

// Compilers take every core that there is. What gates and times kernels is not to wait for one.
constexpr int kNiceOfCompilers = 10;
// Memory that one compile gave back is the next one's, and not the kernel's to clear again: 280 page
// faults a compile of attention in place of 3,000.
constexpr int kKeptBytes = 512 << 20;
constexpr int kLargestFromHeap = 32 << 20;  // the most that glibc allows

void yield_to_devices() {
  setpriority(PRIO_PROCESS, 0, kNiceOfCompilers);
  mallopt(M_TRIM_THRESHOLD, kKeptBytes);
  mallopt(M_MMAP_THRESHOLD, kLargestFromHeap);
}

}  // namespace

WorkerEnd::WorkerEnd(pid_t parent) {
  if (parent != 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // It may have ended before that.
    if (getppid() != parent) _exit(1);
  }
  prctl(PR_SET_NAME, "fa-tune worker");
  std::signal(SIGPIPE, SIG_IGN);
  // A file that grows beyond its limit is an error of whoever writes it, not the end of the worker.
  std::signal(SIGXFSZ, SIG_IGN);
  out_ = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
}

void WorkerEnd::send(const message::Answer& answer) {
  const std::string frame = encode(answer);
  std::string_view left = frame;
  while (!left.empty()) {
    const ssize_t wrote = write(out_, left.data(), left.size());
    if (wrote > 0)
      left.remove_prefix(static_cast<std::size_t>(wrote));
    else if (errno != EINTR)
      _exit(1);  // nobody listens any more
  }
}

std::optional<message::Request> WorkerEnd::receive() {
  for (;;) {
    auto frame = reader_.next();
    if (!frame) throw std::runtime_error("the engine said " + frame.error());
    if (*frame) {
      auto request = message::decode_request(**frame);
      if (!request) throw std::runtime_error("the engine said " + request.error());
      return std::move(*request);
    }
    std::array<char, 65536> piece;  // NOLINT(cppcoreguidelines-pro-type-member-init): read fills it
    const ssize_t got = read(STDIN_FILENO, piece.data(), piece.size());
    if (got == 0) return std::nullopt;
    if (got > 0) reader_.feed({piece.data(), static_cast<std::size_t>(got)});
    if (got < 0 && errno != EINTR) return std::nullopt;
  }
}

message::Answer answer_to(const std::function<message::Answer()>& call) {
  using Whose = message::Failed::Whose;
  try {
    return call();
  } catch (const UserError& error) {
    return message::Failed{Whose::user, error.what()};
  } catch (const OutOfMemory& error) {
    return message::Failed{Whose::memory, error.what()};
  } catch (const MachineError& error) {
    return message::Failed{Whose::machine, error.what()};
  } catch (const std::bad_alloc&) {
    return message::Failed{Whose::own, "there is not so much memory"};
  } catch (const std::exception& error) {
    return message::Failed{Whose::own, error.what()};
  }
}

int serve_list(WorkerEnd& end, const std::function<std::vector<device::DeviceInfo>()>& list) {
  end.send(answer_to([&] { return message::GpusFound{message::kVersion, list()}; }));
  return 0;
}

int serve_compiler(WorkerEnd& end, const CompilerWork& work) {
  yield_to_devices();
  std::unique_ptr<kernel::Compiler> compiler;
  const message::Answer opened = answer_to([&] {
    limit_privileges(SandboxKind::compiler, work.places);
    compiler = work.open();
    message::CompilerOpened answer{message::kVersion, compiler->version(), compiler->headers()};
    limit_worker(SandboxKind::compiler, work.memory, work.readable());
    return answer;
  });
  end.send(opened);
  if (std::holds_alternative<message::Failed>(opened)) return 0;
  while (const auto request = end.receive()) {
    end.send(answer_to([&]() -> message::Answer {
      const auto* compile = std::get_if<message::Compile>(&*request);
      if (compile == nullptr) throw std::logic_error("a compiler runs nothing");
      kernel::CompileOutcome outcome = compiler->compile(compile->request);
      if (!outcome) return std::move(outcome.error());
      return std::move(*outcome);
    }));
  }
  return 0;
}

}  // namespace fa_tune::worker
