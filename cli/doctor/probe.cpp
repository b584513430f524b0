#include "cli/doctor/probe.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <vector>

#include "cli/doctor/live_gpus.hpp"
#include "cli/doctor/shared_library.hpp"
#include "cli/launch/process_group.hpp"
#include "cli/launch/scratch_folder.hpp"

namespace braid::cli {
namespace {

/// How a library tells its version: a function with one int pointer, or cuBLAS' property function.
enum class VersionCall { kIntPointer, kUnsignedPointer, kCublasProperty, kSizeResult, kNone };

struct KnownLibrary {
  const char* label;
  std::vector<const char*> names;  // sonames, newest first
  VersionCall call;
  const char* function;
};

const std::vector<KnownLibrary>& known_libraries() {
  static const std::vector<KnownLibrary> kLibraries = {
      {"driver", {"libcuda.so.1"}, VersionCall::kIntPointer, "cuDriverGetVersion"},
      {"NVML", {"libnvidia-ml.so.1"}, VersionCall::kNone, ""},
      {"NCCL", {"libnccl.so.2"}, VersionCall::kIntPointer, "ncclGetVersion"},
      {"CUDA runtime",
       {"libcudart.so.13", "libcudart.so.12"},
       VersionCall::kIntPointer,
       "cudaRuntimeGetVersion"},
      {"cuBLAS",
       {"libcublas.so.13", "libcublas.so.12"},
       VersionCall::kCublasProperty,
       "cublasGetProperty"},
      {"cuBLASLt",
       {"libcublasLt.so.13", "libcublasLt.so.12"},
       VersionCall::kSizeResult,
       "cublasLtGetVersion"},
      {"CUPTI",
       {"libcupti.so.13", "libcupti.so.12"},
       VersionCall::kUnsignedPointer,
       "cuptiGetVersion"},
  };
  return kLibraries;
}

std::string dotted(int version, int major_unit, int minor_unit) {
  return fmt::format("{}.{}.{}", version / major_unit, version % major_unit / minor_unit,
                     version % minor_unit);
}

std::string version_of(const SharedLibrary& library, const KnownLibrary& known) {
  switch (known.call) {
    case VersionCall::kIntPointer: {
      int (*get)(int*) = nullptr;
      int version = 0;
      if (!library.find(known.function, &get) || get(&version) != 0 || version == 0) {
        return "";
      }
      if (known.function == std::string("ncclGetVersion")) {
        return dotted(version, 10000, 100);
      }
      return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
    }
    case VersionCall::kUnsignedPointer: {
      int (*get)(uint32_t*) = nullptr;
      uint32_t version = 0;
      return library.find(known.function, &get) && get(&version) == 0
                 ? fmt::format("API {}", version)
                 : "";
    }
    case VersionCall::kCublasProperty: {
      int (*get)(int, int*) = nullptr;  // libraryPropertyType: 0 major, 1 minor, 2 patch
      int part[3] = {};
      if (!library.find(known.function, &get)) {
        return "";
      }
      for (int i = 0; i < 3; ++i) {
        if (get(i, &part[i]) != 0) {
          return "";
        }
      }
      return fmt::format("{}.{}.{}", part[0], part[1], part[2]);
    }
    case VersionCall::kSizeResult: {
      size_t (*get)() = nullptr;
      return library.find(known.function, &get) ? fmt::format("{}", get()) : "";
    }
    case VersionCall::kNone:
      break;
  }
  return "";
}

Json probe_library(const KnownLibrary& known) {
  Json row = {{"name", known.label},
              {"soname", known.names.front()},
              {"path", nullptr},
              {"version", nullptr},
              {"error", nullptr}};
  for (const char* name : known.names) {
    const SharedLibrary library(name);
    if (!library.loaded()) {
      if (row["error"].is_null()) {
        row["error"] = library.error();
      }
      continue;
    }
    const std::string version = version_of(library, known);
    row["soname"] = name;
    row["path"] = library.path();
    row["version"] = version.empty() ? Json(nullptr) : Json(version);
    row["error"] = nullptr;
    break;
  }
  return row;
}

Json probe_bindings() {
  Json bindings = Json::array();
  for (const char* symbol :
       {"ncclAllReduce", "ncclCommInitRank", "ncclGetUniqueId", "cublasGemmEx", "cublasLtMatmul"}) {
    const void* address = dlsym(RTLD_DEFAULT, symbol);
    bindings.push_back(
        {{"symbol", symbol},
         {"library", address == nullptr ? Json(nullptr) : Json(library_of(address))}});
  }
  return bindings;
}

Json probe_tuner(const std::string& path) {
  Json tuner = {{"path", path}, {"versions", Json::array()}, {"error", nullptr}};
  if (path.empty()) {
    tuner["error"] = "libnccl-tuner-braid.so was not found";
    return tuner;
  }
  const SharedLibrary library(path);
  if (!library.loaded()) {
    tuner["error"] = library.error();
    return tuner;
  }
  for (int version = 2; version <= 6; ++version) {
    void* table = nullptr;
    if (library.find(fmt::format("ncclTunerPlugin_v{}", version).c_str(), &table)) {
      tuner["versions"].push_back(version);
    }
  }
  if (tuner["versions"].empty()) {
    tuner["error"] = "exports no ncclTunerPlugin_v2 … _v6";
  }
  return tuner;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

}  // namespace

Json probe_this_process(const std::string& tuner_plugin) {
  Json answer;
  answer["bindings"] = probe_bindings();  // before anything else is loaded
  const LiveGpus live = probe_live_gpus();
  answer["gpus"] = Json::array();
  for (const LiveGpu& gpu : live.gpus) {
    answer["gpus"].push_back({{"name", gpu.name},
                              {"bus_id", gpu.bus_id},
                              {"sm", gpu.compute_capability},
                              {"memory_bytes", gpu.memory_bytes}});
  }
  answer["driver"] = live.driver.empty() ? Json(nullptr) : Json(live.driver);
  answer["gpu_reason"] = live.reason.empty() ? Json(nullptr) : Json(live.reason);
  answer["libraries"] = Json::array();
  for (const KnownLibrary& known : known_libraries()) {
    answer["libraries"].push_back(probe_library(known));
  }
  answer["tuner"] = probe_tuner(tuner_plugin);
  return answer;
}

Result<Json> probe_process(const std::string& program, const std::string& tuner_plugin,
                           const EnvironmentBlock& environment) {
  auto folder = ScratchFolder::make(environment.get_or("TMPDIR", "/tmp"), "braid-probe");
  if (!folder) {
    return tl::unexpected(folder.error());
  }
  const std::string answer_file = folder->path() + "/answer.json";
  ProcessGroupOptions options;
  options.log_file = folder->path() + "/log";
  std::vector<std::string> arguments = {program, "__probe", "--answer", answer_file};
  if (!tuner_plugin.empty()) {
    arguments.insert(arguments.end(), {"--tuner", tuner_plugin});
  }
  const auto end = run_processes({{program, arguments, environment.entries(), ""}}, options);
  if (!end) {
    return tl::unexpected(end.error());
  }
  const Json answer = Json::parse(read_file(answer_file), nullptr, false);
  if (end->status != 0 || answer.is_discarded()) {
    return fail(
        "probe",
        fmt::format("a process under this environment did not come through ({}): {}",
                    end->text.empty() ? "no answer" : end->text, read_file(options.log_file)));
  }
  return answer;
}

}  // namespace braid::cli
