#include "cli/report/box.hpp"

#include <fmt/format.h>

namespace braid::cli {
namespace {

constexpr config::Collective kShown[] = {config::Collective::kAllReduce,
                                         config::Collective::kAllGather,
                                         config::Collective::kReduceScatter};
constexpr uint64_t kSizes[] = {64ull << 10, 1ull << 20, 16ull << 20, kBusbwBytes};

}  // namespace

double bus_bandwidth(config::Collective collective, uint64_t bytes, double time_us, int ranks) {
  if (time_us <= 0 || ranks < 2) {
    return 0;
  }
  const double n = ranks;
  double factor = 1;
  switch (collective) {
    case config::Collective::kAllReduce:
      factor = 2 * (n - 1) / n;
      break;
    case config::Collective::kAllGather:
    case config::Collective::kReduceScatter:
    case config::Collective::kAllToAll:
      factor = (n - 1) / n;
      break;
    default:
      break;
  }
  return static_cast<double>(bytes) / (time_us * 1e3) * factor;
}

Box describe_box(model::Topology topology, const model::NcclSettings& settings) {
  Box box;
  box.topology = std::move(topology);
  box.graph = model::build_link_graph(box.topology);
  box.by_dev = box.topology.by_dev();
  auto plan = model::plan_stock(box.topology, box.by_dev, settings);
  if (!plan) {
    box.stock_error = plan.error().text();
    return box;
  }
  box.stock = std::move(*plan);
  if (box.stock->n_ranks < 2) {
    return box;
  }
  for (const config::Collective collective : kShown) {
    for (const uint64_t bytes : kSizes) {
      StockChoice row{collective, bytes, {}, 0};
      row.choice = model::choose(*box.stock, model::cost_table(*box.stock, collective, bytes),
                                 collective, bytes);
      row.busbw_gbps = bus_bandwidth(collective, bytes, row.choice.time_us, box.stock->n_ranks);
      box.choices.push_back(row);
    }
  }
  return box;
}

std::string node_name(const Box& box, int node) {
  const model::LinkNode& at = box.graph.nodes[static_cast<size_t>(node)];
  const auto index = static_cast<size_t>(at.index);
  switch (at.kind) {
    case model::LinkNode::Kind::kGpu:
      return fmt::format("gpu{}", box.topology.gpus[index].dev);
    case model::LinkNode::Kind::kCpu:
      return fmt::format("cpu{}", box.topology.cpus[index].numa_id);
    case model::LinkNode::Kind::kSwitch:
      return fmt::format("switch {}", box.topology.pci_nodes[index].bus_id);
    case model::LinkNode::Kind::kNvswitch:
      return "nvswitch";
    case model::LinkNode::Kind::kNic:
      return fmt::format("nic {}", box.topology.nics[index].name);
  }
  return "unknown";
}

Json box_json(const Box& box) {
  Json document;
  document["file"] = box.topology.path;
  document["gpus"] = Json::array();
  for (const int index : box.by_dev) {
    const model::Gpu& gpu = box.topology.gpus[static_cast<size_t>(index)];
    const model::Cpu& cpu = box.topology.cpus[static_cast<size_t>(gpu.cpu)];
    document["gpus"].push_back({{"dev", gpu.dev},
                                {"rank", gpu.rank < 0 ? Json(nullptr) : Json(gpu.rank)},
                                {"bus_id", gpu.bus_id},
                                {"sm", gpu.compute_capability},
                                {"numa", cpu.numa_id},
                                {"host", cpu.host}});
  }
  document["class"] = model::class_of(box.topology);
  document["links"] = Json::array();
  for (const model::Link& link : box.graph.links) {
    document["links"].push_back({{"from", node_name(box, link.from)},
                                 {"to", node_name(box, link.to)},
                                 {"kind", model::name_of(link.kind)},
                                 {"gbps", link.capacity_gbps}});
  }
  if (box.stock) {
    Json stock;
    stock["rings"] = box.stock->ring.channels;
    stock["trees"] = box.stock->tree.channels;
    stock["busbw_gbps"] = nullptr;
    stock["bytes"] = kBusbwBytes;
    stock["choice"] = Json::object();
    stock["by_size"] = Json::array();
    for (const StockChoice& row : box.choices) {
      const Json choice = {{"algo", model::algorithm_name(row.choice.algorithm)},
                           {"proto", model::protocol_name(row.choice.protocol)}};
      if (row.bytes == kBusbwBytes) {
        stock["choice"][config::name_of(row.collective)] = choice;
        if (row.collective == config::Collective::kAllReduce) {
          stock["busbw_gbps"] = row.busbw_gbps;
        }
      }
      Json by_size = choice;
      by_size["collective"] = config::name_of(row.collective);
      by_size["bytes"] = row.bytes;
      by_size["time_us"] = row.choice.time_us;
      by_size["busbw_gbps"] = row.busbw_gbps;
      stock["by_size"].push_back(by_size);
    }
    document["stock"] = stock;
  } else {
    document["stock"] = nullptr;
    document["stock_error"] = box.stock_error;
  }
  document["schemes"] = Json::array();
  document["bound"] = nullptr;
  document["capacities"] = "NCCL 2.28's own link figures; assumptions of its search, not measured";
  return document;
}

}  // namespace braid::cli
