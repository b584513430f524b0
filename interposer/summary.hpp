// The line or two a rank says when its process ends (BRAID_SUMMARY).
#pragma once

namespace braid::interposer {

/// Prints how many calls were rewritten and why others were not, to stderr.
void print_summary();

}  // namespace braid::interposer
