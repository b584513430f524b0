#include "cli/gpu_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace braid::cli {
namespace {

/// Where several models share a compute capability, a topology file cannot tell them apart. The one
/// taken is the commonest in boxes with that kind of links.
const char* preferred_model(int compute_capability, bool has_nvswitch) {
  switch (compute_capability) {
    case 80:
      return has_nvswitch ? "A100-SXM" : "A100-PCIe";
    case 86:
      return "A6000";
    case 89:
      return "L40S";
    case 90:
      return has_nvswitch ? "H200" : "H100-NVL";
    default:
      return "";
  }
}

}  // namespace

Result<GpuChoice> choose_gpu(const model::Topology& topology, const std::string& name) {
  if (!name.empty()) {
    auto found = model::find_gpu_model(name);
    if (!found) {
      return fail("--gpu " + name, found.error().what);
    }
    return GpuChoice{std::move(*found), "--gpu"};
  }
  const int capability = topology.gpus.empty() ? 0 : topology.gpus.front().compute_capability;
  const std::string why =
      fmt::format("sm {} in the topology; --gpu NAME chooses another", capability);
  if (auto preferred = model::find_gpu_model(
          preferred_model(capability, model::class_of(topology) == "nvswitch"))) {
    return GpuChoice{std::move(*preferred), why};
  }
  const auto candidates = model::gpu_models_with_capability(capability);
  if (!candidates.empty()) {
    return GpuChoice{*candidates.front(), why};
  }
  std::vector<std::string> names;
  for (const model::GpuModel& gpu : model::gpu_models()) {
    names.push_back(gpu.name);
  }
  return fail(topology.path,
              fmt::format("no GPU model is known for sm {}; choose one with --gpu: {}", capability,
                          fmt::join(names, ", ")));
}

}  // namespace braid::cli
