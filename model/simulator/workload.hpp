// A trace as work to be replayed: devices, streams and what each host thread issues on them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/result.hpp"
#include "model/cost/communication.hpp"
#include "model/topology.hpp"
#include "model/trace.hpp"

namespace braid::model {

enum class OpKind {
  kGemm,
  kKernel,
  kCopy,
  kCollective,
  kMessages,  // the sends and receives of one group on one communicator
  kEventRecord,
  kStreamWait,
  kHostFunction,
  kWaitValue,
  kWriteValue,
  kHostWait,  // blocks its thread
};

/// One send or receive of a kMessages op.
struct Message {
  int peer = 0;  // rank in the communicator
  bool sends = false;
  uint64_t bytes = 0;
};

/// One thing a host thread issues, in the order of the trace.
struct Op {
  OpKind kind = OpKind::kKernel;
  uint32_t record = 0;    // index into RankTrace::records
  int device = -1;        // index into Workload::devices
  int stream = 0;         // index into that device's streams; 0 is the legacy default stream
  int thread = 0;         // index into its Program's threads
  int communicator = -1;  // index into Workload::communicators
  uint64_t order = 0;     // number of the collective on its communicator, on this rank
  std::vector<Message> messages;
};

struct StreamInfo {
  uint32_t id = 0;       // in the trace
  int priority = 0;      // lower runs first
  bool blocking = true;  // takes part in the legacy default stream's rules
};

/// One virtual or real GPU of the traced run: a rank.
struct DeviceInfo {
  int file = 0;                     // index into Trace::ranks
  int ordinal = 0;                  // as the process numbers it
  int rank = 0;                     // in the job
  int gpu = -1;                     // index into Topology::gpus
  std::vector<StreamInfo> streams;  // [0]: the legacy default stream
};

struct CommunicatorInfo {
  uint64_t hash = 0;
  std::string name;
  std::vector<int> devices;  // by rank
};

/// The threads of one process that issue to the same devices, and what they issue in trace order. A
/// record is never issued before those that stood before it in the file: threads hand work to each
/// other (autograd does) in ways a trace does not hold. Only host waits let other threads pass.
struct Program {
  int file = 0;
  int threads = 0;
  std::vector<Op> ops;
};

struct Workload {
  std::vector<DeviceInfo> devices;
  std::vector<CommunicatorInfo> communicators;
  std::vector<Program> programs;
  std::vector<std::string> warnings;
};

/// Reads the executed work out of a trace (records flagged kUserCall or kInCapture are left out),
/// places devices on the topology's GPUs — by bus id where all match, else by ordinal, else by rank
/// — and checks that the ranks of each communicator made the same calls in the same order. In a run
/// with a cut trace the work that has no partner is dropped, with a warning; else it is an error,
/// as are a wait for an event that was never recorded and more ranks than GPUs.
Result<Workload> build_workload(const trace::Trace& trace, const Topology& topology);

/// The call of a collective record.
CollectiveCall call_of(const trace::Collective& record);

}  // namespace braid::model
