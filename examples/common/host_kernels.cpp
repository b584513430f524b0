// The examples' kernels as host code, for machines where virtual GPUs stand in for real ones. The
// examples neither link nor load this library; the virtual GPU finds it beside the executables.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "common/kernel_ops.hpp"
#include "vgpu/kernels/host_kernel.h"

namespace {

template <typename Op>
void run(const braid_launch_shape* shape, void* const* arguments) {
  (void)shape;  // every operation covers all elements whatever the grid
  const Op& op = *static_cast<const Op*>(arguments[0]);
  for (size_t i = 0; i < op.count; ++i) {
    op(i);
  }
}

template <typename Op>
constexpr size_t kArgumentBytes[1] = {sizeof(Op)};

template <typename Op>
constexpr braid_host_kernel describe(const char* name) {
  return {name, 1, kArgumentBytes<Op>, run<Op>};
}

#define DESCRIBE_KERNELS(name, Op)                               \
  describe<examples::ops::Op<float>>(#name "_f32"),              \
      describe<examples::ops::Op<__nv_bfloat16>>(#name "_bf16"), \
      describe<examples::ops::Op<__half>>(#name "_f16"),

constexpr braid_host_kernel kKernels[] = {EXAMPLES_FOR_EACH_OP(DESCRIBE_KERNELS)};

}  // namespace

extern "C" __attribute__((visibility("default")))
const braid_host_kernel_table braid_host_kernels = {
    BRAID_HOST_KERNEL_ABI, sizeof(kKernels) / sizeof(kKernels[0]), kKernels};
