# The emulator's arithmetic and its model of time: no PTX here.
add_library(fa_emulator_math STATIC tensor_core/tensor_core.cpp tensor_core/tensor_core_number.cpp tensor_core/tensor_core_reference.cpp
            tensor_core/tensor_core_split.cpp target/occupancy.cpp)
target_link_libraries(fa_emulator_math PUBLIC fa_tune_options)

# The files that may use AVX2; whether it runs is decided when the program does. No contraction:
# a product and a scaling fused into one rounding would be another number.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_sources(fa_emulator_math PRIVATE tensor_core/tensor_core_avx2.cpp tensor_core/tensor_core_avx2_bytes.cpp)
  set_source_files_properties(tensor_core/tensor_core_avx2.cpp tensor_core/tensor_core_avx2_bytes.cpp PROPERTIES COMPILE_OPTIONS
                              "-O3;-mavx2;-mfma;-mf16c;-ffp-contract=off")
  target_compile_definitions(fa_emulator_math PUBLIC FA_TUNE_AVX2)
endif()
