#include "vgpu/nccl/kernel_name.hpp"

#include <algorithm>
#include <cctype>

#include "model/stock_nccl.hpp"
#include "vgpu/nccl/profiler.hpp"

namespace braid::vgpu::nccl {
namespace {

std::string upper_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

/// The operator as kernels are named: averages run as the kernels of what they are made of.
std::string operator_name(const CollectiveOperation& collective) {
  switch (collective.operation) {
    case ReductionKind::kMax:
    case ReductionKind::kMin:
      return "MinMax";
    case ReductionKind::kAverage:
      return collective.datatype >= ncclFloat16 ? "PreMulSum" : "SumPostDiv";
    default:
      return name_of(collective.operation);
  }
}

}  // namespace

std::string kernel_name(const std::vector<CollectiveOperation>& collectives) {
  std::string name = "ncclDevKernel_SendRecv";
  if (!collectives.empty()) {
    const CollectiveOperation& first = collectives.front();
    name = std::string("ncclDevKernel_") + name_of(first.function);
    if (is_reducing(first.function)) {
      name += "_" + operator_name(first) + "_" + short_name_of(first.datatype);
    }
    name += "_" + upper_case(model::algorithm_name(first.algorithm)) + "_LL";
  }
  return "_Z" + std::to_string(name.size()) + name + "24ncclDevKernelArgsStorageILm4096EE";
}

}  // namespace braid::vgpu::nccl
