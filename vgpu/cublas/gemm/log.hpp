// Failures: where the library's own logging sends them, and what is said about missing features.
#pragma once

#include <cublas_api.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>

namespace braid::vgpu::gemm {

/// Where messages go (cublasLoggerConfigure, cublasLtLogger…). All functions may be called from any
/// thread; a callback is called without a lock held.
class Log {
 public:
  using Callback = std::function<void(const char* function, const char* message)>;

  static Log& instance();

  void set_enabled(bool enabled);
  /// Switches logging off for good.
  void disable_forever();
  void set_standard_streams(bool to_stdout, bool to_stderr);
  /// A stream of the caller's, which stays open; nullptr: none.
  void set_stream(FILE* stream);
  /// Opens `path` for writing; false when that fails.
  bool open_file(const char* path);
  void set_callback(Callback callback);

  void write(const char* function, const std::string& message);

 private:
  struct State;
  Log();
  std::unique_ptr<State> state_;
};

/// Logs the failure and returns its status. What is not supported is also named on stderr, once for
/// each distinct text: it must not pass unnoticed.
cublasStatus_t fail_call(const char* function, cublasStatus_t status, const std::string& why);

}  // namespace braid::vgpu::gemm
