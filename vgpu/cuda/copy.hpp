// Copies and fills in stream order, with CUDA's rules for pageable host memory.
#pragma once

#include <cuda.h>

#include <cstddef>

namespace braid::vgpu::driver {

/// `height` rows of `width` bytes; a plain copy is one row.
struct CopyArea {
  size_t width = 0;
  size_t height = 1;
  size_t source_pitch = 0;
  size_t destination_pitch = 0;
};

enum class HostSync { kAsynchronous, kSynchronous };

/// Copies on a stream. From pageable memory the source is taken before the call returns; to
/// pageable memory the call returns when the copy is done. A synchronous copy between devices does
/// not wait, as the real one does not. Bad ranges: CUDA_ERROR_INVALID_VALUE.
CUresult copy(void* destination, const void* source, const CopyArea& area, CUstream stream,
              HostSync sync);

/// Fills with a pattern of 1, 2 or 4 bytes; `width` is in elements.
CUresult fill(CUdeviceptr destination, size_t pitch, unsigned value, size_t element_bytes,
              size_t width, size_t height, CUstream stream, HostSync sync);

}  // namespace braid::vgpu::driver
