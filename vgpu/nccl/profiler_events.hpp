// Event descriptors of each profiler version, built from the same facts.
#pragma once

#include "vgpu/nccl/profiler.hpp"
#include "vgpu/nccl/reduction.hpp"

namespace braid::vgpu::nccl {

/// True when the descriptor could be filled in: the version knows this kind of event.
inline bool describe(const EventFacts& facts, const ProfilerSession::Identity& identity,
                     abi::ProfilerUnionV1& of) {
  if (facts.kind == abi::kEventCollective) {
    of.collective = {identity.name.c_str(),
                     identity.communicator,
                     facts.sequence,
                     static_cast<uint8_t>(facts.function),
                     facts.send,
                     facts.receive,
                     facts.count,
                     facts.root,
                     static_cast<uint8_t>(facts.datatype),
                     facts.operation,
                     facts.traffic_bytes,
                     static_cast<uint8_t>(facts.channels),
                     16,
                     static_cast<uint8_t>(facts.algorithm_index),
                     static_cast<uint8_t>(facts.protocol_index),
                     0,
                     0};
  } else if (facts.kind == abi::kEventPointToPoint) {
    of.point_to_point = {identity.name.c_str(),
                         identity.communicator,
                         static_cast<uint8_t>(facts.function),
                         facts.receive,
                         static_cast<uint8_t>(facts.datatype),
                         facts.count,
                         facts.peer};
  } else {
    return facts.kind == abi::kEventGroup;
  }
  return true;
}

inline void describe_point_to_point(const EventFacts& facts,
                                    const ProfilerSession::Identity& identity,
                                    abi::ProfilerPointToPointV2& out) {
  out = {identity.name.c_str(),
         identity.communicator,
         name_of(facts.function),
         facts.receive,
         name_of(facts.datatype),
         facts.count,
         facts.peer};
}

inline bool describe(const EventFacts& facts, const ProfilerSession::Identity& identity,
                     abi::ProfilerUnionV2& of) {
  if (facts.kind == abi::kEventCollective) {
    of.collective = {identity.name.c_str(),
                     identity.communicator,
                     facts.sequence,
                     name_of(facts.function),
                     facts.send,
                     facts.receive,
                     facts.count,
                     facts.root,
                     name_of(facts.datatype),
                     facts.traffic_bytes,
                     static_cast<uint8_t>(facts.channels),
                     16,
                     facts.algorithm,
                     facts.protocol};
  } else if (facts.kind == abi::kEventPointToPoint) {
    describe_point_to_point(facts, identity, of.point_to_point);
  } else {
    return facts.kind == abi::kEventGroup;
  }
  return true;
}

inline bool describe(const EventFacts& facts, const ProfilerSession::Identity& identity,
                     abi::ProfilerUnionV3& of) {
  if (facts.kind == abi::kEventCollective) {
    of.collective = {identity.name.c_str(),
                     identity.communicator,
                     facts.sequence,
                     name_of(facts.function),
                     facts.send,
                     facts.receive,
                     facts.count,
                     facts.root,
                     name_of(facts.datatype),
                     static_cast<uint8_t>(facts.channels),
                     16,
                     facts.algorithm,
                     facts.protocol};
  } else if (facts.kind == abi::kEventPointToPoint) {
    describe_point_to_point(facts, identity, of.point_to_point);
  } else if (facts.kind == abi::kEventKernelChannel) {
    of.kernel_channel = {static_cast<uint8_t>(facts.channel)};
  } else {
    return facts.kind == abi::kEventGroup;
  }
  return true;
}

inline bool describe(const EventFacts& facts, const ProfilerSession::Identity&,
                     abi::ProfilerUnionV4& of) {
  if (facts.kind == abi::kEventCollective) {
    of.collective = {facts.sequence,
                     name_of(facts.function),
                     facts.send,
                     facts.receive,
                     facts.count,
                     facts.root,
                     name_of(facts.datatype),
                     static_cast<uint8_t>(facts.channels),
                     16,
                     facts.algorithm,
                     facts.protocol};
  } else if (facts.kind == abi::kEventPointToPoint) {
    of.point_to_point = {name_of(facts.function),
                         facts.receive,
                         name_of(facts.datatype),
                         facts.count,
                         facts.peer,
                         static_cast<uint8_t>(facts.channels)};
  } else if (facts.kind == abi::kEventKernelChannel) {
    of.kernel_channel = {static_cast<uint8_t>(facts.channel), facts.start_time};
  } else {
    return facts.kind == abi::kEventGroup;
  }
  return true;
}

inline bool describe(const EventFacts& facts, const ProfilerSession::Identity&,
                     abi::ProfilerUnionV5& of) {
  switch (facts.kind) {
    case abi::kEventGroup:
      return true;
    case abi::kEventCollective:
      of.collective = {facts.sequence,
                       name_of(facts.function),
                       facts.send,
                       facts.receive,
                       facts.count,
                       facts.root,
                       name_of(facts.datatype),
                       static_cast<uint8_t>(facts.channels),
                       16,
                       facts.algorithm,
                       facts.protocol,
                       facts.parent_group};
      return true;
    case abi::kEventPointToPoint:
      of.point_to_point = {name_of(facts.function),
                           facts.receive,
                           name_of(facts.datatype),
                           facts.count,
                           facts.peer,
                           static_cast<uint8_t>(facts.channels),
                           facts.parent_group};
      return true;
    case abi::kEventKernelChannel:
      of.kernel_channel = {static_cast<uint8_t>(facts.channel), facts.start_time};
      return true;
    case abi::kEventGroupApi:
      of.group_api = {false, facts.depth};
      return true;
    case abi::kEventCollectiveApi:
      of.collective_api = {name_of(facts.function),
                           facts.count,
                           name_of(facts.datatype),
                           facts.root,
                           facts.stream,
                           false};
      return true;
    case abi::kEventPointToPointApi:
      of.point_to_point_api = {name_of(facts.function), facts.count, name_of(facts.datatype),
                               facts.stream, false};
      return true;
    case abi::kEventKernelLaunch:
      of.kernel_launch = {facts.stream};
      return true;
    default:
      return false;
  }
}

}  // namespace braid::vgpu::nccl
