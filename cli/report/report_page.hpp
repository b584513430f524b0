// The self-contained HTML report of a comparison.
#pragma once

#include <string>

#include "cli/compare/comparison.hpp"

namespace braid::cli {

/// One HTML document with everything inside: no link to any other file or host.
std::string report_page(const ComparisonRequest& request, const Comparison& comparison);

}  // namespace braid::cli
