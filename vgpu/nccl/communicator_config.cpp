#include "vgpu/nccl/communicator_config.hpp"

#include <algorithm>
#include <cstring>

#include "vgpu/nccl/log.hpp"
#include "vgpu/nccl/settings.hpp"

namespace braid::vgpu::nccl {
namespace {

constexpr unsigned kMagic = 0xcafebeef;
constexpr int kUndefined = NCCL_CONFIG_UNDEF_INT;

struct Field {
  const char* name;
  int value;
  int low, high;
};

ncclResult_t check_fields(const ncclConfig_t& config) {
  const Field fields[] = {
      {"blocking", config.blocking, 0, 1},
      {"cgaClusterSize", config.cgaClusterSize, 0, 8},
      {"minCTAs", config.minCTAs, 1, INT_MAX},
      {"maxCTAs", config.maxCTAs, 1, INT_MAX},
      {"splitShare", config.splitShare, 0, 1},
      {"collnetEnable", config.collnetEnable, 0, 1},
      {"CTAPolicy", config.CTAPolicy, 0, NCCL_CTA_POLICY_EFFICIENCY | NCCL_CTA_POLICY_ZERO},
      {"shrinkShare", config.shrinkShare, 0, 1},
      {"nvlsCTAs", config.nvlsCTAs, 1, INT_MAX},
      {"nChannelsPerNetPeer", config.nChannelsPerNetPeer, 1, INT_MAX},
      {"nvlinkCentricSched", config.nvlinkCentricSched, 0, 1},
  };
  for (const Field& field : fields) {
    if (field.value != kUndefined && (field.value < field.low || field.value > field.high)) {
      return reject(ncclInvalidArgument, "Invalid config %s attribute value %d (expected %d..%d)",
                    field.name, field.value, field.low, field.high);
    }
  }
  if (config.minCTAs != kUndefined && config.maxCTAs != kUndefined &&
      config.minCTAs > config.maxCTAs) {
    return reject(ncclInvalidArgument, "Invalid config min/max CTAs attribute value %d/%d",
                  config.minCTAs, config.maxCTAs);
  }
  return ncclSuccess;
}

template <typename T>
void take(int value, T& field) {
  if (value != kUndefined) {
    field = static_cast<T>(value);
  }
}

void override_from_settings(CommunicatorConfig& config) {
  const int64_t blocking = cached_number("NCCL_COMM_BLOCKING", kUndefined);
  if (blocking == 0 || blocking == 1) {
    config.blocking = blocking == 1;
  }
  const int64_t low = cached_number("NCCL_MIN_CTAS", 0);
  const int64_t high = cached_number("NCCL_MAX_CTAS", 0);
  config.min_ctas = low > 0 ? static_cast<int>(low) : config.min_ctas;
  config.max_ctas = high > 0 ? static_cast<int>(high) : config.max_ctas;
  const int64_t share = cached_number("NCCL_COMM_SPLIT_SHARE_RESOURCES", kUndefined);
  if (share == 0 || share == 1) {
    config.split_share = share == 1;
  }
  if (config.min_ctas > 0 && config.max_ctas > 0) {
    config.min_ctas = std::min(config.min_ctas, config.max_ctas);
  }
}

}  // namespace

ncclResult_t read_config(const ncclConfig_t* given, const CommunicatorConfig* inherited,
                         CommunicatorConfig* config) {
  *config = inherited != nullptr ? *inherited : CommunicatorConfig{};
  config->name.clear();
  if (given != nullptr) {
    size_t size = 0;
    unsigned magic = 0;
    std::memcpy(&size, &given->size, sizeof(size));
    std::memcpy(&magic, &given->magic, sizeof(magic));
    if (magic != kMagic) {
      return reject(ncclInvalidArgument,
                    "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
    }
    ncclConfig_t known = NCCL_CONFIG_INITIALIZER;
    std::memcpy(static_cast<void*>(&known), given, std::min(size, sizeof(known)));
    BRAID_NCCL_TRY(check_fields(known));
    take(known.blocking, config->blocking);
    take(known.minCTAs, config->min_ctas);
    take(known.maxCTAs, config->max_ctas);
    take(known.splitShare, config->split_share);
    take(known.shrinkShare, config->shrink_share);
    if (known.commName != nullptr) {
      config->name = known.commName;
    }
  }
  override_from_settings(*config);
  return ncclSuccess;
}

}  // namespace braid::vgpu::nccl
