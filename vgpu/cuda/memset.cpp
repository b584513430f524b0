// The fill functions.
#include <cuda.h>

#include "vgpu/cuda/copy.hpp"
#include "vgpu/cuda/driver_support.hpp"

namespace braid::vgpu::driver {
namespace {

constexpr HostSync kSync = HostSync::kSynchronous;
constexpr HostSync kAsync = HostSync::kAsynchronous;

}  // namespace

CUresult cuMemsetD8_v2(CUdeviceptr address, unsigned char value, size_t count) {
  return fill(address, 0, value, 1, count, 1, nullptr, kSync);
}
CUresult cuMemsetD16_v2(CUdeviceptr address, unsigned short value, size_t count) {
  return fill(address, 0, value, 2, count, 1, nullptr, kSync);
}
CUresult cuMemsetD32_v2(CUdeviceptr address, unsigned int value, size_t count) {
  return fill(address, 0, value, 4, count, 1, nullptr, kSync);
}
CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t count, CUstream stream) {
  return fill(address, 0, value, 1, count, 1, stream, kAsync);
}
CUresult cuMemsetD16Async(CUdeviceptr address, unsigned short value, size_t count,
                          CUstream stream) {
  return fill(address, 0, value, 2, count, 1, stream, kAsync);
}
CUresult cuMemsetD32Async(CUdeviceptr address, unsigned int value, size_t count, CUstream stream) {
  return fill(address, 0, value, 4, count, 1, stream, kAsync);
}
CUresult cuMemsetD2D8_v2(CUdeviceptr address, size_t pitch, unsigned char value, size_t width,
                         size_t height) {
  return fill(address, pitch, value, 1, width, height, nullptr, kSync);
}
CUresult cuMemsetD2D16_v2(CUdeviceptr address, size_t pitch, unsigned short value, size_t width,
                          size_t height) {
  return fill(address, pitch, value, 2, width, height, nullptr, kSync);
}
CUresult cuMemsetD2D32_v2(CUdeviceptr address, size_t pitch, unsigned int value, size_t width,
                          size_t height) {
  return fill(address, pitch, value, 4, width, height, nullptr, kSync);
}
CUresult cuMemsetD2D8Async(CUdeviceptr address, size_t pitch, unsigned char value, size_t width,
                           size_t height, CUstream stream) {
  return fill(address, pitch, value, 1, width, height, stream, kAsync);
}
CUresult cuMemsetD2D16Async(CUdeviceptr address, size_t pitch, unsigned short value, size_t width,
                            size_t height, CUstream stream) {
  return fill(address, pitch, value, 2, width, height, stream, kAsync);
}
CUresult cuMemsetD2D32Async(CUdeviceptr address, size_t pitch, unsigned int value, size_t width,
                            size_t height, CUstream stream) {
  return fill(address, pitch, value, 4, width, height, stream, kAsync);
}

}  // namespace braid::vgpu::driver
