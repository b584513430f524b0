#include "cli/compare/result_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>

namespace braid::cli {
namespace {

double from_half(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  double value;
  if (exponent == 31) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else {
    value = std::ldexp(1024 + fraction, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

template <typename T>
T load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

double decode(const char* from, NumberType type) {
  switch (type) {
    case NumberType::kF32:
      return static_cast<double>(load<float>(from));
    case NumberType::kF64:
      return load<double>(from);
    case NumberType::kF16:
      return from_half(load<uint16_t>(from));
    case NumberType::kBf16: {
      const uint32_t bits = static_cast<uint32_t>(load<uint16_t>(from)) << 16;
      float value;
      std::memcpy(&value, &bits, sizeof value);
      return static_cast<double>(value);
    }
  }
  return 0;
}

Result<std::string> read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return fail(path, fmt::format("the result cannot be read: {}", std::strerror(errno)));
  }
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

double difference(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) {
    return 0;
  }
  const double distance = std::fabs(a - b);
  return std::isnan(distance) ? std::numeric_limits<double>::infinity() : distance;
}

}  // namespace

Result<ResultFile> parse_result_file(const std::string& text) {
  ResultFile result{text, NumberType::kF32};
  const size_t colon = text.rfind(':');
  if (colon != std::string::npos && text.find('/', colon) == std::string::npos) {
    const std::string type = text.substr(colon + 1);
    result.path = text.substr(0, colon);
    if (type == "f32" || type == "fp32") {
      result.type = NumberType::kF32;
    } else if (type == "f16" || type == "fp16") {
      result.type = NumberType::kF16;
    } else if (type == "bf16") {
      result.type = NumberType::kBf16;
    } else if (type == "f64" || type == "fp64") {
      result.type = NumberType::kF64;
    } else {
      return fail("--result " + text,
                  fmt::format("unknown type '{}'; expected f32, f16, bf16 or f64", type));
    }
  }
  if (result.path.empty()) {
    return fail("--result " + text, "names no file");
  }
  return result;
}

size_t bytes_of(NumberType type) {
  return type == NumberType::kF64 ? 8 : type == NumberType::kF32 ? 4 : 2;
}

std::optional<FileStamp> stamp_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    return std::nullopt;
  }
  const auto nanoseconds = [](const timespec& time) {
    return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  };
  return FileStamp{status.st_ino, status.st_size, nanoseconds(status.st_mtim),
                   nanoseconds(status.st_ctim)};
}

std::vector<double> decode_numbers(const std::string& bytes, NumberType type) {
  std::vector<double> numbers;
  const size_t size = bytes_of(type);
  for (size_t at = 0; at + size <= bytes.size(); at += size) {
    numbers.push_back(decode(bytes.data() + at, type));
  }
  return numbers;
}

Result<double> max_abs_difference(const std::string& a, const std::string& b, NumberType type) {
  const auto left = read_bytes(a);
  if (!left) {
    return tl::unexpected(left.error());
  }
  const auto right = read_bytes(b);
  if (!right) {
    return tl::unexpected(right.error());
  }
  if (left->size() != right->size()) {
    return fail(b, fmt::format("has {} bytes, but {} has {}", right->size(), a, left->size()));
  }
  const size_t size = bytes_of(type);
  if (left->size() % size != 0) {
    return fail(
        a, fmt::format("has {} bytes, which is no multiple of the type's {}", left->size(), size));
  }
  double largest = 0;
  for (size_t at = 0; at < left->size(); at += size) {
    largest = std::max(
        largest, difference(decode(left->data() + at, type), decode(right->data() + at, type)));
  }
  return largest;
}

}  // namespace braid::cli
