// Driver-API callbacks: one subscriber, fired by libcuda's entry points and by vgpu::launch.
//
// libcupti is a thin front over this hub. With no subscriber a call costs one relaxed load.
#pragma once

// Not cupti.h: its stand-ins for obsolete types clash with cuda.h as libcuda itself sees it.
#include <cuda.h>
#include <cupti_result.h>
// These two need the one above.
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>

#include <atomic>
#include <cstdint>

#include "vgpu/core/vgpu.hpp"

namespace braid::vgpu {

/// Nonzero while a subscriber has at least one callback enabled.
extern BRAID_VGPU_API std::atomic<uint32_t> callbacks_wanted;

BRAID_VGPU_API bool wants_callback(CUpti_CallbackId id);

/// Is `id` to be reported now?
inline bool callback_enabled(CUpti_CallbackId id) {
  return callbacks_wanted.load(std::memory_order_relaxed) != 0 && wants_callback(id);
}

/// Fires the enter callback when made and the exit callback when finished. Both go to the same
/// subscriber or the second is dropped.
class BRAID_VGPU_API CallbackScope {
 public:
  /// `parameters` is the call's *_params structure of generated_cuda_meta.h.
  CallbackScope(CUpti_CallbackId id, const char* function, const void* parameters,
                const char* symbol = nullptr);
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

  CUresult finish(CUresult result);

 private:
  CUpti_CallbackId id_;
  CUpti_CallbackData data_{};
  uint64_t generation_ = 0;
  uint64_t correlation_data_ = 0;
  CUresult result_ = CUDA_SUCCESS;
};

/// CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED while there is one.
BRAID_VGPU_API CUptiResult add_subscriber(CUpti_SubscriberHandle* handle,
                                          CUpti_CallbackFunc function, void* user_data);
/// After it returned no callback runs on another thread; may be called from inside a callback.
BRAID_VGPU_API CUptiResult remove_subscriber(CUpti_SubscriberHandle handle);
BRAID_VGPU_API CUptiResult enable_callback(CUpti_SubscriberHandle handle, CUpti_CallbackId id,
                                           bool enable);
BRAID_VGPU_API CUptiResult enable_all_callbacks(CUpti_SubscriberHandle handle, bool enable);
BRAID_VGPU_API CUptiResult callback_state(CUpti_SubscriberHandle handle, CUpti_CallbackId id,
                                          uint32_t* enabled);
/// Removes whoever is subscribed (cuptiFinalize).
BRAID_VGPU_API void remove_all_subscribers();

}  // namespace braid::vgpu
