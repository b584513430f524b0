// The tuner plugin of a communicator: found by NCCL's rules, called by its protocol (v2 to v5).
#pragma once

#include <nccl.h>

#include <memory>

#include "model/stock_nccl.hpp"
#include "tuner_plugin/abi/tuner.hpp"

namespace braid::vgpu::nccl {

/// One communicator's use of the process's tuner plugin.
class TunerSession {
 public:
  /// Loads the plugin at the first call of the process (NCCL_TUNER_PLUGIN, libnccl-tuner.so, the
  /// net plugin's library). A failed load is kept: later calls do not try again. `*session` stays
  /// null when there is no plugin. A failing init is this call's result. `constants` go in with
  /// NCCL's defaults and may come back changed.
  static ncclResult_t open(uint64_t communicator, int ranks, abi::TunerConstants* constants,
                           std::unique_ptr<TunerSession>* session);
  /// Finalizes the plugin's context. Only the communicator that loaded the library lets go of it.
  ~TunerSession();
  TunerSession(const TunerSession&) = delete;
  TunerSession& operator=(const TunerSession&) = delete;

  /// Lets the plugin change the table and the channel count (0: NCCL's own). What the plugin
  /// returns is the caller's result.
  ncclResult_t ask(abi::Function function, size_t bytes, int grouped_operations,
                   model::CostTable* table, int* channels);

 private:
  TunerSession() = default;
  const void* plugin_ = nullptr;
  int version_ = 0;
  void* context_ = nullptr;
  bool holds_library_ = false;
};

}  // namespace braid::vgpu::nccl
