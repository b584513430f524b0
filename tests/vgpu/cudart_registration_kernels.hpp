#pragma once

#include <cuda_runtime_api.h>

cudaError_t launch_axpy(float a, const float* x, float* y, int count, cudaStream_t stream);
cudaError_t launch_axpy(double a, const double* x, double* y, int count, cudaStream_t stream);
cudaError_t launch_store_pair(int first, double second, double* out, cudaStream_t stream);
