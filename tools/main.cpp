#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <new>
#include <span>
#include <string>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/util/error.hpp"
#include "engine/util/fault_point.hpp"
#include "engine/util/log.hpp"
#include "engine/util/printable.hpp"
#include "engine/util/shell.hpp"
#include "tools/command_line/command_tree.hpp"
#include "tools/command_line/commands.hpp"
#include "tools/commands/command.hpp"

namespace {

// Exit codes; tools/README.md has the table.
constexpr int kUserError = 2;
constexpr int kMachineError = 3;
constexpr int kOwnError = 70;  // EX_SOFTWARE: a mistake in this program

const std::map<std::string, fa_tune::LogLevel> kLevels = {{"debug", fa_tune::LogLevel::debug},
                                                          {"info", fa_tune::LogLevel::info},
                                                          {"warning", fa_tune::LogLevel::warning},
                                                          {"error", fa_tune::LogLevel::error}};

int complain(const std::string& what, int code) {
  std::fprintf(stderr, "fa-tune: %s\n", fa_tune::message_line(what).c_str());
  return code;
}

// Files that would grow beyond the user's limit are errors of who writes them (EFBIG). Stacks are
// what a system gives by default, also where the user gives less: depths that are refused (of a
// stranger's file, say) are chosen for that. Throws MachineError where the system gives less.
void set_up_process() {
  std::signal(SIGXFSZ, SIG_IGN);
  constexpr std::size_t kStack = std::size_t{8} << 20;
  constexpr std::size_t kLeastStack = std::size_t{1} << 20;
  pthread_attr_t threads;
  std::size_t size = 0;
  if (pthread_getattr_default_np(&threads) == 0) {
    if (pthread_attr_getstacksize(&threads, &size) == 0 && size < kStack &&
        pthread_attr_setstacksize(&threads, kStack) == 0)
      pthread_setattr_default_np(&threads);
    pthread_attr_destroy(&threads);
  }
  rlimit stack{};
  if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= kStack) return;
  stack.rlim_cur = std::min<rlim_t>(kStack, stack.rlim_max);
  setrlimit(RLIMIT_STACK, &stack);
  if (stack.rlim_cur < kLeastStack)
    throw fa_tune::MachineError(
        fmt::format("the system gives a program {} KiB of stack (ulimit -s), and fa-tune needs {}",
                    stack.rlim_cur >> 10, kLeastStack >> 10));
}

// What a command prints may come from a stranger's file: a terminal must not act on it. Bytes that
// are data go past it (tools/commands/emulate.cpp).
FILE* visible_output() {
  // Never destroyed: what is left in the stream is written when all else is gone.
  static auto& text = *new fa_tune::VisibleText;
  static FILE* const raw = stdout;
  const auto write = [](void*, const char* bytes, std::size_t size) -> ssize_t {
    const std::string shown = text.take({bytes, size});
    const bool taken = std::fwrite(shown.data(), 1, shown.size(), raw) == shown.size();
    return taken && std::fflush(raw) == 0 ? static_cast<ssize_t>(size) : 0;
  };
  FILE* const made = fopencookie(nullptr, "w", {nullptr, write, nullptr, nullptr});
  if (made != nullptr && isatty(STDOUT_FILENO) == 1) setvbuf(made, nullptr, _IOLBF, BUFSIZ);
  return made == nullptr ? raw : made;
}

int run(int argc, char** argv) {
  CLI::App app("Finds fast CUDA kernels by evolution.", "fa-tune");
  app.set_version_flag("--version", FA_TUNE_VERSION);
  app.require_subcommand(1);
  // Taken by every command, before or behind its name.
  app.fallthrough();
  auto level = fa_tune::LogLevel::info;
  auto* named = app.add_option("--log-level", level, "what is said on standard error, from this on")
                    ->option_text("debug|info|warning|error")
                    ->transform(CLI::CheckedTransformer(kLevels, CLI::ignore_case))
                    ->type_name("");
  auto* verbose = app.add_flag_callback(
      "-v,--verbose", [&level] { level = fa_tune::LogLevel::debug; },
      "the same as --log-level debug");
  auto* quiet = app.add_flag_callback(
      "-q,--quiet", [&level] { level = fa_tune::LogLevel::error; },
      "errors and results alone, the same as --log-level error");
  verbose->excludes(named);
  quiet->excludes(named)->excludes(verbose);
  fa_tune::arm_fault_point_of_environment();
  fa_tune::commands::Action action;
  fa_tune::commands::add_init(app, action);
  fa_tune::commands::add_evolve(app, action);
  fa_tune::commands::add_node(app, action);
  fa_tune::commands::add_best(app, action);
  fa_tune::commands::add_export(app, action);
  fa_tune::commands::add_portfolio(app, action);
  fa_tune::commands::add_lineage(app, action);
  fa_tune::commands::add_status(app, action);
  fa_tune::commands::add_failures(app, action);
  fa_tune::commands::add_insights(app, action);
  fa_tune::commands::add_report(app, action);
  fa_tune::commands::add_show(app, action);
  fa_tune::commands::add_verify(app, action);
  fa_tune::commands::add_bench(app, action);
  fa_tune::commands::add_check(app, action);
  fa_tune::commands::add_ablate(app, action);
  fa_tune::commands::add_finals(app, action);
  fa_tune::commands::add_profile(app, action);
  fa_tune::commands::add_profiled(app, action);
  fa_tune::commands::add_gate(app, action);
  fa_tune::commands::add_space(app, action);
  fa_tune::commands::add_replay(app, action);
  fa_tune::commands::add_emulate(app, action);
  fa_tune::commands::add_db(app, action);
  fa_tune::commands::add_merge(app, action);
  fa_tune::commands::add_doctor(app, action);
  fa_tune::commands::add_worker(app, action);
  fa_tune::command_line::add_completion(app, action);
  fa_tune::command_line::add_manual(app, action);
  fa_tune::command_line::group_commands(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    throw fa_tune::UserError(fa_tune::command_line::parse_message(app, error));
  }
  fa_tune::set_log_level(level);
  fa_tune::log_debug("fa-tune {}, command: {}", FA_TUNE_VERSION,
                     fmt::join(std::span(argv, static_cast<std::size_t>(argc)).subspan(1), " "));
  return action();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    set_up_process();
    stdout = visible_output();
    fa_tune::set_program_name(argc > 0 ? argv[0] : "");
    return run(argc, argv);
  } catch (const fa_tune::UserError& error) {
    return complain(error.what(), kUserError);
  } catch (const fa_tune::MachineError& error) {
    return complain(error.what(), kMachineError);
  } catch (const nlohmann::json::exception& error) {
    // Our own files are read where they are written; this is one that somebody changed.
    return complain(
        std::string("what a file or a database holds as JSON is not what fa-tune writes: ") +
            fa_tune::printable(error.what(), fa_tune::kLongestReason),
        kUserError);
  } catch (const std::bad_alloc&) {
    return complain("out of memory: this machine has less than what was asked for takes",
                    kMachineError);
  } catch (const std::exception& error) {
    return complain(std::string("internal error, please report it: ") + error.what(), kOwnError);
  }
}
