# The example programs on virtual GPUs.
set(examples_tests "${PROJECT_SOURCE_DIR}/tests/vgpu")
braid_add_test(NAME examples_tests LABEL vgpu
  SOURCES "${examples_tests}/examples_behaviour_test.cpp" "${examples_tests}/examples_numbers_test.cpp"
          "${examples_tests}/examples_process.cpp" "${examples_tests}/examples_reference.cpp"
  LIBRARIES braid_cuda_headers)
add_dependencies(examples_tests tp_mlp dp_mlp moe_a2a
  braid_vgpu_cudart braid_vgpu_cuda braid_vgpu_nccl braid_vgpu_cublas braid_vgpu_cublaslt)

braid_add_test(NAME examples_allocator_tests LABEL vgpu
  SOURCES "${examples_tests}/examples_allocator_test.cpp"
          "${PROJECT_SOURCE_DIR}/examples/common/caching_allocator.cpp"
          "${PROJECT_SOURCE_DIR}/examples/common/check.cpp"
  LIBRARIES braid_vgpu_cudart braid_vgpu_cuda braid_vgpu_core braid_cuda_headers)
target_include_directories(examples_allocator_tests PRIVATE "${PROJECT_SOURCE_DIR}/examples")
