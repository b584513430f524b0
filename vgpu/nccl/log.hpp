// NCCL's log: NCCL_DEBUG, NCCL_DEBUG_SUBSYS, NCCL_DEBUG_FILE, and the text of ncclGetLastError.
#pragma once

#include <nccl.h>

#include "tuner_plugin/abi/common.hpp"

namespace braid::vgpu::nccl {

/// Writes one line in NCCL's form ("host:pid:tid [device] NCCL INFO …") when `level` and
/// `subsystems` are switched on. A warning also becomes the last error's text, whether it is shown
/// or not. Has the type of abi::Logger, so plugins are handed this very function. Any thread.
void write_log(abi::LogLevel level, unsigned long subsystems, const char* file, int line,
               const char* format, ...) __attribute__((format(printf, 5, 6)));

/// Logs a warning and answers `code`: how every refusal of an argument or a state ends.
ncclResult_t reject(ncclResult_t code, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

/// The text of the last warning of this process, copied for the calling thread ("" before any).
const char* last_error();

/// Forgets the log settings; the next line reads them again (ncclResetDebugInit).
void reset_log();

/// An informational line of one subsystem.
#define BRAID_NCCL_INFO(subsystem, ...)                                                   \
  ::braid::vgpu::nccl::write_log(::braid::abi::kLogInfo, (subsystem), __FILE__, __LINE__, \
                                 __VA_ARGS__)

/// Returns from the enclosing function with the first result that is not a success.
#define BRAID_NCCL_TRY(expression)                                     \
  do {                                                                 \
    if (ncclResult_t result_ = (expression); result_ != ncclSuccess) { \
      return result_;                                                  \
    }                                                                  \
  } while (false)

}  // namespace braid::vgpu::nccl
