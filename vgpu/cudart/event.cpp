// Events.
#include "vgpu/cudart/runtime.hpp"

using namespace braid::vgpu::cudart;

CUDART_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  if (event == nullptr) {
    return finish(cudaErrorInvalidValue);
  }
  const CUresult result = prepare();
  return finish(result == CUDA_SUCCESS ? cuEventCreate(event, flags) : result);
}

CUDART_API cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

CUDART_API cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const CUresult result = prepare();
  return finish(result == CUDA_SUCCESS ? cuEventDestroy(event) : result);
}

CUDART_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const CUresult result = prepare();
  return finish(result == CUDA_SUCCESS ? cuEventRecord(event, stream) : result);
}

CUDART_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                                unsigned int flags) {
  const CUresult result = prepare();
  return finish(result == CUDA_SUCCESS ? cuEventRecordWithFlags(event, stream, flags) : result);
}

CUDART_API cudaError_t cudaEventQuery(cudaEvent_t event) {
  const CUresult result = prepare();
  return finish(result == CUDA_SUCCESS ? cuEventQuery(event) : result);
}

CUDART_API cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const CUresult result = prepare();
  return finish(result == CUDA_SUCCESS ? cuEventSynchronize(event) : result);
}

CUDART_API cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start,
                                            cudaEvent_t end) {
  const CUresult result = prepare();
  return finish(result == CUDA_SUCCESS ? cuEventElapsedTime(milliseconds, start, end) : result);
}
