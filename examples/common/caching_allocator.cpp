#include "common/caching_allocator.hpp"

#include "common/check.hpp"

namespace examples {
namespace {

constexpr size_t kSmallUnit = 512;
constexpr size_t kLargeUnit = size_t{2} << 20;

/// Sizes are rounded so that blocks are found again; large ones more coarsely.
size_t round_size(size_t bytes) {
  const size_t unit = bytes > kLargeUnit / 2 ? kLargeUnit : kSmallUnit;
  return bytes == 0 ? unit : (bytes + unit - 1) / unit * unit;
}

}  // namespace

CachingAllocator::~CachingAllocator() {
  for (const auto& [key, pointer] : cached_) {
    CUDA_CHECK(cudaFree(pointer));
  }
  for (const auto& [pointer, block] : used_) {
    CUDA_CHECK(cudaFree(pointer));
  }
}

void* CachingAllocator::allocate(size_t bytes, cudaStream_t stream) {
  const size_t size = round_size(bytes);
  const auto found = cached_.lower_bound({stream, size});
  // A block over twice the size is left for a larger request.
  if (found != cached_.end() && found->first.first == stream && found->first.second <= 2 * size) {
    void* pointer = found->second;
    used_[pointer] = Block{found->first.second, stream};
    cached_.erase(found);
    return pointer;
  }
  void* pointer = nullptr;
  CUDA_CHECK(cudaMalloc(&pointer, size));
  reserved_bytes_ += size;
  used_[pointer] = Block{size, stream};
  return pointer;
}

void CachingAllocator::free(void* pointer) {
  const auto found = used_.find(pointer);
  if (found == used_.end()) {
    fail("caching allocator: %p is not in use", pointer);
  }
  cached_.emplace(std::make_pair(found->second.stream, found->second.bytes), pointer);
  used_.erase(found);
}

}  // namespace examples
