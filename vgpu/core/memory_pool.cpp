#include "vgpu/core/memory_pool.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "vgpu/core/box.hpp"
#include "vgpu/core/memory.hpp"

namespace braid::vgpu {
namespace {

struct Pools {
  std::mutex mutex;
  std::vector<MemoryPool*> defaults, current;
  std::vector<MemoryPool*> live;
  std::map<uint64_t, MemoryPool*> by_base;
};

Pools& pools() {
  static Pools& instance = *[] {
    auto* made = new Pools;
    for (const DeviceInfo& device : devices()) {
      made->defaults.push_back(new MemoryPool(device.ordinal));
    }
    made->current = made->defaults;
    made->live = made->defaults;
    return made;
  }();
  return instance;
}

size_t round_up(size_t bytes) {
  return (bytes + kAllocationAlignment - 1) / kAllocationAlignment * kAllocationAlignment;
}

}  // namespace

MemoryPool::Block* MemoryPool::find(uint64_t base) {
  const auto found = std::find_if(blocks_.begin(), blocks_.end(),
                                  [&](const Block& block) { return block.base == base; });
  return found == blocks_.end() ? nullptr : &*found;
}

// A block of that size that this stream may have now.
MemoryPool::Block* MemoryPool::reuse(uint64_t stream_id, size_t rounded) {
  for (Block& block : blocks_) {
    if (block.bytes == rounded && (block.cached || block.freed_in == stream_id)) {
      return &block;
    }
  }
  return nullptr;
}

CUresult MemoryPool::allocate(const StreamRef& stream, size_t bytes, uint64_t* address) {
  if (bytes == 0 || bytes > box().heaps[static_cast<size_t>(device_)]->capacity()) {
    return bytes == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
  }
  const size_t rounded = round_up(bytes);
  const std::lock_guard lock(mutex_);
  Block* block = reuse(stream->id, rounded);
  if (block != nullptr) {
    box().heaps[static_cast<size_t>(device_)]->renew(block->base, false);
    block->freed_in = 0;
    block->cached = false;
    block->ticket = next_ticket_++;
  } else {
    uint64_t base = 0;
    const CUresult error = allocate_device(*stream->context, rounded, MemoryKind::kDevice, &base);
    if (error != CUDA_SUCCESS) {
      return error;
    }
    block = &blocks_.emplace_back(Block{base, rounded, 0, false, next_ticket_++});
    reserved_ += rounded;
    reserved_high_ = std::max(reserved_high_, reserved_);
    const std::lock_guard table_lock(pools().mutex);
    pools().by_base[base] = this;
  }
  used_ += rounded;
  used_high_ = std::max(used_high_, used_);
  *address = block->base;
  return CUDA_SUCCESS;
}

void MemoryPool::finish_free(uint64_t base, uint64_t ticket) {
  uint64_t keep = 0;
  {
    const std::lock_guard lock(mutex_);
    Block* block = find(base);
    if (block == nullptr || block->ticket != ticket) {
      return;  // reused in stream order before the free was carried out
    }
    block->freed_in = 0;
    block->cached = true;
    box().heaps[static_cast<size_t>(device_)]->renew(base, true);
    keep = release_threshold_;
  }
  trim(keep);
}

void MemoryPool::trim(uint64_t keep) {
  const std::lock_guard lock(mutex_);
  for (auto block = blocks_.begin(); block != blocks_.end() && reserved_ > keep;) {
    if (!block->cached) {
      ++block;
      continue;
    }
    {
      const std::lock_guard table_lock(pools().mutex);
      pools().by_base.erase(block->base);
    }
    free_device_now(block->base);
    reserved_ -= block->bytes;
    block = blocks_.erase(block);
  }
}

void MemoryPool::forget(uint64_t address) {
  const std::lock_guard lock(mutex_);
  Block* block = find(address);
  if (block == nullptr) {
    return;
  }
  if (!block->cached && block->freed_in == 0) {
    used_ -= block->bytes;
  }
  reserved_ -= block->bytes;
  blocks_.remove_if([&](const Block& b) { return b.base == address; });
  const std::lock_guard table_lock(pools().mutex);
  pools().by_base.erase(address);
}

CUresult MemoryPool::get_attribute(CUmemPool_attribute attribute, void* value) {
  const std::lock_guard lock(mutex_);
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      *static_cast<int*>(value) = reuse_follow_events_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      *static_cast<int*>(value) = reuse_opportunistic_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      *static_cast<int*>(value) = reuse_internal_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      *static_cast<cuuint64_t*>(value) = release_threshold_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      *static_cast<cuuint64_t*>(value) = reserved_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      *static_cast<cuuint64_t*>(value) = reserved_high_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      *static_cast<cuuint64_t*>(value) = used_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      *static_cast<cuuint64_t*>(value) = used_high_;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult MemoryPool::set_attribute(CUmemPool_attribute attribute, const void* value) {
  const std::lock_guard lock(mutex_);
  const auto flag = [&] { return *static_cast<const int*>(value); };
  const auto number = [&] { return *static_cast<const cuuint64_t*>(value); };
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      reuse_follow_events_ = flag();
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      reuse_opportunistic_ = flag();
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      reuse_internal_ = flag();
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      release_threshold_ = number();
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      if (number() != 0) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      reserved_high_ = reserved_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      if (number() != 0) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      used_high_ = used_;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

MemoryPool* default_pool(int device) { return pools().defaults.at(static_cast<size_t>(device)); }

MemoryPool* current_pool(int device) {
  const std::lock_guard lock(pools().mutex);
  return pools().current.at(static_cast<size_t>(device));
}

void set_current_pool(int device, MemoryPool* pool) {
  const std::lock_guard lock(pools().mutex);
  pools().current.at(static_cast<size_t>(device)) = pool;
}

MemoryPool* create_pool(int device) {
  const std::lock_guard lock(pools().mutex);
  return pools().live.emplace_back(new MemoryPool(device));
}

MemoryPool* find_pool(CUmemoryPool handle) {
  const std::lock_guard lock(pools().mutex);
  for (MemoryPool* pool : pools().live) {
    if (reinterpret_cast<CUmemoryPool>(pool) == handle) {
      return pool;
    }
  }
  return nullptr;
}

CUresult destroy_pool(CUmemoryPool handle) {
  MemoryPool* pool = find_pool(handle);
  if (pool == nullptr || pool == default_pool(pool->device())) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  pool->trim(0);
  const std::lock_guard lock(pools().mutex);
  pools().live.erase(std::find(pools().live.begin(), pools().live.end(), pool));
  MemoryPool*& current = pools().current[static_cast<size_t>(pool->device())];
  if (current == pool) {
    current = pools().defaults[static_cast<size_t>(pool->device())];
  }
  return CUDA_SUCCESS;
}

MemoryPool* pool_of(uint64_t base) {
  const std::lock_guard lock(pools().mutex);
  const auto found = pools().by_base.find(base);
  return found == pools().by_base.end() ? nullptr : found->second;
}

CUresult free_stream_ordered(const StreamRef& stream, uint64_t address) {
  if (address == 0) {
    return CUDA_SUCCESS;
  }
  MemoryPool* pool = pool_of(address);
  if (pool == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  uint64_t ticket = 0;
  {
    const std::lock_guard lock(pool->mutex_);
    MemoryPool::Block* block = pool->find(address);
    if (block == nullptr || block->cached || block->freed_in != 0) {
      return CUDA_ERROR_INVALID_VALUE;  // freed before
    }
    ticket = block->ticket;
    block->freed_in = stream->id;
    pool->used_ -= block->bytes;
  }
  Work work;
  work.name = "cuMemFreeAsync";
  work.step = [pool, address, ticket] {
    pool->finish_free(address, ticket);
    return Step::kDone;
  };
  return enqueue_operation(stream, std::move(work), {}, nullptr);
}

}  // namespace braid::vgpu
