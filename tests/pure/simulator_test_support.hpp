// Boxes, a round-figure GPU and short traces for simulator tests.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "model/gpu.hpp"
#include "model/simulator.hpp"
#include "model/topology.hpp"
#include "model/trace_builder.hpp"

namespace braid::model::test {

inline std::string gpu_bus(int gpu) {
  static const char* const kDigits = "0123456789abcdef";
  return std::string("0000:1") + kDigits[gpu] + ":00.0";
}

/// GPUs on root ports of one AMD socket, PCIe 4 x16, NVLink bridges between 0-1, 2-3, … if asked.
inline Topology make_box(int gpus, bool bridges = true) {
  std::string xml =
      "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" "
      "vendor=\"AuthenticAMD\" familyid=\"23\" modelid=\"49\">";
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const std::string n = std::to_string(gpu);
    xml += "<pci busid=\"" + gpu_bus(gpu) +
           "\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"" + n +
           "\" sm=\"86\" rank=\"" + n + "\" gdr=\"0\">";
    if (bridges && (gpu ^ 1) < gpus) {
      xml += "<nvlink target=\"" + gpu_bus(gpu ^ 1) + "\" count=\"4\" tclass=\"0x030200\"/>";
    }
    xml += "</gpu></pci>";
  }
  return read_topology_text(xml + "</cpu></system>", "box.xml").value();
}

/// Next to no fixed costs, so that times follow from shapes alone.
inline GpuModel plain_gpu() {
  GpuModel gpu = find_gpu_model("A6000").value();
  gpu.launch_us = 0.001;
  gpu.collective_launch_us = 0.001;
  gpu.kernel_start_us = 0;
  return gpu;
}

using Build = std::function<void(trace::TraceBuilder&, int rank)>;

/// One file a rank, each with its device record, filled by `build`.
inline trace::Trace make_trace(int ranks, const Build& build) {
  trace::Trace trace;
  for (int rank = 0; rank < ranks; ++rank) {
    trace::TraceBuilder builder(rank, ranks);
    builder.device(rank, gpu_bus(rank));
    build(builder, rank);
    builder.end();
    trace.ranks.push_back(builder.build());
  }
  return trace;
}

inline SimulationOptions no_steps() {
  SimulationOptions options;
  options.require_steps = false;
  return options;
}

inline SimulationResult run(const trace::Trace& trace, const Topology& box,
                            const GpuModel& gpu = plain_gpu(),
                            const SimulationOptions& options = no_steps()) {
  Result<SimulationResult> result = simulate(trace, box, gpu, options);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().text());
  return result.value_or(SimulationResult{});
}

/// Items of one rank and category, by start.
inline std::vector<TimelineItem> items(const SimulationResult& result, int rank,
                                       const std::string& category) {
  std::vector<TimelineItem> found;
  for (const TimelineItem& item : result.timeline) {
    if (item.rank == rank && item.category == category) {
      found.push_back(item);
    }
  }
  return found;
}

inline double length(const TimelineItem& item) { return item.end_us - item.start_us; }

}  // namespace braid::model::test
