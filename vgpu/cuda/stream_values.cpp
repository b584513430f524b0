// Waiting for and writing values in memory, in stream order. A wait holds back its hardware queue.
#include <cuda.h>

#include "vgpu/cuda/driver_support.hpp"

namespace braid::vgpu::driver {
namespace {

constexpr unsigned kConditionMask = 0x3;

template <typename T>
bool is_met(const T* address, T value, unsigned flags) {
  const T seen = __atomic_load_n(address, __ATOMIC_ACQUIRE);
  switch (flags & kConditionMask) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      // Cyclic: the difference counts, so that counters may wrap.
      return static_cast<std::make_signed_t<T>>(seen - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
      return seen == value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (seen & value) != 0;
    default:  // CU_STREAM_WAIT_VALUE_NOR
      return ~(seen | value) != 0;
  }
}

template <typename T>
CUresult check_target(const StreamRef& stream, CUdeviceptr address) {
  if (address % sizeof(T) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return check_access(stream->device, host_pointer(address), sizeof(T)) == CUDA_SUCCESS
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

template <typename T>
CUresult wait_value(const StreamRef& stream, CUdeviceptr address, T value, unsigned flags) {
  constexpr unsigned kFlags = kConditionMask | CU_STREAM_WAIT_VALUE_FLUSH;
  if ((flags & ~kFlags) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (const CUresult error = check_target<T>(stream, address); error != CUDA_SUCCESS) {
    return error;
  }
  Work work;
  work.name = "cuStreamWaitValue";
  const auto* target = static_cast<const T*>(host_pointer(address));
  return enqueue_operation(
      stream, std::move(work), [=] { return is_met(target, value, flags); }, nullptr);
}

template <typename T>
CUresult write_value(const StreamRef& stream, CUdeviceptr address, T value, unsigned flags) {
  if ((flags & ~static_cast<unsigned>(CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (const CUresult error = check_target<T>(stream, address); error != CUDA_SUCCESS) {
    return error;
  }
  Work work;
  work.name = "cuStreamWriteValue";
  work.step = [=] {
    __atomic_store_n(static_cast<T*>(host_pointer(address)), value, __ATOMIC_RELEASE);
    return Step::kDone;
  };
  return enqueue_operation(stream, std::move(work), {}, nullptr);
}

CUresult run_operation(const StreamRef& stream, const CUstreamBatchMemOpParams& operation) {
  switch (operation.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      return wait_value<cuuint32_t>(stream, operation.waitValue.address, operation.waitValue.value,
                                    operation.waitValue.flags);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      return wait_value<cuuint64_t>(stream, operation.waitValue.address,
                                    operation.waitValue.value64, operation.waitValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      return write_value<cuuint32_t>(stream, operation.writeValue.address,
                                     operation.writeValue.value, operation.writeValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      return write_value<cuuint64_t>(stream, operation.writeValue.address,
                                     operation.writeValue.value64, operation.writeValue.flags);
    case CU_STREAM_MEM_OP_BARRIER:
      return CUDA_SUCCESS;  // work of a stream runs in order and sees what came before
    default:
      report_once("cuStreamBatchMemOp: operation " + std::to_string(operation.operation) +
                  " is not available on virtual GPUs (CUDA_ERROR_NOT_SUPPORTED)");
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

template <typename Use>
CUresult with_stream(CUstream handle, Use use) {
  StreamRef stream;
  const CUresult error = find_stream(handle, &stream);
  return error != CUDA_SUCCESS ? error : use(stream);
}

}  // namespace

CUresult cuStreamWaitValue32_v2(CUstream handle, CUdeviceptr address, cuuint32_t value,
                                unsigned int flags) {
  return with_stream(handle, [&](const StreamRef& stream) {
    return wait_value<cuuint32_t>(stream, address, value, flags);
  });
}

CUresult cuStreamWaitValue64_v2(CUstream handle, CUdeviceptr address, cuuint64_t value,
                                unsigned int flags) {
  return with_stream(handle, [&](const StreamRef& stream) {
    return wait_value<cuuint64_t>(stream, address, value, flags);
  });
}

CUresult cuStreamWriteValue32_v2(CUstream handle, CUdeviceptr address, cuuint32_t value,
                                 unsigned int flags) {
  return with_stream(handle, [&](const StreamRef& stream) {
    return write_value<cuuint32_t>(stream, address, value, flags);
  });
}

CUresult cuStreamWriteValue64_v2(CUstream handle, CUdeviceptr address, cuuint64_t value,
                                 unsigned int flags) {
  return with_stream(handle, [&](const StreamRef& stream) {
    return write_value<cuuint64_t>(stream, address, value, flags);
  });
}

CUresult cuStreamBatchMemOp_v2(CUstream handle, unsigned int count,
                               CUstreamBatchMemOpParams* operations, unsigned int flags) {
  return with_stream(handle, [&](const StreamRef& stream) {
    if (flags != 0 || count > 256 || (count > 0 && operations == nullptr)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    for (unsigned i = 0; i < count; ++i) {
      if (const CUresult error = run_operation(stream, operations[i]); error != CUDA_SUCCESS) {
        return error;
      }
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace braid::vgpu::driver
