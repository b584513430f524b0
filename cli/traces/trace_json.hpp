// Trace summaries as JSON.
#pragma once

#include "cli/json_output.hpp"
#include "cli/traces/trace_summary.hpp"

namespace braid::cli {

/// {"collectives":[…],"rewrites":[…],"refusals":{…},"gemms",…}
Json summary_json(const TraceSummary& summary);
Json rewrites_json(const TraceSummary& summary);
Json refusals_json(const TraceSummary& summary);

}  // namespace braid::cli
