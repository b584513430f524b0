// Which GPU model a prediction uses.
#pragma once

#include <string>

#include "config/result.hpp"
#include "model/gpu.hpp"
#include "model/topology.hpp"

namespace braid::cli {

struct GpuChoice {
  model::GpuModel gpu;
  std::string why;  // "--gpu", or "sm 86 in the topology; --gpu NAME chooses another"
};

/// By name when one is given, else by the compute capability in the topology file. Errors list the
/// known names.
Result<GpuChoice> choose_gpu(const model::Topology& topology, const std::string& name);

}  // namespace braid::cli
