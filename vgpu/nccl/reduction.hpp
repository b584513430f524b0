// Element-wise arithmetic of collectives: one hop of a ring or chain at a time.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace braid::vgpu::nccl {

/// What a ncclRedOp_t comes to. NCCL forms averages of floats as sums of inputs multiplied by 1/n
/// beforehand, and averages of integers by dividing the sum.
enum class ReductionKind : int32_t { kSum, kProduct, kMax, kMin, kPreMultiplied, kAverage };
const char* name_of(ReductionKind kind);

size_t bytes_of(ncclDataType_t datatype);
bool is_valid(ncclDataType_t datatype);
const char* name_of(ncclDataType_t datatype);        // "ncclFloat32"
const char* short_name_of(ncclDataType_t datatype);  // "f32"

/// How one collective's elements are combined. `scalar` holds the pre-multiplier in the datatype.
struct Reduction {
  ncclDataType_t datatype = ncclFloat32;
  ReductionKind kind = ReductionKind::kSum;
  int ranks = 1;
};

/// sums[i] = what a rank feeds into the reduction for inputs[i]. `sums` and `inputs` hold elements
/// of the datatype and may be the same.
void begin_reduction(const Reduction& reduction, uint64_t scalar, const void* inputs, void* sums,
                     size_t count);

/// One hop: sums[i] = op(what the rank feeds in, sums[i]), rounded to the datatype.
void add_to_reduction(const Reduction& reduction, uint64_t scalar, const void* inputs, void* sums,
                      size_t count);

/// What the last rank of the order does to the sums: divides integer averages.
void finish_reduction(const Reduction& reduction, void* sums, size_t count);

/// The pre-multiplier of an average over `ranks`, in the datatype (floats only; else 0).
uint64_t average_scalar(ncclDataType_t datatype, int ranks);

}  // namespace braid::vgpu::nccl
