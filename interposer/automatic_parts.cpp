#include "interposer/automatic_parts.hpp"

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include "config/diagnostics.hpp"
#include "config/environment.hpp"
#include "interposer/driver_api.hpp"
#include "interposer/plan_table.hpp"
#include "interposer/process_state.hpp"
#include "model/bus_id.hpp"
#include "model/cost/communication.hpp"
#include "model/gpu.hpp"
#include "model/stock_nccl.hpp"
#include "model/topology.hpp"
#include "policies/decompose.hpp"

extern char** environ;

namespace braid::interposer {
namespace {

// What the model knows of one communicator.
struct NetworkModel {
  model::StockPlan plan;
  std::vector<int> gpus;  // indices into the topology, in rank order
};

// What the model knows of the box: read once, at the first decision.
struct BoxModel {
  std::optional<model::Topology> topology;
  std::unique_ptr<model::CommunicationModel> network;
  std::optional<model::GpuModel> gpu;
  model::NcclSettings settings;
  std::map<std::vector<std::string>, std::optional<NetworkModel>> communicators;
};

std::string topology_path(const config::Policy& policy) {
  if (!policy.topology.empty()) {
    return policy.topology;
  }
  if (!config::environment().vgpu_topology.empty()) {
    return config::environment().vgpu_topology;
  }
  const char* nccl = std::getenv("NCCL_TOPO_FILE");
  return nccl != nullptr ? nccl : "";
}

std::string gpu_name(const config::Policy& policy) {
  if (!policy.gpu.empty()) {
    return policy.gpu;
  }
  char name[256] = {};
  RealCallGuard guard;
  const DriverApi* driver = driver_api();
  if (driver == nullptr || driver->device_get_name(name, sizeof(name), 0) != CUDA_SUCCESS) {
    return "";
  }
  return name;
}

model::NcclSettings nccl_settings() {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const size_t equals = text.find('=');
    if (equals != std::string::npos && text.starts_with("NCCL_")) {
      pairs.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  Result<model::NcclSettings> settings = model::read_nccl_settings(pairs);
  return settings ? *settings : model::NcclSettings{};
}

BoxModel load_box(const config::Policy& policy) {
  BoxModel box;
  const std::string path = topology_path(policy);
  if (path.empty()) {
    BRAID_WARN(Plan, "planner",
               "parts = \"auto\" needs a topology: set `topology` in the policy or NCCL_TOPO_FILE");
    return box;
  }
  Result<model::Topology> topology = model::read_topology_file(path);
  Result<model::GpuModel> gpu = model::find_gpu_model(gpu_name(policy));
  if (!topology || !gpu) {
    BRAID_WARN(Plan, "planner", "parts = \"auto\": %s",
               (topology ? gpu.error() : topology.error()).text().c_str());
    return box;
  }
  box.gpu = *gpu;
  box.settings = nccl_settings();
  box.network = std::make_unique<model::CommunicationModel>(*topology);
  box.topology = std::move(*topology);
  return box;
}

std::optional<NetworkModel> model_communicator(const config::Policy& policy, const BoxModel& box,
                                               const std::vector<std::string>& bus_ids) {
  NetworkModel network;
  for (const std::string& bus_id : bus_ids) {
    const std::optional<uint64_t> wanted = model::parse_bus_id(bus_id);
    for (size_t i = 0; wanted && i < box.topology->gpus.size(); ++i) {
      if (model::parse_bus_id(box.topology->gpus[i].bus_id) == wanted) {
        network.gpus.push_back(static_cast<int>(i));
      }
    }
  }
  if (network.gpus.size() != bus_ids.size()) {
    BRAID_WARN(Plan, "planner",
               "the topology does not hold all GPUs of a communicator of %zu ranks",
               bus_ids.size());
    return std::nullopt;
  }
  Result<model::StockPlan> plan = model::plan_stock(*box.topology, network.gpus, box.settings);
  if (!plan) {
    BRAID_WARN(Plan, "planner", "%s", plan.error().text().c_str());
    return std::nullopt;
  }
  network.plan = std::move(*plan);
  // braid's own tuner acts on this policy; another one answers for itself.
  const char* tuner = std::getenv("NCCL_TUNER_PLUGIN");
  if (tuner != nullptr && std::string(tuner).find("braid") != std::string::npos) {
    network.plan.tuner_rules = policy.tuner_rules;
  }
  return network;
}

}  // namespace

std::variant<std::vector<uint64_t>, Refusal> choose_boundaries(
    const config::Policy& policy, const config::Rule& rule, const std::vector<std::string>& bus_ids,
    uint64_t bytes, const GemmShape& shape) {
  static std::mutex mutex;
  static BoxModel* box = nullptr;  // never destroyed: the helper thread runs until the very end
  std::lock_guard<std::mutex> lock(mutex);
  if (box == nullptr) {
    box = new BoxModel(load_box(policy));
  }
  if (!box->topology) {
    return Refusal::kNoModel;
  }
  const auto [it, inserted] = box->communicators.try_emplace(bus_ids);
  if (inserted) {
    it->second = model_communicator(policy, *box, bus_ids);
  }
  if (!it->second) {
    return Refusal::kNoModel;
  }
  policies::DecomposeInputs inputs;
  inputs.gemm = {shape.m,
                 shape.n,
                 shape.k,
                 1,
                 static_cast<model::trace::ElementType>(shape.type),
                 static_cast<model::trace::ElementType>(shape.output_type)};
  inputs.bytes = bytes;
  inputs.ranks = static_cast<int>(bus_ids.size());
  inputs.gpu = &*box->gpu;
  inputs.plan = &it->second->plan;
  inputs.network = box->network.get();
  inputs.gpus = it->second->gpus;
  if (rule.cut != config::Cut::kEqual) {
    BRAID_LOG_ONCE(kWarn, Plan, "planner",
                   "line %d of the policy asks for another cut; parts are cut equally", rule.line);
  }
  const policies::Decision decision = policies::decide_parts(rule, inputs);
  BRAID_INFO(Plan, "planner", "GEMM %llux%llux%llu then %llu bytes over %d ranks: %d parts (%s)",
             static_cast<unsigned long long>(shape.m), static_cast<unsigned long long>(shape.n),
             static_cast<unsigned long long>(shape.k), static_cast<unsigned long long>(bytes),
             inputs.ranks, decision.parts, policies::name_of(decision.reason));
  if (decision.parts < 2) {
    return Refusal::kNoGain;
  }
  return equal_boundaries(shape.m, shape.n, static_cast<uint32_t>(decision.parts));
}

}  // namespace braid::interposer
