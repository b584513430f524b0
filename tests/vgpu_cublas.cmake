# cuBLAS and cuBLASLt on virtual GPUs.
set(BRAID_CUBLAS_TEST_LIBRARIES
  braid_vgpu_cublas braid_vgpu_cublaslt braid_vgpu_cudart braid_vgpu_gemm braid_vgpu_core)

foreach(part gemm kernel_choice errors vector lt_matmul lt_api)
  braid_add_test(NAME cublas_${part}_test LABEL vgpu
    SOURCES "${CMAKE_CURRENT_SOURCE_DIR}/vgpu/cublas_${part}_test.cpp"
    LIBRARIES ${BRAID_CUBLAS_TEST_LIBRARIES})
endforeach()
# The exports are compared with the headers themselves.
target_compile_definitions(cublas_errors_test PRIVATE BRAID_CUDA_INCLUDE_DIR="${BRAID_CUDA_INCLUDE}")
