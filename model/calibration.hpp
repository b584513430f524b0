// Measured constants of one machine: a versioned TOML file per GPU, driver, NCCL and topology.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/policy.hpp"
#include "config/result.hpp"
#include "model/link_capacities.hpp"
#include "model/trace_format.hpp"

namespace braid::model {

inline constexpr const char* kCalibrationSchema = "braid-calibration/1";

/// What a calibration holds for; all of it must match for the file to be used.
struct CalibrationKey {
  std::string gpu;       // device name
  std::string driver;    // "580.65.06"
  int nccl_version = 0;  // 22809
  uint64_t topology_digest = 0;
  std::string measured_on;  // host name and date, for reports; not compared
  bool paced_virtual =
      false;  // measured on virtual GPUs with a paced clock: never used on real ones
};

/// How well a line fits its points.
struct FitQuality {
  double r_squared = 0;
  double residual_p95 = 0;  // 95th percentile of |measured - fitted| / measured
  int points = 0;
};

/// time_us = alpha_us + bytes / (gbps·1e3) for bytes in [low, high).
struct CollectiveFit {
  config::Collective collective = config::Collective::kAllReduce;
  std::string scheme = "stock";
  std::string algorithm, protocol;  // "" = what the library chose
  uint64_t ranks = 0;
  uint64_t low = 0, high = 0;
  double alpha_us = 0, gbps = 0;
  int channels = 0;
  FitQuality quality;
  int line = 0;
};

/// A GEMM that was measured; precedence over the modelled time.
struct GemmMeasurement {
  uint64_t m = 0, n = 0, k = 0, batch = 1;
  trace::ElementType type = trace::ElementType::kBf16;
  int parts = 1;       // rows cut into so many equal parts, all launched back to back
  double time_us = 0;  // median of all parts together
  double spread = 0;   // (p75 - p25) / median
  int line = 0;
};

/// A GEMM and a collective at once: by how much each is slowed.
struct ContentionFit {
  config::Collective collective = config::Collective::kAllReduce;
  int channels = 0;
  double compute_slowdown = 1, transfer_slowdown = 1;  // κ_c, κ_m of seeds_digest §1.2
  int line = 0;
};

struct KernelDuration {
  std::string name;  // demangled
  double time_us = 0;
  uint64_t blocks = 0;
  int line = 0;
};

struct Calibration {
  std::string path;     // "" = none
  uint64_t digest = 0;  // of the file's bytes; part of what ranks agree on
  CalibrationKey key;
  double launch_us = 0, collective_launch_us = 0, kernel_start_us = 0;  // 0: not measured
  std::vector<CapacityOverride> links;
  std::vector<CollectiveFit> collectives;
  std::vector<GemmMeasurement> gemms;
  std::vector<ContentionFit> contention;
  std::vector<KernelDuration> kernels;
};

/// Errors name file, line, key and value. A file that is cut off, of another schema version or
/// whose closing digest does not match is refused.
Result<Calibration> read_calibration_text(const std::string& text, const std::string& name);
Result<Calibration> read_calibration_file(const std::string& path);
/// The text read_calibration_text reads back to the same values, its last line the digest of all
/// before it.
std::string format_calibration(const Calibration& calibration);
/// Written beside and renamed; safe with several processes at once (last one wins, whole).
Status write_calibration_file(const std::string& path, const Calibration& calibration);
/// "FOLDER/GPU-DRIVER-NCCL-TOPOLOGY.toml" with unsafe characters replaced.
std::string calibration_file_name(const CalibrationKey& key);
/// The file for this key in a folder; an empty Calibration when there is none.
Result<Calibration> load_calibration(const std::string& folder, const CalibrationKey& key);

}  // namespace braid::model
