// The profiler plugin of a communicator: events of groups, calls, operations and channels, told in
// the version the plugin speaks (v1 to v5).
#pragma once

#include <nccl.h>

#include <cstdint>
#include <memory>
#include <string>

#include "tuner_plugin/abi/profiler.hpp"

namespace braid::vgpu::nccl {

/// What there is to say about an event, in no version's layout. Unused fields stay empty.
struct EventFacts {
  uint32_t kind = 0;  // abi::ProfilerEventKind
  void* parent = nullptr;
  void* parent_group = nullptr;
  abi::Function function = abi::kAllReduce;
  uint64_t sequence = 0;
  const void* send = nullptr;
  void* receive = nullptr;  // a point-to-point operation's only buffer
  size_t count = 0;
  ncclDataType_t datatype = ncclInt8;
  uint32_t operation = 0;
  int root = 0;
  int peer = 0;
  size_t traffic_bytes = 0;
  int channels = 0;
  const char* algorithm = "";
  const char* protocol = "";
  int algorithm_index = 0, protocol_index = 0;
  int channel = 0;
  uint64_t start_time = 0;  // ns
  void* stream = nullptr;
  int depth = 0;
};

class ProfilerSession {
 public:
  struct Identity {
    uint64_t communicator = 0;
    std::string name;
    int ranks = 0;
    int rank = 0;
  };

  /// Loads the plugin if none is loaded (NCCL_PROFILER_PLUGIN, libnccl-profiler.so, the net
  /// plugin's library) and starts it for a communicator. `*session` stays null without a plugin or
  /// when its init fails: that is logged and ignored.
  static void open(Identity identity, std::unique_ptr<ProfilerSession>* session);
  ~ProfilerSession();
  ProfilerSession(const ProfilerSession&) = delete;
  ProfilerSession& operator=(const ProfilerSession&) = delete;

  /// Starts an event if its kind is switched on in the process-wide mask and the version has it.
  /// Null: nothing more is to be said about it. Any thread.
  void* start(const EventFacts& facts);
  /// Ends an event; null is allowed.
  void stop(void* event);
  /// A channel of a kernel stopped at this time (ns).
  void record_kernel_stop(void* event, uint64_t stop_time);
  /// The user's GroupStart returned, or GroupEnd was called.
  void record_group_state(void* event, abi::ProfilerEventState state);

 private:
  ProfilerSession() = default;
  Identity identity_;
  const void* plugin_ = nullptr;
  int version_ = 0;
  void* context_ = nullptr;
};

/// "AllReduce", as NCCL names functions to plugins.
const char* name_of(abi::Function function);

/// The virtual GPU's globaltimer: nanoseconds of the machine's monotonic clock.
uint64_t read_global_timer();

}  // namespace braid::vgpu::nccl
