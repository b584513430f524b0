// What a GEMM costs on a virtual GPU: the call alone, and the whole with its mathematics.
//
// Read the columns of one run against each other: bf16 against fp32 shows what converting costs,
// the small sizes what a launch costs.
#include <benchmark/benchmark.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <stdexcept>

namespace {

void require(bool succeeded, const char* what) {
  if (!succeeded) {
    throw std::runtime_error(what);
  }
}

/// A handle and operands on device 0.
class Gemm {
 public:
  Gemm(int m, int n, int k, cudaDataType type) : m_(m), n_(n), k_(k), type_(type) {
    setenv("BRAID_VGPU_TOPOLOGY",
           BRAID_SOURCE_DIR "/config/topologies/a6000x4-bridged-amd-1socket.xml", 0);
    require(cudaSetDevice(0) == cudaSuccess, "there is no virtual GPU");
    require(cublasCreate(&handle_) == CUBLAS_STATUS_SUCCESS, "cublasCreate failed");
    const size_t element = type == CUDA_R_16BF ? 2 : 4;
    a_ = allocate(element * m * k);
    b_ = allocate(element * k * n);
    c_ = allocate(element * m * n);
  }
  ~Gemm() {
    for (void* memory : {a_, b_, c_}) {
      cudaFree(memory);
    }
    cublasDestroy(handle_);
  }
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  void enqueue() {
    const float alpha = 1, beta = 0;
    require(cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, m_, n_, k_, &alpha, a_, type_, m_, b_,
                         type_, k_, &beta, c_, type_, m_, CUBLAS_COMPUTE_32F,
                         CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS,
            "cublasGemmEx failed");
  }
  static void wait() { require(cudaDeviceSynchronize() == cudaSuccess, "the device failed"); }

 private:
  static void* allocate(size_t bytes) {
    void* memory = nullptr;
    require(cudaMalloc(&memory, bytes) == cudaSuccess, "out of device memory");
    require(cudaMemset(memory, 0, bytes) == cudaSuccess, "cudaMemset failed");
    return memory;
  }

  const int m_, n_, k_;
  const cudaDataType type_;
  cublasHandle_t handle_ = nullptr;
  void *a_ = nullptr, *b_ = nullptr, *c_ = nullptr;
};

void run(benchmark::State& state, cudaDataType type) {
  const auto size = static_cast<int>(state.range(0));
  Gemm gemm(size, size, size, type);
  for (auto _ : state) {
    gemm.enqueue();
    Gemm::wait();
  }
  state.counters["flop/s"] =
      benchmark::Counter(2.0 * size * size * size, benchmark::Counter::kIsIterationInvariantRate);
}

void gemm_fp32(benchmark::State& state) { run(state, CUDA_R_32F); }
void gemm_bf16(benchmark::State& state) { run(state, CUDA_R_16BF); }

/// Choosing a kernel and appending it, without waiting for the result.
void gemm_call(benchmark::State& state) {
  Gemm gemm(16, 16, 16, CUDA_R_32F);
  int pending = 0;
  for (auto _ : state) {
    gemm.enqueue();
    if (++pending == 256) {
      state.PauseTiming();
      Gemm::wait();
      pending = 0;
      state.ResumeTiming();
    }
  }
  Gemm::wait();
}

}  // namespace

BENCHMARK(gemm_call);
BENCHMARK(gemm_fp32)->RangeMultiplier(4)->Range(16, 1024)->UseRealTime();
BENCHMARK(gemm_bf16)->RangeMultiplier(4)->Range(16, 1024)->UseRealTime();
