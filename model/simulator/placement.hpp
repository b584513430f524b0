// Which rank and which GPU of the box each traced device is.
#pragma once

#include "config/result.hpp"
#include "model/simulator/workload.hpp"

namespace braid::model {

/// Gives each device its rank in the job: the file's, where the file has one device; else the rank
/// its first communicator gave it; else, where these are not unique, its place in the list.
void number_ranks(const trace::Trace& trace, Workload& workload);

/// Fills in DeviceInfo::gpu by the first rule that gives every device a GPU of its own: bus id,
/// device ordinal, rank. The error names the topology.
Status place_devices(const trace::Trace& trace, const Topology& topology, Workload& workload);

}  // namespace braid::model
