// Status texts and cuBLAS's own logging.
#include <cstdio>
#include <mutex>

#include "vgpu/cublas/api/context.hpp"

using braid::vgpu::gemm::fail_call;
using braid::vgpu::gemm::Log;

namespace {

std::mutex callback_mutex;
cublasLogCallback callback_in_use = nullptr;

}  // namespace

const char* cublasGetStatusName(cublasStatus_t status) {
  return braid::vgpu::gemm::status_name(status);
}

const char* cublasGetStatusString(cublasStatus_t status) {
  return braid::vgpu::gemm::status_text(status);
}

cublasStatus_t cublasLoggerConfigure(int logIsOn, int logToStdOut, int logToStdErr,
                                     const char* logFileName) {
  Log& log = Log::instance();
  if (logFileName != nullptr && !log.open_file(logFileName)) {
    return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE,
                     std::string("cannot write the log file ") + logFileName);
  }
  log.set_standard_streams(logToStdOut != 0, logToStdErr != 0);
  log.set_enabled(logIsOn != 0);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetLoggerCallback(cublasLogCallback userCallback) {
  const std::lock_guard lock(callback_mutex);
  callback_in_use = userCallback;
  if (userCallback == nullptr) {
    Log::instance().set_callback(nullptr);
  } else {
    Log::instance().set_callback([userCallback](const char* function, const char* message) {
      userCallback((std::string(function) + ": " + message).c_str());
    });
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetLoggerCallback(cublasLogCallback* userCallback) {
  if (userCallback == nullptr) {
    return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE, "the result pointer is null");
  }
  const std::lock_guard lock(callback_mutex);
  *userCallback = callback_in_use;
  return CUBLAS_STATUS_SUCCESS;
}

void cublasXerbla(const char* srName, int info) {
  std::fprintf(stderr, " ** On entry to %-6s parameter number %d had an illegal value\n", srName,
               info);
}
