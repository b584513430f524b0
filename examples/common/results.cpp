#include "common/results.hpp"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "common/check.hpp"
#include "common/kernel_ops.hpp"
#include "common/kernels.hpp"

namespace examples {
namespace {

constexpr size_t kDigestLanes = 8192;
constexpr size_t kDumpChunk = size_t{1} << 20;  // elements

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t count) { CUDA_CHECK(cudaMalloc(&data_, count * sizeof(T))); }
  ~DeviceArray() { CUDA_CHECK(cudaFree(data_)); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

struct PartDigest {
  uint64_t hash = 0;
  double squares = 0;
};

PartDigest digest_part(const RankContext& context, DataType type, const ResultPart& part) {
  const DeviceArray<ops::DigestLane> lanes(kDigestLanes);
  std::vector<ops::DigestLane> host(kDigestLanes, ops::DigestLane{0, 0.0});
  digest(type, lanes.data(), kDigestLanes, part.data, part.elements, context.stream);
  CUDA_CHECK(cudaMemcpyAsync(host.data(), lanes.data(), kDigestLanes * sizeof(ops::DigestLane),
                             cudaMemcpyDeviceToHost, context.stream));
  CUDA_CHECK(cudaStreamSynchronize(context.stream));
  PartDigest result;
  for (const ops::DigestLane& lane : host) {
    result.hash += lane.hash;
    result.squares += lane.squares;
  }
  return result;
}

std::string dump_name(const std::string& path, int rank) {
  const std::string mark = "{rank}";
  const size_t position = path.find(mark);
  if (position == std::string::npos) {
    return path + ".rank" + std::to_string(rank);
  }
  std::string name = path;
  return name.replace(position, mark.size(), std::to_string(rank));
}

void dump_parts(const RankContext& context, DataType type, const std::vector<ResultPart>& parts,
                const std::string& path) {
  const std::string name = dump_name(path, context.rank);
  std::FILE* file = std::fopen(name.c_str(), "wb");
  if (file == nullptr) {
    fail("--dump %s: %s", name.c_str(), std::strerror(errno));
  }
  const DeviceArray<float> converted(kDumpChunk);
  std::vector<float> host(kDumpChunk);
  for (const ResultPart& part : parts) {
    for (size_t first = 0; first < part.elements; first += kDumpChunk) {
      const size_t count = std::min(kDumpChunk, part.elements - first);
      to_float(type, converted.data(), static_cast<const char*>(part.data) + first * bytes_of(type),
               count, context.stream);
      CUDA_CHECK(cudaMemcpyAsync(host.data(), converted.data(), count * sizeof(float),
                                 cudaMemcpyDeviceToHost, context.stream));
      CUDA_CHECK(cudaStreamSynchronize(context.stream));
      if (std::fwrite(host.data(), sizeof(float), count, file) != count) {
        fail("--dump %s: %s", name.c_str(), std::strerror(errno));
      }
    }
  }
  if (std::fclose(file) != 0) {
    fail("--dump %s: %s", name.c_str(), std::strerror(errno));
  }
}

}  // namespace

void report_results(const RankContext& context, DataType type, const std::vector<ResultPart>& parts,
                    const std::string& dump_path) {
  uint64_t checksum = 0;
  double squares = 0;
  for (const ResultPart& part : parts) {
    const PartDigest digest = digest_part(context, type, part);
    checksum = ops::mix(checksum ^ digest.hash);
    squares += digest.squares;
  }
  std::printf("rank %d: checksum 0x%016" PRIx64 " norm %.9g\n", context.rank, checksum,
              std::sqrt(squares));
  if (!dump_path.empty()) {
    dump_parts(context, type, parts, dump_path);
  }
  const std::vector<uint64_t> all = context.rendezvous->gather(context.rank, checksum);
  if (context.rank == 0) {
    uint64_t total = 0;
    for (const uint64_t one : all) {
      total = ops::mix(total ^ one);
    }
    std::printf("checksum 0x%016" PRIx64 "\n", total);
  }
  std::fflush(stdout);
}

}  // namespace examples
