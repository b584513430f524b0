#include "interposer/recorder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "config/diagnostics.hpp"
#include "config/digest.hpp"
#include "config/environment.hpp"
#include "interposer/driver_api.hpp"
#include "interposer/process_state.hpp"
#include "interposer/refusal.hpp"

extern char** environ;

namespace braid::interposer {
namespace trace = model::trace;
namespace {

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

// RANK and WORLD_SIZE as torchrun sets them; -1 otherwise (a communicator tells later).
int launcher_number(const char* name) {
  const char* text = std::getenv(name);
  char* end = nullptr;
  const long value = text != nullptr ? std::strtol(text, &end, 10) : -1;
  return text != nullptr && end != text && *end == '\0' && value >= 0 && value < (1 << 24)
             ? static_cast<int>(value)
             : -1;
}

trace::FileHeader make_header() {
  trace::FileHeader header{};
  std::memcpy(header.magic, trace::kMagic, sizeof(header.magic));
  header.version = trace::kVersion;
  header.header_bytes = sizeof(header);
  // Several ranks may live in this process as threads: only a launcher's one-process-a-rank
  // environment is believed here.
  header.rank = launcher_number("RANK");
  header.world_size = header.rank >= 0 ? launcher_number("WORLD_SIZE") : -1;
  header.process_id = getpid();
  header.mode = static_cast<int32_t>(config::environment().mode);
  header.host_hash = config::digest_of(host_name());
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  header.start_unix_ns =
      static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
  return header;
}

// Settings that change timing travel with the trace; nothing else of the environment does.
void write_settings(TraceFile& file) {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    if (equals == std::string_view::npos ||
        !(name.starts_with("NCCL_") || name == "CUDA_DEVICE_MAX_CONNECTIONS" ||
          name == "CUDA_LAUNCH_BLOCKING" || name == "CUDA_VISIBLE_DEVICES")) {
      continue;
    }
    const trace::Setting setting{file.intern(name), file.intern(text.substr(equals + 1))};
    file.append(trace::RecordType::kSetting, 0, trace::kNoStream, &setting, sizeof(setting));
  }
}

void write_device(TraceFile& file, int device) {
  const DriverApi* driver = driver_api();
  if (driver == nullptr) {
    return;
  }
  RealCallGuard guard;
  char name[256] = {};
  char bus_id[64] = {};
  int major = 0;
  int minor = 0;
  size_t memory = 0;
  trace::Device record{};
  record.ordinal = device;
  driver->device_get_name(name, sizeof(name), device);
  driver->device_get_pci_bus_id(bus_id, sizeof(bus_id), device);
  driver->device_get_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  driver->device_get_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  driver->device_get_attribute(&record.sm_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  driver->device_total_mem(&memory, device);
  record.compute_capability = major * 10 + minor;
  record.name = file.intern(name);
  record.bus_id = file.intern(bus_id);
  record.memory_bytes = memory;
  file.append(trace::RecordType::kDevice, 0, trace::kNoStream, &record, sizeof(record));
}

}  // namespace

Recorder& Recorder::instance() {
  static auto* recorder = new Recorder();  // never destroyed: hooks run until the very end
  return *recorder;
}

Recorder::Recorder() {
  const std::string& folder = config::environment().trace_dir;
  if (folder.empty()) {
    return;
  }
  if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
    BRAID_WARN(Init, "recorder", "BRAID_TRACE_DIR=%s: cannot be created: %s; nothing is recorded",
               folder.c_str(), strerror(errno));
    return;
  }
  enabled_.store(true, std::memory_order_relaxed);
}

TraceFile* Recorder::file_of(int device) {
  if (!is_enabled() || device < 0 || device >= kMaxDevices) {
    return nullptr;
  }
  TraceFile* file = files_[device].load(std::memory_order_acquire);
  return file != nullptr ? file : create_file(device);
}

TraceFile* Recorder::create_file(int device) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (TraceFile* file = files_[device].load(std::memory_order_acquire)) {
    return file;
  }
  const std::string path = config::environment().trace_dir + "/" + host_name() + "-" +
                           std::to_string(getpid()) + "-dev" + std::to_string(device) +
                           ".braidtrace";
  auto file = std::make_unique<TraceFile>(path, make_header());
  if (!file->is_open()) {
    enabled_.store(false, std::memory_order_relaxed);
    return nullptr;
  }
  write_settings(*file);
  write_device(*file, device);
  files_[device].store(file.get(), std::memory_order_release);
  return file.release();  // lives until the process ends
}

void Recorder::close() {
  if (!enabled_.exchange(false)) {
    return;
  }
  bool refusals_written = false;  // they are counted for the process, so one file carries them
  for (auto& slot : files_) {
    TraceFile* file = slot.load(std::memory_order_acquire);
    if (file == nullptr) {
      continue;
    }
    if (!refusals_written) {
      refusals_written = true;
      for (const auto& [reason, count] : refusals().snapshot()) {
        const trace::Refusal record{file->intern(name_of(reason)), 0, count};
        file->append(trace::RecordType::kRefusal, 0, trace::kNoStream, &record, sizeof(record));
      }
    }
    file->close();
  }
}

}  // namespace braid::interposer
