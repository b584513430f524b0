// NCCL_* settings that change what stock NCCL does.
#include "model/stock/settings.hpp"

#include <algorithm>
#include <charconv>

#include "model/stock/cost_model.hpp"
#include "model/stock_nccl.hpp"

namespace braid::model {
namespace {

Result<int> parse_channels(const std::string& name, const std::string& value) {
  int number = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  if (value.empty() || error != std::errc() || stop != end || number < 1) {
    return fail(name + "=" + value, "expected a number of channels, 1 or more");
  }
  return number;
}

/// Both limits were set: the one that binds.
void tighten(int& limit, int value, bool at_least) {
  limit = limit == 0 ? value : at_least ? std::max(limit, value) : std::min(limit, value);
}

}  // namespace

namespace stock {

Result<PathType> parse_p2p_level(const std::string& text, PathType fallback) {
  if (text.empty()) {
    return fallback;
  }
  if (const auto type = path_type_from(text); type && *type <= PathType::kSys) {
    return *type;
  }
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && stop == end && number >= 0) {
    // The numbers NCCL took before the names.
    constexpr PathType kByNumber[] = {PathType::kLoc, PathType::kPix, PathType::kPxb,
                                      PathType::kPhb, PathType::kSys};
    return kByNumber[std::min(number, 4)];
  }
  return fail("NCCL_P2P_LEVEL=" + text, "expected LOC, NVL, PIX, PXB, PHB or SYS");
}

}  // namespace stock

Result<NcclSettings> read_nccl_settings(
    const std::vector<std::pair<std::string, std::string>>& env) {
  NcclSettings settings;
  std::string old_min, old_max, new_min, new_max, min_ctas, max_ctas, p2p_disable;
  const std::pair<const char*, std::string*> names[] = {
      {"NCCL_ALGO", &settings.algo},
      {"NCCL_PROTO", &settings.proto},
      {"NCCL_GRAPH_FILE", &settings.graph_file},
      {"NCCL_P2P_LEVEL", &settings.p2p_level},
      {"NCCL_P2P_DISABLE", &p2p_disable},
      {"NCCL_MIN_NRINGS", &old_min},
      {"NCCL_MAX_NRINGS", &old_max},
      {"NCCL_MIN_NCHANNELS", &new_min},
      {"NCCL_MAX_NCHANNELS", &new_max},
      {"NCCL_MIN_CTAS", &min_ctas},
      {"NCCL_MAX_CTAS", &max_ctas},
  };
  for (const auto& [name, value] : env) {
    for (const auto& [known, field] : names) {
      if (name == known) {
        *field = value;
      }
    }
  }

  if (const auto parsed = stock::parse_algorithms(settings.algo); !parsed) {
    return tl::unexpected(parsed.error());
  }
  if (const auto parsed = stock::parse_protocols(settings.proto); !parsed) {
    return tl::unexpected(parsed.error());
  }
  if (!p2p_disable.empty() && p2p_disable != "0" && p2p_disable != "1") {
    return fail("NCCL_P2P_DISABLE=" + p2p_disable, "expected 0 or 1");
  }
  if (p2p_disable == "1") {
    settings.p2p_level = "LOC";
  }
  if (const auto parsed = stock::parse_p2p_level(settings.p2p_level, PathType::kPxb); !parsed) {
    return tl::unexpected(parsed.error());
  }

  // The newer name of a limit wins over the older one; limits on CTAs act besides.
  struct Limit {
    const char* name;
    const std::string& value;
    int& field;
    bool at_least;
  };
  const Limit limits[] = {
      {new_min.empty() ? "NCCL_MIN_NRINGS" : "NCCL_MIN_NCHANNELS",
       new_min.empty() ? old_min : new_min, settings.min_channels, true},
      {new_max.empty() ? "NCCL_MAX_NRINGS" : "NCCL_MAX_NCHANNELS",
       new_max.empty() ? old_max : new_max, settings.max_channels, false},
      {"NCCL_MIN_CTAS", min_ctas, settings.min_channels, true},
      {"NCCL_MAX_CTAS", max_ctas, settings.max_channels, false},
  };
  for (const auto& limit : limits) {
    if (limit.value.empty()) {
      continue;
    }
    const auto parsed = parse_channels(limit.name, limit.value);
    if (!parsed) {
      return tl::unexpected(parsed.error());
    }
    tighten(limit.field, *parsed, limit.at_least);
  }
  return settings;
}

}  // namespace braid::model
