#include "examples_reference.hpp"

#include <cmath>

#include "examples/common/kernel_ops.hpp"
#include "examples/common/seeds.hpp"

namespace braid::testing {
namespace {

using examples::TensorKind;

Matrix fill(size_t elements, uint64_t seed, double scale) {
  Matrix matrix(elements);
  for (size_t i = 0; i < elements; ++i) {
    matrix[i] = scale * examples::ops::uniform(seed, i);
  }
  return matrix;
}

double weight_scale(int fan_in) { return std::sqrt(3.0 / fan_in); }

/// a (m×k) · b (k×n)
Matrix multiply(const Matrix& a, const Matrix& b, size_t m, size_t n, size_t k) {
  Matrix c(m * n, 0.0);
  for (size_t i = 0; i < m; ++i) {
    for (size_t l = 0; l < k; ++l) {
      for (size_t j = 0; j < n; ++j) {
        c[i * n + j] += a[i * k + l] * b[l * n + j];
      }
    }
  }
  return c;
}

Matrix transpose(const Matrix& a, size_t rows, size_t columns) {
  Matrix t(a.size());
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < columns; ++j) {
      t[j * rows + i] = a[i * columns + j];
    }
  }
  return t;
}

constexpr double kRootTwoOverPi = 0.79788456080286535588;

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(kRootTwoOverPi * (x + 0.044715 * x * x * x)));
}

double gelu_derivative(double x) {
  const double t = std::tanh(kRootTwoOverPi * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kRootTwoOverPi * (1 + 3 * 0.044715 * x * x);
}

Matrix apply(const Matrix& in, double (*function)(double)) {
  Matrix out(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    out[i] = function(in[i]);
  }
  return out;
}

void add_scaled(Matrix& target, double scale, const Matrix& other) {
  for (size_t i = 0; i < target.size(); ++i) {
    target[i] += scale * other[i];
  }
}

}  // namespace

MlpResults train_reference_mlp(const ReferenceOptions& options) {
  const auto hidden = static_cast<size_t>(options.hidden);
  const auto ffn = static_cast<size_t>(options.ffn);
  const auto tokens = static_cast<size_t>(options.tokens);
  const auto layers = static_cast<size_t>(options.layers);
  MlpResults results;
  for (size_t i = 0; i < layers; ++i) {
    results.w1.push_back(fill(hidden * ffn,
                              examples::seed_of(options.seed, TensorKind::kWeight1, i),
                              weight_scale(options.hidden)));
    results.w2.push_back(fill(hidden * ffn,
                              examples::seed_of(options.seed, TensorKind::kWeight2, i),
                              weight_scale(options.ffn)));
  }
  for (int step = 0; step < options.steps; ++step) {
    const auto number = static_cast<uint64_t>(step);
    std::vector<Matrix> inputs = {
        fill(tokens * hidden, examples::seed_of(options.seed, TensorKind::kInput, number), 1.0)};
    std::vector<Matrix> pre_gelu;
    for (size_t i = 0; i < layers; ++i) {
      pre_gelu.push_back(multiply(inputs[i], results.w1[i], tokens, ffn, hidden));
      Matrix next = multiply(apply(pre_gelu[i], gelu), results.w2[i], tokens, hidden, ffn);
      add_scaled(next, 1.0, inputs[i]);
      inputs.push_back(next);
    }
    results.output = inputs.back();
    Matrix gradient = inputs.back();
    add_scaled(
        gradient, -1.0,
        fill(tokens * hidden, examples::seed_of(options.seed, TensorKind::kTarget, number), 1.0));
    for (double& value : gradient) {
      value /= options.tokens;
    }
    for (size_t i = layers; i-- > 0;) {
      const Matrix post_gelu = apply(pre_gelu[i], gelu);
      const Matrix slope = apply(pre_gelu[i], gelu_derivative);
      Matrix grad_hidden =
          multiply(gradient, transpose(results.w2[i], ffn, hidden), tokens, ffn, hidden);
      for (size_t j = 0; j < grad_hidden.size(); ++j) {
        grad_hidden[j] *= slope[j];
      }
      const Matrix grad_w2 =
          multiply(transpose(post_gelu, tokens, ffn), gradient, ffn, hidden, tokens);
      const Matrix grad_w1 =
          multiply(transpose(inputs[i], tokens, hidden), grad_hidden, hidden, ffn, tokens);
      add_scaled(gradient, 1.0,
                 multiply(grad_hidden, transpose(results.w1[i], hidden, ffn), tokens, hidden, ffn));
      add_scaled(results.w1[i], -options.learning_rate, grad_w1);
      add_scaled(results.w2[i], -options.learning_rate, grad_w2);
    }
    results.input_gradient = gradient;
  }
  return results;
}

Matrix run_reference_experts(const ReferenceOptions& options) {
  const auto hidden = static_cast<size_t>(options.hidden);
  const auto ffn = static_cast<size_t>(options.ffn);
  const auto tokens = static_cast<size_t>(options.tokens);
  const auto step = static_cast<uint64_t>(options.steps - 1);
  Matrix x = fill(tokens * hidden, examples::seed_of(options.seed, TensorKind::kInput, step), 1.0);
  for (int layer = 0; layer < options.layers; ++layer) {
    const uint64_t route = examples::seed_of(
        options.seed, TensorKind::kRoute,
        step * static_cast<uint64_t>(options.layers) + static_cast<uint64_t>(layer));
    for (size_t token = 0; token < tokens; ++token) {
      const uint64_t expert =
          static_cast<uint64_t>(layer) * static_cast<uint64_t>(options.experts) +
          examples::ops::mix(examples::ops::mix(route) ^ token) %
              static_cast<uint64_t>(options.experts);
      const Matrix w1 =
          fill(hidden * ffn, examples::seed_of(options.seed, TensorKind::kWeight1, expert),
               weight_scale(options.hidden));
      const Matrix w2 =
          fill(hidden * ffn, examples::seed_of(options.seed, TensorKind::kWeight2, expert),
               weight_scale(options.ffn));
      const Matrix row(x.begin() + static_cast<long>(token * hidden),
                       x.begin() + static_cast<long>((token + 1) * hidden));
      const Matrix y = multiply(apply(multiply(row, w1, 1, ffn, hidden), gelu), w2, 1, hidden, ffn);
      for (size_t j = 0; j < hidden; ++j) {
        x[token * hidden + j] += y[j];
      }
    }
  }
  return x;
}

}  // namespace braid::testing
