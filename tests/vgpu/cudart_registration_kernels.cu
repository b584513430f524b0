// Kernels as nvcc compiles them, for cudart_registration_test.cpp.
#include <cuda_runtime.h>

#include "cudart_registration_kernels.hpp"

struct Pair {
  int first;
  double second;
};

template <typename T>
__global__ void axpy(T a, const T* x, T* y, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) {
    y[i] += a * x[i];
  }
}

__global__ void store_pair(Pair pair, double* out) { *out = pair.first + pair.second; }

cudaError_t launch_axpy(float a, const float* x, float* y, int count, cudaStream_t stream) {
  axpy<<<(count + 127) / 128, 128, 0, stream>>>(a, x, y, count);
  return cudaGetLastError();
}

cudaError_t launch_axpy(double a, const double* x, double* y, int count, cudaStream_t stream) {
  axpy<<<(count + 127) / 128, 128, 0, stream>>>(a, x, y, count);
  return cudaGetLastError();
}

cudaError_t launch_store_pair(int first, double second, double* out, cudaStream_t stream) {
  store_pair<<<1, 1, 0, stream>>>(Pair{first, second}, out);
  return cudaGetLastError();
}
