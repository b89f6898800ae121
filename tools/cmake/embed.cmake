# Text files become functions of the program, so that it needs none of them at run time:
# python/driver.py is python_driver_part(). `header` declares them in fa_tune::`space`. A literal holds
# 64 KiB at most.
function(fa_tune_embed target space header)
  set(parts "")
  foreach(file ${ARGN})
    cmake_path(ABSOLUTE_PATH file NORMALIZE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    string(REGEX REPLACE "^.*/(.*)/(.*)[.].*" "\\1_\\2" name ${file})
    string(APPEND parts "std::string_view ${name}_part() { return R\"part(${text})part\"; }\n")
  endforeach()
  file(CONFIGURE OUTPUT parts.cpp @ONLY CONTENT [[
#include "@header@"

namespace fa_tune::@space@ {

@parts@
}  // namespace fa_tune::@space@
]])
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/parts.cpp)
endfunction()
