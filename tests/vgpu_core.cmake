# The virtual box through libcuda and libcupti, linked as a program would link them.
if(TARGET braid_vgpu_cupti)
  foreach(area api cupti event memory process scheduler stream)
    braid_add_test(NAME vgpu_core_${area}_test LABEL vgpu
      SOURCES vgpu/core_${area}_test.cpp
      LIBRARIES braid_vgpu_cupti braid_vgpu_cuda braid_vgpu_core)
  endforeach()

  # Programs that the tests above start, and a library of kernels for them.
  add_executable(vgpu_core_child "${CMAKE_CURRENT_LIST_DIR}/vgpu/core_child.cpp")
  set_target_properties(vgpu_core_child PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_compile_definitions(vgpu_core_child PRIVATE BRAID_BINARY_DIR="${PROJECT_BINARY_DIR}")
  target_link_libraries(vgpu_core_child PRIVATE
    braid_options braid_vgpu_cuda braid_vgpu_core GTest::gtest)
  add_library(vgpu_core_sample_kernels MODULE "${CMAKE_CURRENT_LIST_DIR}/vgpu/core_sample_kernels.cpp")
  set_target_properties(vgpu_core_sample_kernels PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/kernels")
  target_link_libraries(vgpu_core_sample_kernels PRIVATE braid_options)
  target_compile_definitions(vgpu_core_scheduler_test PRIVATE
    BRAID_SAMPLE_KERNELS="$<TARGET_FILE:vgpu_core_sample_kernels>")
  add_dependencies(vgpu_core_scheduler_test vgpu_core_child vgpu_core_sample_kernels)
  add_dependencies(vgpu_core_process_test vgpu_core_child)
endif()
