#include "vgpu/cublas/gemm/log.hpp"

#include <mutex>
#include <utility>

#include "vgpu/core/vgpu.hpp"
#include "vgpu/cublas/gemm/handle.hpp"

namespace braid::vgpu::gemm {

struct Log::State {
  std::mutex mutex;
  bool enabled = false;
  bool disabled_forever = false;
  bool to_stdout = false, to_stderr = false;
  FILE* stream = nullptr;
  std::unique_ptr<FILE, int (*)(FILE*)> file{nullptr, &std::fclose};
  Callback callback;
};

Log::Log() : state_(std::make_unique<State>()) {}

Log& Log::instance() {
  static Log* const log = new Log;  // outlives every exit handler that may still call cuBLAS
  return *log;
}

void Log::set_enabled(bool enabled) {
  const std::lock_guard lock(state_->mutex);
  state_->enabled = enabled;
}

void Log::disable_forever() {
  const std::lock_guard lock(state_->mutex);
  state_->disabled_forever = true;
}

void Log::set_standard_streams(bool to_stdout, bool to_stderr) {
  const std::lock_guard lock(state_->mutex);
  state_->to_stdout = to_stdout;
  state_->to_stderr = to_stderr;
}

void Log::set_stream(FILE* stream) {
  const std::lock_guard lock(state_->mutex);
  state_->stream = stream;
}

bool Log::open_file(const char* path) {
  FILE* const file = std::fopen(path, "w");
  const std::lock_guard lock(state_->mutex);
  if (file != nullptr) {
    state_->file.reset(file);
  }
  return file != nullptr;
}

void Log::set_callback(Callback callback) {
  const std::lock_guard lock(state_->mutex);
  state_->callback = std::move(callback);
}

void Log::write(const char* function, const std::string& message) {
  Callback callback;
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->enabled || state_->disabled_forever) {
      return;
    }
    const auto print = [&](FILE* stream) {
      std::fprintf(stream, "[%s] %s\n", function, message.c_str());
      std::fflush(stream);
    };
    if (state_->to_stdout) {
      print(stdout);
    }
    if (state_->to_stderr) {
      print(stderr);
    }
    if (state_->stream != nullptr) {
      print(state_->stream);
    }
    if (state_->file != nullptr) {
      print(state_->file.get());
    }
    callback = state_->callback;
  }
  if (callback) {
    callback(function, message.c_str());
  }
}

cublasStatus_t fail_call(const char* function, cublasStatus_t status, const std::string& why) {
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) {
    report_once(std::string(function) + ": not supported: " + why);
  }
  Log::instance().write(function, std::string(status_name(status)) + ": " + why);
  return status;
}

}  // namespace braid::vgpu::gemm
