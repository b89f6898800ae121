// An NVRTC of a version that there is not, which compiles nothing: FA_TUNE_NVRTC names it.
#include <cstddef>

using Program = void*;

extern "C" {

int nvrtcVersion(int* major, int* minor) {
  *major = 99;
  *minor = 1;
  return 0;
}
const char* nvrtcGetErrorString(int) { return "it compiles nothing"; }
int nvrtcCreateProgram(Program* program, const char*, const char*, int, const char* const*,
                       const char* const*) {
  *program = nullptr;
  return 0;
}
int nvrtcDestroyProgram(Program*) { return 0; }
int nvrtcAddNameExpression(Program, const char*) { return 0; }
int nvrtcGetLoweredName(Program, const char*, const char**) { return 1; }
int nvrtcCompileProgram(Program, int, const char* const*) { return 6; }
int nvrtcGetProgramLogSize(Program, std::size_t*) { return 1; }
int nvrtcGetProgramLog(Program, char*) { return 1; }
int nvrtcGetCUBINSize(Program, std::size_t*) { return 1; }
int nvrtcGetCUBIN(Program, char*) { return 1; }
int nvrtcGetPTXSize(Program, std::size_t*) { return 1; }
int nvrtcGetPTX(Program, char*) { return 1; }
}
