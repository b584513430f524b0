// A library of host kernels, as a user would write one.
#include "vgpu/kernels/host_kernel.h"

namespace {

void run_answer(const braid_launch_shape*, void* const* args) {
  **static_cast<int* const*>(args[0]) = 42;
}

const size_t kArguments[] = {sizeof(void*)};
const braid_host_kernel kKernels[] = {{"sample_answer", 1, kArguments, run_answer}};

}  // namespace

extern "C" __attribute__((visibility("default")))
const braid_host_kernel_table braid_host_kernels = {BRAID_HOST_KERNEL_ABI, 1, kKernels};
