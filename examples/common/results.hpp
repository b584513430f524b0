// Reporting what was computed: checksums, norms and dumps of device buffers.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/data_type.hpp"
#include "common/launcher.hpp"

namespace examples {

/// A device buffer that belongs to the result.
struct ResultPart {
  std::string name;
  const void* data;
  size_t elements;
};

/// Waits for the compute stream and prints "rank R: checksum 0x… norm …" over the parts in their
/// order; rank 0 also prints "checksum 0x…" over all ranks. Checksums are hashes of the values'
/// bits. With a dump path, writes the parts one after another as fp32.
void report_results(const RankContext& context, DataType type, const std::vector<ResultPart>& parts,
                    const std::string& dump_path);

}  // namespace examples
