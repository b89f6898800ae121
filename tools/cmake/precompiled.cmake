# What most units include of other people's headers is parsed once and not in every unit. Not where
# other options than the usual ones are in force.
if(FA_TUNE_SANITIZE OR FA_TUNE_FUZZ OR NOT CMAKE_UNITY_BUILD OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  return()
endif()

if(CCACHE_PROGRAM)
  target_compile_options(fa_tune_options INTERFACE -fpch-preprocess)
endif()

foreach(name fa_precompiled fa_precompiled_cold)
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cpp CONTENT "")
  add_library(${name} STATIC ${CMAKE_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE fa_tune_options third_fmt nlohmann_json::nlohmann_json)
  target_precompile_headers(${name} PRIVATE
    <algorithm> <array> <charconv> <chrono> <cmath> <cstdint> <cstring> <filesystem> <fstream> <functional>
    <map> <memory> <mutex> <optional> <ranges> <set> <span> <sstream> <string> <string_view> <thread>
    <unordered_map> <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h> <nlohmann/json.hpp>)
endforeach()
target_link_libraries(fa_precompiled_cold PRIVATE fa_tune_cold)

# Every target of a folder and those below; but not where own options make other code.
function(fa_tune_use_precompiled folder)
  get_property(below DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(each IN LISTS below)
    fa_tune_use_precompiled(${each})
  endforeach()
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(each IN LISTS targets)
    get_target_property(type ${each} TYPE)
    get_target_property(options ${each} COMPILE_OPTIONS)
    get_target_property(libraries ${each} LINK_LIBRARIES)
    if(NOT type MATCHES "^(STATIC_LIBRARY|EXECUTABLE)$" OR options OR NOT libraries
       OR each MATCHES "^fa_precompiled")
      continue()
    elseif("fa_tune_cold" IN_LIST libraries)
      target_precompile_headers(${each} REUSE_FROM fa_precompiled_cold)
    else()
      target_precompile_headers(${each} REUSE_FROM fa_precompiled)
    endif()
    get_target_property(sources ${each} SOURCES)
    get_target_property(home ${each} SOURCE_DIR)
    foreach(source IN LISTS sources)
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${home})
      get_source_file_property(options ${source} TARGET_DIRECTORY ${each} COMPILE_OPTIONS)
      if(options)
        set_source_files_properties(${source} TARGET_DIRECTORY ${each} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
      endif()
    endforeach()
  endforeach()
endfunction()
