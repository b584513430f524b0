#include "model/simulator/placement.hpp"

#include <map>
#include <optional>
#include <set>

#include "model/bus_id.hpp"

namespace braid::model {

void number_ranks(const trace::Trace& trace, Workload& workload) {
  std::map<int, int> devices_in_file;
  for (const DeviceInfo& device : workload.devices) {
    devices_in_file[device.file] += 1;
  }
  std::set<int> taken;
  bool unique = true;
  for (DeviceInfo& device : workload.devices) {
    const int of_file = trace.ranks[static_cast<size_t>(device.file)].header.rank;
    if (devices_in_file[device.file] == 1 && of_file >= 0) {
      device.rank = of_file;
    }
    unique = unique && device.rank >= 0 && taken.insert(device.rank).second;
  }
  for (size_t i = 0; i < workload.devices.size() && !unique; ++i) {
    workload.devices[i].rank = static_cast<int>(i);
  }
}

Status place_devices(const trace::Trace& trace, const Topology& topology, Workload& workload) {
  const size_t wanted = workload.devices.size();
  if (wanted > topology.gpus.size()) {
    return fail(topology.path, "has " + std::to_string(topology.gpus.size()) +
                                   " GPUs; the trace has " + std::to_string(wanted) + " ranks");
  }
  const std::vector<int> by_dev = topology.by_dev();
  const auto by_bus_id = [&](const DeviceInfo& device) {
    const trace::RankTrace& rank = trace.ranks[static_cast<size_t>(device.file)];
    for (const trace::Record& record : rank.records) {
      const auto* declared = std::get_if<trace::Device>(&record.payload);
      if (declared == nullptr || declared->ordinal != device.ordinal) {
        continue;
      }
      const std::optional<uint64_t> id = parse_bus_id(rank.name(declared->bus_id));
      for (size_t i = 0; id && i < topology.gpus.size(); ++i) {
        if (parse_bus_id(topology.gpus[i].bus_id) == id) {
          return static_cast<int>(i);
        }
      }
    }
    return -1;
  };
  const auto at = [&](int position) {
    return position >= 0 && static_cast<size_t>(position) < by_dev.size()
               ? by_dev[static_cast<size_t>(position)]
               : -1;
  };
  const auto try_rule = [&](auto&& rule) {
    std::set<int> taken;
    for (DeviceInfo& device : workload.devices) {
      device.gpu = rule(device);
      if (device.gpu < 0 || !taken.insert(device.gpu).second) {
        return false;
      }
    }
    return true;
  };
  if (try_rule(by_bus_id) || try_rule([&](const DeviceInfo& d) { return at(d.ordinal); }) ||
      try_rule([&](const DeviceInfo& d) { return at(d.rank); })) {
    return {};
  }
  return fail(topology.path,
              "ranks of the trace cannot be placed on its GPUs: neither bus ids nor "
              "device ordinals nor ranks give each a GPU of its own");
}

}  // namespace braid::model
