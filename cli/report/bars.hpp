// Step times of all arms as horizontal bars with interval whiskers.
#pragma once

#include <string>
#include <vector>

namespace braid::cli {

struct Bar {
  std::string label;
  double value_us = 0, low_us = 0, high_us = 0;
  std::string remark;  // beside the value: "1.21× [1.10, 1.31]"
  bool highlighted = false;
  std::string failure;  // instead of a bar
};

/// An SVG element (no document header) for inlining into HTML. Bars start at zero.
std::string bars_svg(const std::vector<Bar>& bars);

/// A round number of at least `value`, and the tick distance that divides it into 4 to 8 parts.
struct AxisScale {
  double end = 1, tick = 0.25;
};
AxisScale axis_scale(double value);

}  // namespace braid::cli
