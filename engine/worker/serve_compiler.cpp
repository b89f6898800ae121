#include <stdexcept>

#include "engine/worker/sandbox.hpp"
#include "engine/worker/worker_main.hpp"

namespace fa_tune {

int serve_compiler(WorkerEnd& end, const std::function<std::unique_ptr<Compiler>()>& open) {
  std::unique_ptr<Compiler> compiler;
  const message::Answer opened = answer_to([&] {
    compiler = open();
    message::CompilerOpened answer{message::kVersion, compiler->version()};
    limit_worker(SandboxKind::compiler);
    return answer;
  });
  end.send(opened);
  if (std::holds_alternative<message::Failed>(opened)) return 0;
  while (const auto request = end.receive()) {
    end.send(answer_to([&]() -> message::Answer {
      const auto* compile = std::get_if<message::Compile>(&*request);
      if (compile == nullptr) throw std::logic_error("a compiler runs nothing");
      CompileOutcome outcome = compiler->compile(compile->request);
      if (!outcome) return std::move(outcome.error());
      return std::move(*outcome);
    }));
  }
  return 0;
}

}  // namespace fa_tune
