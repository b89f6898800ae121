#include "engine/kernel/compile/nvrtc_compiler.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "engine/kernel/compile/code_hash.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/kernel/compile/compiler_headers.hpp"
#include "engine/kernel/compile/compiler_log.hpp"
#include "engine/kernel/compile/global_state_check.hpp"
#include "engine/kernel/compile/located_error.hpp"
#include "engine/kernel/compile/machine_code.hpp"
#include "engine/kernel/compile/nvrtc_library.hpp"
#include "engine/util/error.hpp"
#include "engine/util/hash.hpp"
#include "engine/util/stopwatch.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::kernel {
namespace {

using Nvrtc = NvrtcFunctions;

// Owns one nvrtcProgram.
class Program {
 public:
  Program(const Nvrtc& functions, const std::string& source, const std::string& name,
          const std::vector<HeaderText>& headers = {})
      : functions_(functions) {
    std::vector<const char*> texts, names;
    for (const HeaderText& header : headers) {
      texts.push_back(header.text.c_str());
      names.push_back(header.name.c_str());
    }
    created_ = functions_.create(&program_, source.c_str(), name.c_str(),
                                 static_cast<int>(headers.size()), texts.data(), names.data());
  }
  ~Program() {
    if (program_ != nullptr) functions_.destroy(&program_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Makes the instance of a function template that `expression` names, and says what it is called
  // in the code: to be asked after compile().
  void name(const std::string& expression) {
    if (created_ == Nvrtc::kSuccess)
      created_ = functions_.add_name_expression(program_, expression.c_str());
  }
  std::string lowered(const std::string& expression) const {
    const char* name = nullptr;
    const auto found = functions_.lowered_name(program_, expression.c_str(), &name);
    return found == Nvrtc::kSuccess && name != nullptr ? name : expression;
  }

  Nvrtc::Result compile(const std::vector<std::string>& options) {
    if (created_ != Nvrtc::kSuccess) return created_;
    std::vector<const char*> words;
    words.reserve(options.size());
    for (const std::string& option : options) words.push_back(option.c_str());
    return functions_.compile(program_, static_cast<int>(words.size()), words.data());
  }

  std::string log() const { return text(functions_.log_size, functions_.log); }
  std::string ptx() const { return text(functions_.ptx_size, functions_.ptx); }
  std::string cubin() const { return bytes(functions_.cubin_size, functions_.cubin); }

 private:
  using Size = decltype(Nvrtc::log_size);
  using Copy = decltype(Nvrtc::log);

  std::string bytes(Size size, Copy copy) const {
    std::size_t count = 0;
    if (created_ != Nvrtc::kSuccess || size(program_, &count) != Nvrtc::kSuccess) return {};
    std::string result(count, '\0');
    if (count > 0 && copy(program_, result.data()) != Nvrtc::kSuccess) return {};
    return result;
  }
  // The same without the NUL that NVRTC counts in.
  std::string text(Size size, Copy copy) const {
    std::string result = bytes(size, copy);
    result.resize(std::min(result.find('\0'), result.size()));
    return result;
  }

  const Nvrtc& functions_;
  Nvrtc::Program program_ = nullptr;
  Nvrtc::Result created_;
};

// "13.0.88" out of the comment every PTX begins with: "... release 13.0, V13.0.88". nvrtcVersion()
// gives no build, and two builds make different code. Falls back to "13.0".
std::string full_version(const NvrtcLibrary& library) {
  std::string plain = fmt::format("{}.{}", library.major, library.minor);
  Program empty(library.functions, "", "version.cu");
  empty.compile({});
  const std::string ptx = empty.ptx();
  const std::size_t at = ptx.find(", V" + plain + ".");
  if (at == std::string::npos) return plain;
  const std::size_t begin = at + 3;
  return ptx.substr(begin, ptx.find_first_not_of("0123456789.", begin) - begin);
}

class NvrtcCompiler final : public Compiler {
 public:
  explicit NvrtcCompiler(NvrtcLibrary library)
      : library_(std::move(library)),
        includes_(include_options(toolkit_headers(library_.path))),
        version_("NVRTC " + full_version(library_)),
        headers_(headers_digest(toolkit_headers(library_.path))) {}

  std::string version() const override { return version_; }
  std::string headers() const override { return headers_; }
  CompileOutcome compile(const CompileRequest& request) override;

 private:
  // `is_missing`: whether it compiled, but a kernel is not there under its name.
  CompileOutcome attempt(const CompileRequest& request, bool all_mangled, bool& is_missing) const;
  std::vector<std::string> options(const CompileRequest& request, bool with_headers) const;
  CompileFailure failure(const Program& program, Nvrtc::Result result, const LogFacts& facts) const;

  NvrtcLibrary library_;
  std::vector<std::string> includes_;  // options
  std::string version_;
  std::string headers_;
};

// With it the machine code says which line of the PTX each instruction was made from.
const std::string kLineInfo = "--generate-line-info";
bool asks_for_lines(const CompileRequest& request) {
  return std::ranges::find(request.options, kLineInfo) != request.options.end();
}

bool includes_any(const std::string& text) { return text.contains("include"); }

// With a real architecture NVRTC makes machine code and keeps the PTX on the way, so that one
// compile serves the emulator and still says what ptxas thinks of the kernel.
std::vector<std::string> NvrtcCompiler::options(const CompileRequest& request,
                                                bool with_headers) const {
  std::vector<std::string> list = {"--gpu-architecture=" + request.arch, "--std=c++17",
                                   "--ptxas-options=-v", "-default-device"};
  if (library_.major >= 13) {
    // Sources are flat: what lies in the working folder must not change what is compiled.
    list.emplace_back("--no-source-include");
    // Where there is a driver NVRTC keeps machine code of its own, for which ptxas does not say
    // again how many registers it takes. The cache here keeps that too.
    list.emplace_back("--no-cache");
  }
  if (with_headers) list.insert(list.end(), includes_.begin(), includes_.end());
  list.insert(list.end(), request.options.begin(), request.options.end());
  if (request.kind == BinaryKind::ptx && !asks_for_lines(request)) list.push_back(kLineInfo);
  return list;
}

CompileFailure NvrtcCompiler::failure(const Program& program, Nvrtc::Result result,
                                      const LogFacts& facts) const {
  CompileFailure refused;
  refused.message = facts.first_error.empty() ? fmt::format("{} gave no message ({})", version_,
                                                            library_.functions.error_string(result))
                                              : facts.first_error;
  refused.log = clip_log(program.log());
  refused.lasting = result == Nvrtc::kCompilationFailed;
  if (refused.message.contains("not open source file")) {
    refused.lasting = false;  // it may be there the next time
    refused.message += includes_.empty()
                           ? "; the CUDA toolkit's headers were not found: run tools/setup, or set "
                             "FA_TUNE_CUDA_INCLUDE to their folder"
                           : "; a kernel's file may include its own files, the CUDA toolkit's and "
                             "what C and C++ have of use to kernels: keep host code elsewhere";
  }
  return refused;
}

// Whether a kernel's name in the code is another than in the source. A source that makes some of
// its functions extern "C" makes its kernel so.
bool is_mangled(const Source& source, const std::string& kernel) {
  return !is_identifier(kernel) || source.text.find("extern \"C\"") == std::string::npos;
}

// With what nvcc would have included; its lines have the numbers that they had.
std::string text_for_nvrtc(const Source& source) {
  std::string text;
  for (const std::string& header : headers_nvcc_includes(source.text))
    text += "#include <" + header + ">\n";
  return text.empty() ? source.text : text + "#line 1\n" + source.text;
}

CompileOutcome NvrtcCompiler::compile(const CompileRequest& request) {
  bool is_missing = false;
  CompileOutcome outcome = attempt(request, false, is_missing);
  // Some functions of a source may be extern "C" and others not: NVRTC knows which. Where it is
  // asked, the instances it makes for that are in the code too.
  if (!is_missing) return outcome;
  CompileOutcome named = attempt(request, true, is_missing);
  return named ? std::move(named) : std::move(outcome);
}

CompileOutcome NvrtcCompiler::attempt(const CompileRequest& request, bool all_mangled,
                                      bool& is_missing) const {
  const Stopwatch watch;
  const std::string kernel = request.source.kernel;
  std::vector<std::string> names = {kernel};
  names.insert(names.end(), request.source.more.begin(), request.source.more.end());
  const std::string text = text_for_nvrtc(request.source);
  Program program(library_.functions, text, unit_name(kernel),
                  includes_any(text) ? host_headers() : std::vector<HeaderText>{});
  const auto mangled = [&](const std::string& name) {
    return all_mangled || is_mangled(request.source, name);
  };
  for (const std::string& name : names)
    if (mangled(name)) program.name(name);
  const Nvrtc::Result result = program.compile(options(request, includes_any(text)));
  const auto name_in_code = [&](const std::string& name) {
    return mangled(name) && result == Nvrtc::kSuccess ? program.lowered(name) : name;
  };
  LogFacts facts = read_compiler_log(program.log(), name_in_code(kernel));
  if (result != Nvrtc::kSuccess) return std::unexpected(failure(program, result, facts));
  const std::string cubin = program.cubin();
  Compiled compiled;
  compiled.image = {request.kind, request.arch, name_in_code(kernel), "", facts.resources};
  for (const std::string& name : request.source.more) {
    const std::string entry = name_in_code(name);
    compiled.image.more.push_back({entry, read_compiler_log(program.log(), entry).resources});
  }
  std::string machine_code;  // of each entry, one after another
  for (std::size_t i = 0; i < names.size(); ++i) {
    // Read for PTX too: it shows that the entry is there under its name.
    const auto of_entry = cubin_code_hash(cubin, compiled.image.entry(i).kernel);
    is_missing = !of_entry;
    if (!of_entry)
      return std::unexpected(
          CompileFailure{fmt::format("no kernel '{}': {}; is it a __global__ function, and extern "
                                     "\"C\" if others of the source are?",
                                     names[i], of_entry.error()),
                         clip_log(program.log())});
    machine_code += *of_entry;
  }
  if (names.size() > 1) machine_code = sha256(machine_code);
  const std::string lined = program.ptx();
  const PlainPtx ptx = without_line_info(lined);
  if (request.kind == BinaryKind::ptx) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      auto code = read_machine_code(cubin, compiled.image.entry(i).kernel);
      if (!code) code.emplace();  // then a time is predicted from PTX alone
      if (!asks_for_lines(request))
        for (MachineInstruction& each : *code)
          each.ptx_line = each.ptx_line < ptx.line.size() ? ptx.line[each.ptx_line] : 0;
      compiled.image.machine_code.push_back(std::move(*code));
    }
  }
  const auto variables = persistent_variables(ptx.text, cubin);
  if (request.kind == BinaryKind::cubin)
    compiled.image.bytes = cubin;
  else
    compiled.image.bytes = asks_for_lines(request) ? lined : ptx.text;
  compiled.code_hash =
      request.kind == BinaryKind::cubin ? machine_code : ptx_code_hash(compiled.image.bytes);
  compiled.warnings = std::move(facts.warnings);
  if (variables) compiled.warnings.push_back(keeps_state_warning(*variables));
  compiled.milliseconds = watch.milliseconds();
  return compiled;
}

}  // namespace

std::unique_ptr<Compiler> open_nvrtc() {
  auto library = load_nvrtc();
  if (!library)
    throw MachineError(
        "NVRTC, the CUDA compiler library, was not found; run tools/setup, install a CUDA toolkit "
        "or "
        "set FA_TUNE_NVRTC to the file libnvrtc.so. Tried: " +
        library.error());
  return std::make_unique<NvrtcCompiler>(std::move(*library));
}

NvrtcFacts describe_nvrtc() {
  const auto library = load_nvrtc();
  if (!library) return {false, "", "", "", library.error()};
  return {true, library->path, "NVRTC " + full_version(*library),
          toolkit_headers(library->path).string(), ""};
}

}  // namespace fa_tune::kernel
