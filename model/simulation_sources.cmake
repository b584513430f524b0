# Sources of the trace reader, the GPU figures, the cost models and the simulator.
# Paths are relative to model/; the GPU table is compiled in from config/gpus.toml.
set(BRAID_GPU_TABLE "${PROJECT_SOURCE_DIR}/config/gpus.toml")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${BRAID_GPU_TABLE}")
file(READ "${BRAID_GPU_TABLE}" BRAID_GPU_TABLE_TEXT)
configure_file("${CMAKE_CURRENT_LIST_DIR}/gpu_table.hpp.in"
               "${PROJECT_BINARY_DIR}/generated/model/gpu_table.hpp" @ONLY)

list(APPEND BRAID_MODEL_SOURCES
  closed_form.cpp
  cost/communication.cpp
  cost/gemm.cpp
  cost/kernel.cpp
  gpu.cpp
  simulator/collectives.cpp
  simulator/compute.cpp
  simulator/engine.cpp
  simulator/flows.cpp
  simulator/matching.cpp
  simulator/placement.cpp
  simulator/prediction.cpp
  simulator/replay.cpp
  simulator/report.cpp
  simulator/steps.cpp
  simulator/stream_values.cpp
  simulator/streams.cpp
  simulator/workload.cpp
  trace.cpp
  trace_builder.cpp)
