// Every BRAID_* environment variable, in one typed object that is read once and validated.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/result.hpp"

namespace braid::config {

enum class Mode { kOff, kObserve, kAuto };
enum class OnError { kFail, kStock };
enum class UnknownKernels { kError, kSkip };

/// Bits of BRAID_DEBUG_SUBSYS.
enum Subsystem : uint32_t {
  kSubsysInit = 1u << 0,
  kSubsysNccl = 1u << 1,
  kSubsysCublas = 1u << 2,
  kSubsysLedger = 1u << 3,
  kSubsysAgreement = 1u << 4,
  kSubsysPlan = 1u << 5,
  kSubsysTuner = 1u << 6,
  kSubsysVgpu = 1u << 7,
  kSubsysAll = ~0u,
};

/// How much is written to stderr. Each level includes those above it.
enum class DebugLevel { kNone, kWarn, kInfo, kTrace };

/// The process's settings. Immutable after read_environment; safe to read from any thread.
struct Environment {
  /// BRAID_MODE = off | observe | auto. off: exactly stock. observe: record only. auto: rewrite
  /// what the policy allows. Default: observe (a bare preload records, if BRAID_TRACE_DIR is set).
  Mode mode = Mode::kObserve;
  /// Whether BRAID_MODE was set at all. The tuner plugin loaded without the preload library follows
  /// BRAID_POLICY unless a mode was asked for.
  bool mode_is_set = false;
  /// BRAID_POLICY = path of a TOML policy file. Default: none.
  std::string policy_path;
  /// BRAID_FROZEN = 0 | 1. 1: the policy is carried out as it stands, nothing is learned.
  bool frozen = false;
  /// BRAID_PLAN_OUT = path for the final plan: the policy with a [[plan]] entry for each collective
  /// that was made in parts, written by rank 0, for a later run with BRAID_FROZEN=1. Default: not
  /// written.
  std::string plan_out;
  /// BRAID_TRACE_DIR = folder for one trace file a rank. Default: no trace.
  std::string trace_dir;
  /// BRAID_ON_ERROR = fail | stock. What a broken policy does: fail communicator creation with the
  /// reason, or run as stock. Default: fail.
  OnError on_error = OnError::kFail;
  /// BRAID_METRICS = path of a Prometheus text file, rewritten while the job runs. Default: none.
  std::string metrics_path;
  /// BRAID_VERIFY = N. Meant for: every Nth rewritten call is run again on stock and
  /// compared. Read and agreed upon, not carried out yet; a warning says so. 0: never.
  uint64_t verify_every = 0;
  /// BRAID_DEBUG = none | warn | info | trace. Default: warn.
  DebugLevel debug = DebugLevel::kWarn;
  /// BRAID_DEBUG_SUBSYS = comma list of init,nccl,cublas,ledger,agreement,plan,tuner,vgpu,all; a
  /// leading ^ inverts the list. Default: all.
  uint32_t debug_subsystems = kSubsysAll;
  /// BRAID_SUMMARY = 0 | 1. 1: rank 0 prints a summary to stderr when the process ends. Default: 1
  /// under mode auto, else 0.
  bool summary = false;

  /// BRAID_VGPU_TOPOLOGY = NCCL topology XML that gives the virtual GPUs and their links.
  std::string vgpu_topology;
  /// BRAID_VGPU_SESSION = folder shared by the processes of one virtual box. Default: private.
  std::string vgpu_session;
  /// BRAID_VGPU_SMS = SM shares a virtual GPU has for running collectives (1..1024). Default: the
  /// SM count of the GPU model.
  int vgpu_sms = 0;
  /// BRAID_VGPU_QUEUES = hardware queues, 1..32. Default: CUDA_DEVICE_MAX_CONNECTIONS, else 8.
  int vgpu_queues = 0;
  /// BRAID_VGPU_SEED = seed of the adversarial scheduler. 0: fair, first in first out. Default: 0.
  uint64_t vgpu_seed = 0;
  /// BRAID_VGPU_COMPUTE = on | off. off: kernels, GEMMs, copies and collectives touch no memory
  /// (timelines of large shapes). Default: on.
  bool vgpu_compute = true;
  /// BRAID_VGPU_KERNELS = error | skip. What happens to a kernel with no host implementation.
  UnknownKernels vgpu_kernels = UnknownKernels::kError;
  /// BRAID_VGPU_KERNEL_PATH = colon list of shared libraries with host implementations of kernels.
  std::string vgpu_kernel_path;
  /// BRAID_VGPU_MEMORY = bytes of memory a virtual GPU has (64MiB, 24GiB …). Default: the model's.
  uint64_t vgpu_memory = 0;
};

/// One row of the documentation that `braid doctor` prints.
struct EnvironmentEntry {
  std::string name;
  std::string values;
  std::string default_value;
  std::string help;
};

/// The table of all variables, in the order of struct Environment.
const std::vector<EnvironmentEntry>& environment_table();

/// Reads and validates through `get` (getenv's contract). The first wrong value is the error; it
/// names the variable, the value and what was expected. Unknown BRAID_* names are not looked for
/// here (see unknown_variables).
Result<Environment> read_environment(const std::function<const char*(const char*)>& get);

/// Names in `environ` (NAME=VALUE strings) that start with BRAID_ and are not in the table, each
/// with the nearest known name, for a warning.
std::vector<std::string> unknown_variables(const char* const* environ_block);

/// The process's environment, read at the first call. A wrong value: the field keeps its default
/// and `environment_error()` holds the reason (a guest library must not stop its host).
const Environment& environment();
const std::optional<Error>& environment_error();

/// A variable that belongs to another product (NCCL_ALGO, CUDA_DEVICE_MAX_CONNECTIONS, …), or null
/// when unset or empty. Not cached: reads the process's environment now. `name` must not start with
/// BRAID_.
const char* foreign_variable(const char* name);

/// "64MiB", "1.5GB", "4096" → bytes. Suffixes, in any case: KiB MiB GiB TiB and the bare K M G T
/// are binary (as nccl-tests reads them), KB MB GB TB decimal, B or nothing bytes. The result must
/// be a whole number of bytes below 2^64.
Result<uint64_t> parse_size(const std::string& text);

/// The shortest text that parse_size reads back exactly, in binary units: 4096 → "4KiB".
std::string format_size(uint64_t bytes);

}  // namespace braid::config
