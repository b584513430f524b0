// cuBLASLt contexts, versions and logging.
#include <cuda_runtime_api.h>

#include <atomic>
#include <new>
#include <string>

#include "vgpu/cublas/gemm/log.hpp"
#include "vgpu/cublas/lt/descriptors.hpp"

using braid::vgpu::gemm::fail_call;
using braid::vgpu::gemm::Log;

namespace {

constexpr int kMaxLogLevel = 5;
constexpr int kErrorLevel = 1;  // all that is logged here are errors
std::atomic<size_t> heuristics_cache_capacity{8192};
std::atomic<unsigned> disabled_cpu_instructions{0};

}  // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t* lightHandle) {
  if (lightHandle == nullptr) {
    return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE, "the handle pointer is null");
  }
  int device = 0;
  if (!braid::vgpu::gemm::open_device(device)) {
    return fail_call(__func__, CUBLAS_STATUS_NOT_INITIALIZED, "there is no virtual GPU");
  }
  auto* context = new (std::nothrow) cublasLtContext;
  if (context == nullptr) {
    return fail_call(__func__, CUBLAS_STATUS_ALLOC_FAILED, "out of host memory");
  }
  context->device = device;
  *lightHandle = context;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t lightHandle) {
  if (!braid::vgpu::gemm::is_alive(lightHandle)) {
    return fail_call(__func__, CUBLAS_STATUS_NOT_INITIALIZED,
                     "the handle is null or was destroyed");
  }
  delete lightHandle;
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasLtGetStatusName(cublasStatus_t status) {
  return braid::vgpu::gemm::status_name(status);
}

const char* cublasLtGetStatusString(cublasStatus_t status) {
  return braid::vgpu::gemm::status_text(status);
}

size_t cublasLtGetVersion(void) { return CUBLAS_VERSION; }

size_t cublasLtGetCudartVersion(void) { return CUDART_VERSION; }

cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL) {
    return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE, "no such property, or no place for it");
  }
  const int version[] = {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH};
  *value = version[type];
  return CUBLAS_STATUS_SUCCESS;
}

// The search is quick enough to need no cache; its capacity is kept for those who ask.
cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t* capacity) {
  if (capacity == nullptr) {
    return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE, "the result pointer is null");
  }
  *capacity = heuristics_cache_capacity;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t capacity) {
  heuristics_cache_capacity = capacity;
  return CUBLAS_STATUS_SUCCESS;
}

unsigned cublasLtDisableCpuInstructionsSetMask(unsigned mask) {
  return disabled_cpu_instructions.exchange(mask);
}

cublasStatus_t cublasLtLoggerSetCallback(cublasLtLoggerCallback_t callback) {
  if (callback == nullptr) {
    Log::instance().set_callback(nullptr);
  } else {
    Log::instance().set_callback([callback](const char* function, const char* message) {
      callback(kErrorLevel, function, message);
    });
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtLoggerSetFile(FILE* file) {
  Log::instance().set_stream(file);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtLoggerOpenFile(const char* logFile) {
  if (logFile == nullptr || !Log::instance().open_file(logFile)) {
    return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE,
                     std::string("cannot write the log file ") + (logFile ? logFile : "(null)"));
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtLoggerSetLevel(int level) {
  if (level < 0 || level > kMaxLogLevel) {
    return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE,
                     "log level " + std::to_string(level) + " is not in 0 … 5");
  }
  Log::instance().set_enabled(level >= kErrorLevel);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtLoggerSetMask(int mask) {
  Log::instance().set_enabled((mask & kErrorLevel) != 0);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtLoggerForceDisable() {
  Log::instance().disable_forever();
  return CUBLAS_STATUS_SUCCESS;
}
