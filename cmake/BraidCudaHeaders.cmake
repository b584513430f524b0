# The public CUDA, CUPTI, NVML, cuBLAS and NCCL headers. Only headers are needed to build braid;
# the libraries are found by soname when a job runs. scripts/setup fetches the headers into .cuda/
# where no toolkit is installed.
set(CUDA_HOME "$ENV{CUDA_HOME}" CACHE PATH "CUDA toolkit (empty: look in the usual places)")
set(BRAID_CUDA_HINTS "${CUDA_HOME}" /usr/local/cuda /opt/cuda "${PROJECT_SOURCE_DIR}/.cuda")

find_path(BRAID_CUDA_INCLUDE cuda.h PATHS ${BRAID_CUDA_HINTS} PATH_SUFFIXES include NO_DEFAULT_PATH)
find_path(BRAID_NCCL_INCLUDE nccl.h PATHS ${BRAID_CUDA_HINTS} PATH_SUFFIXES include)
find_path(BRAID_CUPTI_INCLUDE cupti.h PATHS ${BRAID_CUDA_HINTS}
          PATH_SUFFIXES include extras/CUPTI/include NO_DEFAULT_PATH)
find_program(BRAID_NVCC nvcc PATHS ${BRAID_CUDA_HINTS} PATH_SUFFIXES bin NO_DEFAULT_PATH)
foreach(what BRAID_CUDA_INCLUDE BRAID_NCCL_INCLUDE BRAID_CUPTI_INCLUDE BRAID_NVCC)
  if(NOT ${what})
    message(FATAL_ERROR "${what} was not found in: ${BRAID_CUDA_HINTS}. "
                        "Run scripts/setup, or set CUDA_HOME to a CUDA 12 or 13 toolkit.")
  endif()
endforeach()

add_library(braid_cuda_headers INTERFACE)
target_include_directories(braid_cuda_headers SYSTEM INTERFACE
  "${BRAID_CUDA_INCLUDE}" "${BRAID_NCCL_INCLUDE}" "${BRAID_CUPTI_INCLUDE}")
