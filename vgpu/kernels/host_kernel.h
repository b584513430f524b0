/* Host implementations of CUDA kernels, for virtual GPUs.
 *
 * A shared library that exports `braid_host_kernels` gives virtual GPUs the meaning of kernels they
 * meet. The stand-ins load every library named in BRAID_VGPU_KERNEL_PATH and every file
 * "*.braid-kernels.so" beside the executable. The ABI is plain C and versioned by `abi`. */
#ifndef BRAID_HOST_KERNEL_H
#define BRAID_HOST_KERNEL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
} braid_launch_shape;

/* Does what the whole grid does. args[i] points at the i-th argument's bytes. */
typedef void (*braid_host_kernel_fn)(const braid_launch_shape* shape, void* const* args);

typedef struct {
  const char* name; /* device symbol, mangled as nvcc does */
  size_t argument_count;
  const size_t* argument_bytes;
  braid_host_kernel_fn run;
} braid_host_kernel;

typedef struct {
  int abi; /* BRAID_HOST_KERNEL_ABI */
  size_t count;
  const braid_host_kernel* kernels;
} braid_host_kernel_table;

#define BRAID_HOST_KERNEL_ABI 1
#define BRAID_HOST_KERNELS_SYMBOL "braid_host_kernels"

/* extern const braid_host_kernel_table braid_host_kernels; */

#ifdef __cplusplus
}
#endif
#endif
