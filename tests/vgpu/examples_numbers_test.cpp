// The examples' results against the plain reference, for every partition, element type and style.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "examples_process.hpp"
#include "examples_reference.hpp"

namespace {

using braid::testing::Matrix;
using braid::testing::ProcessResult;
using braid::testing::ReferenceOptions;

struct Case {
  std::string program;
  int ranks;
  std::string type;
  std::vector<std::string> style;
  bool processes = false;
};

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  std::string name = info.param.program + "_" + std::to_string(info.param.ranks) + "_" +
                     info.param.type + (info.param.processes ? "_processes" : "");
  for (const std::string& word : info.param.style) {
    name += "_" + word;
  }
  for (char& letter : name) {
    letter = std::isalnum(static_cast<unsigned char>(letter)) != 0 ? letter : '_';
  }
  return name;
}

bool has_style(const Case& test, const std::string& word) {
  return std::find(test.style.begin(), test.style.end(), word) != test.style.end();
}

/// Rounding of stored values, times a factor for the few layers and steps it grows through.
double tolerance(const std::string& type) {
  return type == "fp32" ? 2e-6 : type == "fp16" ? 4e-3 : 3e-2;
}

/// Distance of two vectors, relative to the expected one's length.
double relative_error(const Matrix& found, const Matrix& expected) {
  double difference = 0;
  double length = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    difference += (found[i] - expected[i]) * (found[i] - expected[i]);
    length += expected[i] * expected[i];
  }
  return std::sqrt(difference / length);
}

/// Takes the parts of a dump one after another.
class DumpReader {
 public:
  explicit DumpReader(std::vector<float> values) : values_(std::move(values)) {}
  Matrix take(size_t count) {
    EXPECT_LE(next_ + count, values_.size());
    Matrix part(values_.begin() + static_cast<long>(next_),
                values_.begin() + static_cast<long>(next_ + count));
    next_ += count;
    return part;
  }
  bool at_end() const { return next_ == values_.size(); }

 private:
  std::vector<float> values_;
  size_t next_ = 0;
};

void append(Matrix& whole, const Matrix& part) {
  whole.insert(whole.end(), part.begin(), part.end());
}

/// The columns of rank `rank` among `ranks`.
Matrix columns_of(const Matrix& whole, size_t rows, size_t columns, int rank, int ranks) {
  const size_t share = columns / static_cast<size_t>(ranks);
  Matrix part;
  for (size_t row = 0; row < rows; ++row) {
    const auto first = static_cast<long>(row * columns + static_cast<size_t>(rank) * share);
    part.insert(part.end(), whole.begin() + first,
                whole.begin() + first + static_cast<long>(share));
  }
  return part;
}

Matrix slice_of(const Matrix& whole, int rank, int ranks) {
  const size_t share = whole.size() / static_cast<size_t>(ranks);
  const auto first = static_cast<long>(static_cast<size_t>(rank) * share);
  return Matrix(whole.begin() + first, whole.begin() + first + static_cast<long>(share));
}

class ExampleNumbers : public ::testing::TestWithParam<Case> {
 protected:
  /// Runs the case; one dump for each rank.
  std::vector<DumpReader> run() {
    const Case& test = GetParam();
    const braid::testing::TemporaryFolder folder;
    std::vector<std::string> arguments = {
        "--hidden", std::to_string(options_.hidden), "--ffn",   std::to_string(options_.ffn),
        "--tokens", std::to_string(options_.tokens), "--steps", std::to_string(options_.steps),
        "--layers", std::to_string(options_.layers), "--dtype", test.type,
        "--dump",   folder.file("r{rank}")};
    arguments.insert(arguments.end(), test.style.begin(), test.style.end());
    std::vector<ProcessResult> results;
    if (test.processes) {
      results = braid::testing::run_example_processes(test.program, arguments, test.ranks);
    } else {
      arguments.insert(arguments.end(), {"--ranks", std::to_string(test.ranks)});
      results.push_back(braid::testing::run_example(test.program, arguments));
    }
    for (const ProcessResult& result : results) {
      EXPECT_EQ(result.exit_code, 0) << result.output;
    }
    EXPECT_NE(results[0].checksum(), "") << results[0].output;
    std::vector<DumpReader> dumps;
    for (int rank = 0; rank < test.ranks && !HasFailure(); ++rank) {
      dumps.emplace_back(braid::testing::read_floats(folder.file("r" + std::to_string(rank))));
    }
    return dumps;
  }

  void expect_near(const Matrix& found, const Matrix& expected, const std::string& what) {
    ASSERT_EQ(found.size(), expected.size()) << what;
    EXPECT_LT(relative_error(found, expected), tolerance(GetParam().type)) << what;
  }

  const ReferenceOptions options_;
};

class TensorParallelNumbers : public ExampleNumbers {};

TEST_P(TensorParallelNumbers, MatchTheReference) {
  const int ranks = GetParam().ranks;
  const bool split = has_style(GetParam(), "--sequence-parallel");
  const auto hidden = static_cast<size_t>(options_.hidden);
  const auto ffn = static_cast<size_t>(options_.ffn);
  std::vector<DumpReader> dumps = run();
  const auto expected = braid::testing::train_reference_mlp(options_);
  for (int rank = 0; rank < ranks && !HasFailure(); ++rank) {
    DumpReader& dump = dumps[static_cast<size_t>(rank)];
    const std::string place = " of rank " + std::to_string(rank);
    const Matrix output = split ? slice_of(expected.output, rank, ranks) : expected.output;
    const Matrix gradient =
        split ? slice_of(expected.input_gradient, rank, ranks) : expected.input_gradient;
    expect_near(dump.take(output.size()), output, "output" + place);
    expect_near(dump.take(gradient.size()), gradient, "input gradient" + place);
    for (size_t layer = 0; layer < expected.w1.size(); ++layer) {
      const Matrix w1 = columns_of(expected.w1[layer], hidden, ffn, rank, ranks);
      const Matrix w2 = slice_of(expected.w2[layer], rank, ranks);
      expect_near(dump.take(w1.size()), w1, "W1" + place);
      expect_near(dump.take(w2.size()), w2, "W2" + place);
    }
    EXPECT_TRUE(dump.at_end());
  }
}

INSTANTIATE_TEST_SUITE_P(
    , TensorParallelNumbers,
    ::testing::Values(Case{"tp_mlp", 1, "fp32", {}}, Case{"tp_mlp", 2, "fp32", {}},
                      Case{"tp_mlp", 4, "fp32", {}}, Case{"tp_mlp", 8, "fp32", {}},
                      Case{"tp_mlp", 2, "bf16", {}}, Case{"tp_mlp", 8, "bf16", {}},
                      Case{"tp_mlp", 4, "fp16", {}}, Case{"tp_mlp", 2, "fp32", {"--group"}},
                      Case{"tp_mlp", 4, "fp32", {"--collective-stream", "compute"}},
                      Case{"tp_mlp", 4, "bf16", {"--collective-stream", "compute", "--group"}},
                      Case{"tp_mlp", 2, "fp32", {"--sequence-parallel"}},
                      Case{"tp_mlp", 8, "bf16", {"--sequence-parallel"}},
                      Case{"tp_mlp", 2, "fp32", {}, true}, Case{"tp_mlp", 4, "bf16", {}, true},
                      Case{"tp_mlp", 2, "fp32", {"--sequence-parallel", "--group"}, true}),
    name_of);

class DataParallelNumbers : public ExampleNumbers {};

TEST_P(DataParallelNumbers, MatchTheReference) {
  const int ranks = GetParam().ranks;
  std::vector<DumpReader> dumps = run();
  const auto expected = braid::testing::train_reference_mlp(options_);
  const bool shard = has_style(GetParam(), "--shard");
  const size_t layer_elements = 2 * expected.w1[0].size();
  const auto count = static_cast<size_t>(ranks);
  const size_t held = shard ? (layer_elements + count - 1) / count : layer_elements;
  std::vector<Matrix> gathered(expected.w1.size());
  for (int rank = 0; rank < ranks && !HasFailure(); ++rank) {
    DumpReader& dump = dumps[static_cast<size_t>(rank)];
    for (size_t layer = 0; layer < expected.w1.size(); ++layer) {
      Matrix whole = expected.w1[layer];
      append(whole, expected.w2[layer]);
      const Matrix part = dump.take(held);
      if (shard) {
        append(gathered[layer], part);
      } else {
        expect_near(part, whole, "parameters of rank " + std::to_string(rank));
      }
    }
    const Matrix output = slice_of(expected.output, rank, ranks);
    expect_near(dump.take(output.size()), output, "output of rank " + std::to_string(rank));
    EXPECT_TRUE(dump.at_end());
  }
  for (size_t layer = 0; shard && layer < expected.w1.size() && !HasFailure(); ++layer) {
    Matrix whole = expected.w1[layer];
    append(whole, expected.w2[layer]);
    gathered[layer].resize(layer_elements);  // without the padding
    expect_near(gathered[layer], whole, "gathered parameters");
  }
}

INSTANTIATE_TEST_SUITE_P(
    , DataParallelNumbers,
    ::testing::Values(Case{"dp_mlp", 1, "fp32", {}}, Case{"dp_mlp", 2, "fp32", {}},
                      Case{"dp_mlp", 4, "bf16", {}}, Case{"dp_mlp", 8, "fp32", {}},
                      Case{"dp_mlp", 2, "fp32", {"--collective-stream", "compute", "--group"}},
                      Case{"dp_mlp", 1, "fp32", {"--shard"}},
                      Case{"dp_mlp", 2, "fp32", {"--shard"}},
                      Case{"dp_mlp", 4, "fp16", {"--shard"}},
                      Case{"dp_mlp", 8, "bf16", {"--shard"}}, Case{"dp_mlp", 2, "fp32", {}, true},
                      Case{"dp_mlp", 2, "bf16", {"--shard"}, true}),
    name_of);

class ExpertParallelNumbers : public ExampleNumbers {};

TEST_P(ExpertParallelNumbers, MatchTheReference) {
  std::vector<DumpReader> dumps = run();
  const Matrix expected = braid::testing::run_reference_experts(options_);
  for (int rank = 0; rank < GetParam().ranks && !HasFailure(); ++rank) {
    const Matrix output = slice_of(expected, rank, GetParam().ranks);
    expect_near(dumps[static_cast<size_t>(rank)].take(output.size()), output,
                "output of rank " + std::to_string(rank));
  }
}

INSTANTIATE_TEST_SUITE_P(
    , ExpertParallelNumbers,
    ::testing::Values(Case{"moe_a2a", 1, "fp32", {}}, Case{"moe_a2a", 2, "fp32", {}},
                      Case{"moe_a2a", 4, "bf16", {}}, Case{"moe_a2a", 8, "fp32", {}},
                      Case{"moe_a2a", 4, "fp32", {"--collective-stream", "compute", "--group"}},
                      Case{"moe_a2a", 2, "fp32", {}, true}),
    name_of);

}  // namespace
