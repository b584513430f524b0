# The virtual NCCL: ranks as threads and as processes, plugins, faults.
set(nccl_tests "${PROJECT_SOURCE_DIR}/tests/vgpu")

foreach(plugin tuner profiler env)
  add_library(nccl_test_${plugin} MODULE "${nccl_tests}/nccl_test_${plugin}.cpp")
  target_link_libraries(nccl_test_${plugin} PRIVATE braid_options)
  set_target_properties(nccl_test_${plugin} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
endforeach()

# The same small plugins in every older version of the interfaces.
set(nccl_old_plugins "")
foreach(version 1 2 3 4)
  foreach(kind tuner profiler)
    if(kind STREQUAL tuner AND version EQUAL 1)
      continue()
    endif()
    set(target nccl_old_${kind}_v${version})
    string(TOUPPER ${kind} upper_kind)
    add_library(${target} MODULE "${nccl_tests}/nccl_old_${kind}.cpp")
    target_link_libraries(${target} PRIVATE braid_options)
    target_compile_definitions(${target} PRIVATE ${upper_kind}_VERSION=${version})
    set_target_properties(${target} PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
    list(APPEND nccl_old_plugins ${target})
  endforeach()
endforeach()

set(nccl_libraries braid_vgpu_nccl braid_vgpu_cuda braid_vgpu_core braid_cuda_headers)

add_executable(nccl_rank_process "${nccl_tests}/nccl_rank_process.cpp")
target_link_libraries(nccl_rank_process PRIVATE braid_options ${nccl_libraries} GTest::gtest)
target_compile_definitions(nccl_rank_process PRIVATE BRAID_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
set_target_properties(nccl_rank_process PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")

# The arithmetic alone, beside the CUDA headers' conversions.
braid_add_test(NAME nccl_formats_tests LABEL vgpu
  SOURCES "${nccl_tests}/nccl_formats_test.cpp" "${PROJECT_SOURCE_DIR}/vgpu/nccl/reduction.cpp"
  LIBRARIES braid_cuda_headers)

braid_add_test(NAME nccl_tests LABEL vgpu
  SOURCES "${nccl_tests}/nccl_collectives_test.cpp" "${nccl_tests}/nccl_exports_test.cpp"
          "${nccl_tests}/nccl_faults_test.cpp" "${nccl_tests}/nccl_group_test.cpp"
          "${nccl_tests}/nccl_lifecycle_test.cpp" "${nccl_tests}/nccl_plugin_test.cpp"
          "${nccl_tests}/nccl_process_test.cpp" "${nccl_tests}/nccl_scheduler_test.cpp"
          "${nccl_tests}/nccl_summing_order_test.cpp"
          "${PROJECT_SOURCE_DIR}/vgpu/nccl/reduction.cpp"
  LIBRARIES ${nccl_libraries} braid_model braid_config ${CMAKE_DL_LIBS})
# Its ncclBroadcast stands for a preloaded one.
set_target_properties(nccl_tests PROPERTIES ENABLE_EXPORTS ON)
add_dependencies(nccl_tests nccl_rank_process nccl_test_tuner nccl_test_profiler nccl_test_env
  ${nccl_old_plugins})
target_compile_definitions(nccl_tests PRIVATE
  NCCL_TEST_TUNER="$<TARGET_FILE:nccl_test_tuner>"
  NCCL_TEST_PROFILER="$<TARGET_FILE:nccl_test_profiler>"
  NCCL_TEST_ENV="$<TARGET_FILE:nccl_test_env>"
  NCCL_OLD_PLUGINS="${PROJECT_BINARY_DIR}/tests/libnccl_old_"
  NCCL_LIBRARY="$<TARGET_FILE:braid_vgpu_nccl>")
