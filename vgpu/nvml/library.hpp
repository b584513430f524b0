// What the files of the NVML stand-in share: the reference count and the handles.
#pragma once

#include "vgpu/core/vgpu.hpp"
#include "vgpu/nvml/nvml_abi.hpp"

namespace braid::vgpu::nvml {

/// NVML_SUCCESS between nvmlInit and nvmlShutdown, else NVML_ERROR_UNINITIALIZED.
nvmlReturn_t check_initialized();

/// The virtual GPU behind a handle; nullptr when it is none.
const DeviceInfo* find_device(nvmlDevice_t handle);
nvmlDevice_t handle_of(const DeviceInfo& device);

/// Checks initialisation, handle and output pointer in the order NVML does.
nvmlReturn_t check_call(nvmlDevice_t handle, const void* output, const DeviceInfo** device);

/// Copies text with its end into a buffer of `length` bytes, or NVML_ERROR_INSUFFICIENT_SIZE.
nvmlReturn_t copy_text(const char* text, char* buffer, unsigned int length);

/// "0000:17:00.0" and what NVML tells about it. False when the text is no bus id.
bool fill_pci_info(const char* bus_id, nvmlPciInfo_t* info);

}  // namespace braid::vgpu::nvml
