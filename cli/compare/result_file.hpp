// Result files that the job writes, compared between arms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/result.hpp"

namespace braid::cli {

enum class NumberType { kF32, kF16, kBf16, kF64 };

/// `--result FILE[:f32|f16|bf16|f64]`; without a type: f32.
struct ResultFile {
  std::string path;
  NumberType type = NumberType::kF32;
};
Result<ResultFile> parse_result_file(const std::string& text);

/// Bytes of a number.
size_t bytes_of(NumberType type);

/// What identifies one state of a file, to see whether a run wrote it.
struct FileStamp {
  uint64_t inode = 0;
  int64_t size = -1, modified_ns = 0, changed_ns = 0;
  bool operator==(const FileStamp&) const = default;
};
/// Nothing when there is no such file.
std::optional<FileStamp> stamp_of(const std::string& path);

/// Largest absolute difference between two files of raw little-endian numbers. Equal NaNs and equal
/// infinities count as equal; a NaN against a number is infinity. Errors: a file is missing, the
/// sizes differ, or a size is no whole number of elements.
Result<double> max_abs_difference(const std::string& a, const std::string& b, NumberType type);

/// The numbers of raw bytes.
std::vector<double> decode_numbers(const std::string& bytes, NumberType type);

}  // namespace braid::cli
