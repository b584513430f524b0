#include "vgpu/cuda/copy.hpp"

#include <cstring>
#include <memory>

#include "vgpu/core/memory.hpp"
#include "vgpu/cuda/driver_support.hpp"

namespace braid::vgpu::driver {
namespace {

// Up to here a synchronous copy from pageable memory may return before the device has the bytes.
constexpr size_t kStagedCopy = 64 * 1024;

// Bytes from the first to the last one touched.
size_t span(size_t width, size_t height, size_t pitch) { return (height - 1) * pitch + width; }

bool is_sane(size_t width, size_t height, size_t pitch) {
  return height == 1 || (pitch >= width && pitch <= SIZE_MAX / 2 / height);
}

void copy_rows(std::byte* destination, const std::byte* source, const CopyArea& area) {
  for (size_t row = 0; row < area.height; ++row) {
    std::memmove(destination + row * area.destination_pitch, source + row * area.source_pitch,
                 area.width);
  }
}

}  // namespace

CUresult copy(void* destination, const void* source, const CopyArea& wanted, CUstream handle,
              HostSync sync) {
  StreamRef stream;
  if (const CUresult error = find_stream(handle, &stream); error != CUDA_SUCCESS) {
    return error;
  }
  if (const CUresult error = device_error(stream->device); error != CUDA_SUCCESS) {
    return error;
  }
  if (wanted.width == 0 || wanted.height == 0) {
    return CUDA_SUCCESS;
  }
  CopyArea area = wanted;
  if (!is_sane(area.width, area.height, area.source_pitch) ||
      !is_sane(area.width, area.height, area.destination_pitch)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const size_t source_bytes = span(area.width, area.height, area.source_pitch);
  const size_t destination_bytes = span(area.width, area.height, area.destination_pitch);
  const Location from = locate(source, source_bytes);
  const Location to = locate(destination, destination_bytes);
  if (!from.is_valid || !to.is_valid) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Work work;
  work.name = "memcpy";
  if (compute_enabled()) {
    std::shared_ptr<std::byte[]> staged;
    if (from.place == Place::kPageable) {
      staged.reset(new std::byte[area.width * area.height]);
      CopyArea packed = area;
      packed.destination_pitch = area.width;
      copy_rows(staged.get(), static_cast<const std::byte*>(source), packed);
      area.source_pitch = area.width;
    }
    const int device = stream->device;
    work.step = [=] {
      // Memory that was freed since the call.
      if ((from.place == Place::kDevice && !locate(source, source_bytes).is_valid) ||
          (to.place == Place::kDevice && !locate(destination, destination_bytes).is_valid)) {
        set_device_error(device, CUDA_ERROR_ILLEGAL_ADDRESS);
        return Step::kDone;
      }
      copy_rows(static_cast<std::byte*>(destination),
                staged ? staged.get() : static_cast<const std::byte*>(source), area);
      return Step::kDone;
    };
  }
  WorkHandle done;
  if (const CUresult error = enqueue_operation(stream, std::move(work), {}, &done);
      error != CUDA_SUCCESS) {
    return error;
  }
  const bool between_devices = from.place == Place::kDevice && to.place == Place::kDevice;
  const bool staged_and_small = from.place == Place::kPageable && to.place == Place::kDevice &&
                                area.width * area.height <= kStagedCopy;
  const bool waits = to.place == Place::kPageable ||
                     (sync == HostSync::kSynchronous && !between_devices && !staged_and_small);
  return waits ? wait_for(stream->device, {done}) : CUDA_SUCCESS;
}

CUresult fill(CUdeviceptr address, size_t pitch, unsigned value, size_t element_bytes, size_t width,
              size_t height, CUstream handle, HostSync sync) {
  StreamRef stream;
  if (const CUresult error = find_stream(handle, &stream); error != CUDA_SUCCESS) {
    return error;
  }
  if (const CUresult error = device_error(stream->device); error != CUDA_SUCCESS) {
    return error;
  }
  if (width == 0 || height == 0) {
    return CUDA_SUCCESS;
  }
  if (width > SIZE_MAX / element_bytes || address % element_bytes != 0 ||
      (height > 1 && pitch % element_bytes != 0)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const size_t row_bytes = width * element_bytes;
  if (!is_sane(row_bytes, height, pitch)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const size_t bytes = span(row_bytes, height, pitch);
  const Location to = locate(host_pointer(address), bytes);
  if (!to.is_valid || to.place == Place::kPageable) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Work work;
  work.name = "memset";
  if (compute_enabled()) {
    const int device = stream->device;
    work.step = [=] {
      if (!locate(host_pointer(address), bytes).is_valid) {
        set_device_error(device, CUDA_ERROR_ILLEGAL_ADDRESS);
        return Step::kDone;
      }
      auto* row = static_cast<std::byte*>(host_pointer(address));
      for (size_t y = 0; y < height; ++y, row += pitch) {
        if (element_bytes == 1) {
          std::memset(row, static_cast<int>(value), width);
        } else {
          for (size_t x = 0; x < width; ++x) {
            std::memcpy(row + x * element_bytes, &value, element_bytes);  // little endian
          }
        }
      }
      return Step::kDone;
    };
  }
  WorkHandle done;
  const CUresult error = enqueue_operation(stream, std::move(work), {}, &done);
  // Filling device memory never waits; filling pinned host memory does.
  return error == CUDA_SUCCESS && sync == HostSync::kSynchronous && to.place == Place::kPinned
             ? wait_for(stream->device, {done})
             : error;
}

}  // namespace braid::vgpu::driver
