// A job that writes the trace a real one would leave, without CUDA: for tests of the commands
// alone.
//   traced_job [--steps N] [--result FILE] [--fail-under ENV=VALUE]
// RANK and WORLD_SIZE as torchrun sets them; BRAID_TRACE_DIR and BRAID_MODE as braid sets them.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "model/trace_builder.hpp"

namespace trace = braid::model::trace;

namespace {

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

void write_trace(const std::string& folder, int rank, int ranks, int steps, bool rewritten) {
  static const char* const kBusIds[] = {"0000:10:00.0", "0000:11:00.0"};
  trace::TraceBuilder builder(rank, ranks);
  builder.device(rank, kBusIds[rank]);
  for (const char* name : {"NCCL_ALGO", "NCCL_PROTO", "NCCL_P2P_LEVEL"}) {
    if (std::getenv(name) != nullptr) {
      builder.setting(name, std::getenv(name));
    }
  }
  const uint32_t compute = builder.stream(0, true, rank);
  const uint32_t side = builder.stream(-5, true, rank);
  const uint32_t communicator = builder.communicator(99, rank, ranks, rank);
  const uint64_t count = 32ull << 20;
  uint32_t event = 0;
  for (int step = 0; step < steps; ++step) {
    const int parts = rewritten ? 4 : 1;
    if (rewritten) {
      builder.with_flags(trace::kUserCall).gemm(compute, 4096, 8192, 4096);
      builder.with_flags(trace::kIssuedByBraid);
    }
    for (int part = 0; part < parts; ++part) {
      builder.gemm(compute, 4096 / static_cast<uint64_t>(parts), 8192, 4096);
      builder.record_event(compute, ++event);
    }
    if (rewritten) {
      builder.with_flags(trace::kUserCall);
      builder.collective(compute, communicator, trace::CollectiveFunction::kAllReduce, count);
      builder.with_flags(trace::kIssuedByBraid);
    }
    for (int part = 0; part < parts; ++part) {
      builder.wait_event(side, event - static_cast<uint32_t>(parts - 1 - part));
      builder.collective(side, communicator, trace::CollectiveFunction::kAllReduce,
                         count / static_cast<uint64_t>(parts));
    }
    builder.record_event(side, ++event);
    builder.wait_event(compute, event);
    builder.with_flags(0);
  }
  builder.end();
  const auto written = builder.write(folder + "/rank-" + std::to_string(rank) + ".braidtrace");
  if (!written) {
    std::fprintf(stderr, "%s\n", written.error().text().c_str());
    std::exit(9);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int steps = 6;
  std::string result;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i], value = argv[i + 1];
    if (option == "--steps") {
      steps = std::stoi(value);
    } else if (option == "--result") {
      result = value;
    } else if (option == "--fail-under") {
      const size_t equals = value.find('=');
      if (variable(value.substr(0, equals).c_str(), "") == value.substr(equals + 1)) {
        std::fprintf(stderr, "failing as asked\n");
        return 3;
      }
    }
  }
  const int rank = std::stoi(variable("RANK", "0"));
  const int ranks = std::stoi(variable("WORLD_SIZE", "1"));
  const std::string folder = variable("BRAID_TRACE_DIR", "");
  const bool rewritten = variable("BRAID_MODE", "") == "auto";
  if (!folder.empty()) {
    write_trace(folder, rank, ranks, steps, rewritten);
  }
  if (!result.empty() && rank == 0) {
    const float values[] = {1.0f, rewritten ? 2.5f : 2.0f};
    std::ofstream(result, std::ios::binary)
        .write(reinterpret_cast<const char*>(values), sizeof values);
  }
  return 0;
}
