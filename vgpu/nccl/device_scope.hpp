// Makes a device current for a while.
#pragma once

#include "vgpu/core/vgpu.hpp"

namespace braid::vgpu::nccl {

/// The calling thread's current device until the end of the scope; then the previous one again.
class DeviceScope {
 public:
  explicit DeviceScope(int device) : previous_(current_device()) {
    changed_ = device != previous_;
    if (changed_) {
      set_current_device(device);
    }
  }
  ~DeviceScope() {
    if (changed_) {
      set_current_device(previous_);
    }
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int previous_;
  bool changed_;
};

}  // namespace braid::vgpu::nccl
