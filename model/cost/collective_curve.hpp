// Time of one collective over its size, as a table that is quick to look up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "config/policy.hpp"
#include "model/collective_predictor.hpp"

namespace braid::model {

/// Straight lines between sizes; beyond the last point the last line goes on. Looking up allocates
/// nothing.
struct CollectiveCurve {
  struct Point {
    uint64_t bytes = 0;
    double time_us = 0;
    int channels = 0;  // SMs held at this size
  };
  std::vector<Point> points;  // by size, at least one
  SchemeKind scheme = SchemeKind::kStock;

  double time_us(uint64_t bytes) const;
  int channels(uint64_t bytes) const;
  /// α and β of the line at this size: time ≈ alpha_us + bytes·us_per_byte.
  struct Line {
    double alpha_us = 0, us_per_byte = 0;
  };
  Line line_at(uint64_t bytes) const;
};

/// Samples the predictor so that straight lines are within 1% of it between 1 KiB and `max_bytes`;
/// jumps at protocol changes get a point on each side. Empty points where the scheme is not
/// offered.
CollectiveCurve sample_curve(const CollectivePredictor& predictor, config::Collective collective,
                             SchemeKind scheme, uint64_t max_bytes = 4ull << 30);

}  // namespace braid::model
