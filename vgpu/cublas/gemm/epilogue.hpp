// From accumulators to D: scaling, C, bias, activation, the auxiliary matrix and bias gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "vgpu/cublas/gemm/multiply.hpp"
#include "vgpu/cublas/gemm/problem.hpp"

namespace braid::vgpu::gemm {

/// Addresses of one batch.
struct Targets {
  Factors factors;
  const void* c = nullptr;
  void* d = nullptr;
  const void* bias = nullptr;
  void* bias_gradient = nullptr;
  void* aux = nullptr;
};

/// Writes the blocks of one batch. Blocks of the same rows must come in order of their columns:
/// that is the order in which bias gradients are summed. All arithmetic is in T, the accumulator's
/// and scale type; only stores round to the types of D, aux and bias.
template <typename T>
class BlockWriter {
 public:
  BlockWriter(const GemmCall& call, const Targets& targets, double alpha, double beta);

  /// Turns sums (column-major, block.rows apart) into D; the sums are overwritten.
  void write(const Block& block, T* sums);

  /// Writes the bias gradient, once all blocks are written.
  void finish();

 private:
  void write_column(int64_t row, int64_t rows, int64_t column, T* values);
  void write_int32_column(int64_t row, int64_t rows, int64_t column, const T* sums);
  void apply_activation(int64_t row, int64_t rows, int64_t column, T* values);
  void sum_operand(const void* matrix, cudaDataType type, int64_t ld, bool along_columns);

  const GemmCall& call_;
  const Targets targets_;
  const T alpha_, beta_;
  std::vector<T> bias_;
  std::vector<T> buffer_;
  std::vector<T> gradient_;
};

}  // namespace braid::vgpu::gemm
