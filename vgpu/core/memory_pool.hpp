// Stream-ordered allocation: memory pools.
//
// A freed block is the same stream's again at once, since its work runs in order; other streams get
// it when the free has been carried out. Beyond the release threshold memory goes back to the
// device.
#pragma once

#include <cuda.h>

#include <list>
#include <memory>
#include <mutex>

#include "vgpu/core/stream.hpp"

namespace braid::vgpu {

/// A CUmemoryPool is the address of one. Never deleted.
class BRAID_VGPU_API MemoryPool {
 public:
  explicit MemoryPool(int device) : device_(device) {}

  int device() const { return device_; }
  CUresult allocate(const StreamRef& stream, size_t bytes, uint64_t* address);
  CUresult get_attribute(CUmemPool_attribute attribute, void* value);
  CUresult set_attribute(CUmemPool_attribute attribute, const void* value);
  /// Returns cached memory to the device while more than `keep` bytes are reserved.
  void trim(uint64_t keep);
  /// Gives up a block that cuMemFree takes.
  void forget(uint64_t address);

 private:
  friend CUresult free_stream_ordered(const StreamRef&, uint64_t);
  struct Block {
    uint64_t base = 0;
    size_t bytes = 0;
    uint64_t freed_in = 0;  // id of the stream whose free is pending; 0: in use, or cached
    bool cached = false;
    uint64_t ticket = 0;  // changes when the block is reused: its pending free is void
  };
  Block* find(uint64_t base);
  Block* reuse(uint64_t stream_id, size_t rounded);
  void finish_free(uint64_t base, uint64_t ticket);

  const int device_;
  std::mutex mutex_;
  std::list<Block> blocks_;
  uint64_t release_threshold_ = 0;
  uint64_t reserved_ = 0, reserved_high_ = 0, used_ = 0, used_high_ = 0;
  uint64_t next_ticket_ = 1;
  int reuse_follow_events_ = 1, reuse_opportunistic_ = 1, reuse_internal_ = 1;
};

BRAID_VGPU_API MemoryPool* default_pool(int device);
BRAID_VGPU_API MemoryPool* current_pool(int device);
BRAID_VGPU_API void set_current_pool(int device, MemoryPool* pool);
BRAID_VGPU_API MemoryPool* create_pool(int device);
/// nullptr when the handle is no live pool.
BRAID_VGPU_API MemoryPool* find_pool(CUmemoryPool handle);
BRAID_VGPU_API CUresult destroy_pool(CUmemoryPool handle);
/// The pool an allocation came from; nullptr: from none.
BRAID_VGPU_API MemoryPool* pool_of(uint64_t base);
BRAID_VGPU_API CUresult free_stream_ordered(const StreamRef& stream, uint64_t address);

}  // namespace braid::vgpu
