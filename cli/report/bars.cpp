#include "cli/report/bars.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/format.hpp"
#include "cli/report/escape.hpp"

namespace braid::cli {
namespace {

constexpr double kLabelWidth = 130, kPlotWidth = 690, kRemarkWidth = 300;
constexpr double kRowHeight = 38, kBarHeight = 20, kTop = 8, kAxisHeight = 30;

std::string row_svg(const Bar& bar, double y, double scale) {
  const double middle = y + kRowHeight / 2;
  std::string out = fmt::format(
      "<text class=\"bar-label{}\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>",
      bar.highlighted ? " strong" : "", kLabelWidth - 12, middle + 4.5, escape_html(bar.label));
  if (!bar.failure.empty()) {
    return out + fmt::format("<text class=\"bar-failure\" x=\"{}\" y=\"{:.1f}\">{}</text>",
                             kLabelWidth + 6, middle + 4.5, escape_html(bar.failure));
  }
  const double x = kLabelWidth + bar.value_us * scale;
  const double low = kLabelWidth + bar.low_us * scale, high = kLabelWidth + bar.high_us * scale;
  out += fmt::format(
      "<rect class=\"bar{}\" x=\"{}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" rx=\"2\"/>",
      bar.highlighted ? " bar-braid" : "", kLabelWidth, middle - kBarHeight / 2,
      std::max(bar.value_us * scale, 1.0), kBarHeight);
  out += fmt::format(
      "<path class=\"whisker\" d=\"M{0:.1f} {2:.1f}H{1:.1f}M{0:.1f} {3:.1f}v10M{1:.1f} "
      "{3:.1f}v10\"/>",
      low, high, middle, middle - 5);
  out += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\"><tspan class=\"bar-value\">{}</tspan>"
      "<tspan class=\"bar-remark\" dx=\"10\">{}</tspan></text>",
      std::max(x, high) + 10, middle + 4.5, escape_html(format_time(bar.value_us)),
      escape_html(bar.remark));
  return out;
}

std::string tick_label(double us) {
  if (us == 0) {
    return "0";
  }
  return us < 1000 ? fmt::format("{:.5g} µs", us) : fmt::format("{:.5g} ms", us / 1000);
}

}  // namespace

AxisScale axis_scale(double value) {
  if (!(value > 0)) {
    return {};
  }
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double step : {0.2, 0.25, 0.5, 1.0, 2.0}) {
    const double tick = step * power;
    const double parts = std::ceil(value / tick - 1e-9);
    if (parts <= 8) {
      return {std::max(parts, 1.0) * tick, tick};
    }
  }
  return {10 * power, 2 * power};
}

std::string bars_svg(const std::vector<Bar>& bars) {
  double largest = 0;
  for (const Bar& bar : bars) {
    largest = std::max({largest, bar.value_us, bar.high_us});
  }
  const AxisScale axis = axis_scale(largest);
  const double scale = kPlotWidth / axis.end;
  const double width = kLabelWidth + kPlotWidth + kRemarkWidth;
  const double bottom = kTop + kRowHeight * static_cast<double>(bars.size());
  std::string out = fmt::format(
      "<svg class=\"bars\" viewBox=\"0 0 {} {:.0f}\" role=\"img\" "
      "aria-label=\"Step time of each arm\">",
      width, bottom + kAxisHeight);
  for (double tick = 0; tick <= axis.end * (1 + 1e-9); tick += axis.tick) {
    const double x = kLabelWidth + tick * scale;
    out += fmt::format(
        "<path class=\"grid\" d=\"M{0:.1f} {1}V{2:.1f}\"/>"
        "<text class=\"tick\" x=\"{0:.1f}\" y=\"{3:.1f}\" text-anchor=\"middle\">{4}"
        "</text>",
        x, kTop, bottom, bottom + 18, tick_label(tick));
  }
  double y = kTop;
  for (const Bar& bar : bars) {
    out += row_svg(bar, y, scale);
    y += kRowHeight;
  }
  return out + "</svg>";
}

}  // namespace braid::cli
