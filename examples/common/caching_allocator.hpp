// A stream-ordered caching allocator, in the manner of the ones deep-learning frameworks use.
//
// A block belongs to the stream it was allocated for. Freeing returns it to that stream's pool at
// once, without waiting for the device: the next user comes later on the same stream, so it is
// safe. Work on another stream that uses a block must have been joined back before the block is
// freed.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>
#include <utility>

namespace examples {

class CachingAllocator {
 public:
  CachingAllocator() = default;
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  /// Memory of at least `bytes` on the current device, for use on `stream`.
  void* allocate(size_t bytes, cudaStream_t stream);
  void free(void* pointer);

  size_t reserved_bytes() const { return reserved_bytes_; }

 private:
  struct Block {
    size_t bytes;
    cudaStream_t stream;
  };
  std::map<void*, Block> used_;
  std::multimap<std::pair<cudaStream_t, size_t>, void*> cached_;  // by stream and size
  size_t reserved_bytes_ = 0;
};

/// An owned block.
class Buffer {
 public:
  Buffer() = default;
  Buffer(CachingAllocator& allocator, size_t bytes, cudaStream_t stream)
      : allocator_(&allocator), data_(allocator.allocate(bytes, stream)), bytes_(bytes) {}
  ~Buffer() { reset(); }
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(allocator_, other.allocator_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void reset() {
    if (data_ != nullptr) {
      allocator_->free(data_);
      data_ = nullptr;
    }
  }
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  CachingAllocator* allocator_ = nullptr;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace examples
