# vgpu/cudart and vgpu/nvml: the runtime and NVML stand-ins.
set(registration_object "${CMAKE_CURRENT_BINARY_DIR}/cudart_registration_kernels.o")
set(registration_source "${PROJECT_SOURCE_DIR}/tests/vgpu/cudart_registration_kernels.cu")
add_custom_command(
  OUTPUT "${registration_object}"
  COMMAND "${BRAID_NVCC}" -std=c++17 -O1 -ccbin "${CMAKE_CXX_COMPILER}"
          -gencode=arch=compute_80,code=compute_80 -Xcompiler=-fPIC
          -MD -MF "${registration_object}.d" -MT "${registration_object}"
          -c "${registration_source}" -o "${registration_object}"
  DEPENDS "${registration_source}"
  DEPFILE "${registration_object}.d"
  COMMENT "Compiling device code of the runtime tests"
  VERBATIM)

braid_add_test(NAME vgpu_cudart_tests LABEL vgpu
  SOURCES "${PROJECT_SOURCE_DIR}/tests/vgpu/cudart_device_test.cpp"
          "${PROJECT_SOURCE_DIR}/tests/vgpu/cudart_error_test.cpp"
          "${PROJECT_SOURCE_DIR}/tests/vgpu/cudart_ipc_test.cpp"
          "${PROJECT_SOURCE_DIR}/tests/vgpu/cudart_launch_test.cpp"
          "${PROJECT_SOURCE_DIR}/tests/vgpu/cudart_memory_test.cpp"
          "${PROJECT_SOURCE_DIR}/tests/vgpu/cudart_nvml_test.cpp"
          "${PROJECT_SOURCE_DIR}/tests/vgpu/cudart_registration_test.cpp"
          "${PROJECT_SOURCE_DIR}/tests/vgpu/cudart_stream_test.cpp"
          "${registration_object}"
  LIBRARIES braid_vgpu_cudart braid_vgpu_nvml braid_vgpu_cuda braid_vgpu_core braid_cuda_headers)
