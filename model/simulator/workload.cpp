#include "model/simulator/workload.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "model/simulator/matching.hpp"
#include "model/simulator/placement.hpp"

namespace braid::model {
namespace {

using trace::Record;
using trace::RecordType;

constexpr uint64_t kNobody = ~0ull;

uint64_t event_key(const trace::Event& event) {
  return static_cast<uint64_t>(event.event) << 32 | event.recording;
}

/// Sets of small numbers that are joined step by step.
class Groups {
 public:
  int find(int a) {
    while (parent_[static_cast<size_t>(a)] != a) {
      a = parent_[static_cast<size_t>(a)] =
          parent_[static_cast<size_t>(parent_[static_cast<size_t>(a)])];
    }
    return a;
  }
  int add() {
    parent_.push_back(static_cast<int>(parent_.size()));
    return parent_.back();
  }
  void join(int a, int b) { parent_[static_cast<size_t>(find(b))] = find(a); }

 private:
  std::vector<int> parent_;
};

/// Turns one process's file into devices and programs.
class FileReader {
 public:
  FileReader(const trace::Trace& trace, int file, int most_ranks, Workload& workload)
      : trace_(trace.ranks[static_cast<size_t>(file)]),
        file_(file),
        most_ranks_(most_ranks),
        workload_(workload) {}

  Status read() {
    collect_declarations();
    find_first_devices();
    Status status = collect_ops();
    if (status) {
      build_programs();
      status = check_events();
    }
    return status;
  }

 private:
  struct CommunicatorRef {
    int index = -1;
    int device = -1;    // index into Workload::devices
    uint64_t made = 0;  // collectives so far
  };
  struct ThreadState {
    int group_depth = 0;
    int device = -1;
    std::vector<Op> grouped;
  };
  struct PlacedOp {
    Op op;
    uint32_t thread;
  };

  tl::unexpected<Error> wrong(uint32_t record, const std::string& what) const {
    return fail(trace_.path + ": record " + std::to_string(record), what);
  }

  int device(int ordinal) {
    auto [it, fresh] = devices_.try_emplace(ordinal, static_cast<int>(workload_.devices.size()));
    if (fresh) {
      DeviceInfo info;
      info.file = file_;
      info.ordinal = ordinal;
      info.rank = -1;
      info.streams.push_back(StreamInfo{});
      workload_.devices.push_back(std::move(info));
    }
    return it->second;
  }

  void collect_declarations() {
    for (const Record& record : trace_.records) {
      if (const auto* stream = std::get_if<trace::Stream>(&record.payload)) {
        streams_.try_emplace(stream->id, *stream);
      } else if (const auto* declared = std::get_if<trace::Communicator>(&record.payload)) {
        communicator_devices_.try_emplace(declared->id, declared->device);
      } else if (const auto* device = std::get_if<trace::Device>(&record.payload)) {
        if (first_ordinal_ < 0) {
          first_ordinal_ = device->ordinal;
        }
      }
    }
    first_ordinal_ = std::max(0, first_ordinal_);
  }

  /// The device a record names by itself, or -1.
  int ordinal_of(const Record& record) const {
    if (const auto* collective = std::get_if<trace::Collective>(&record.payload)) {
      const auto it = communicator_devices_.find(collective->communicator);
      return it != communicator_devices_.end() ? it->second : -1;
    }
    if (const auto* declared = std::get_if<trace::Communicator>(&record.payload)) {
      return declared->device;
    }
    const uint32_t id = record.header.stream;
    if (id != 0 && id != trace::kNoStream) {
      const auto it = streams_.find(id);
      return it != streams_.end() ? it->second.device : -1;
    }
    return -1;
  }

  void find_first_devices() {
    for (const Record& record : trace_.records) {
      const int ordinal = ordinal_of(record);
      if (ordinal >= 0) {
        first_of_thread_.try_emplace(record.header.thread, ordinal);
      }
    }
  }

  int current_device(const Record& record) {
    ThreadState& thread = threads_[record.header.thread];
    const int named = ordinal_of(record);
    if (named >= 0) {
      thread.device = named;
    } else if (thread.device < 0) {
      const auto it = first_of_thread_.find(record.header.thread);
      thread.device = it != first_of_thread_.end() ? it->second : first_ordinal_;
    }
    return device(thread.device);
  }

  int stream_of(int device_index, uint32_t id) {
    if (id == 0 || id == trace::kNoStream) {
      return 0;
    }
    std::vector<StreamInfo>& streams = workload_.devices[static_cast<size_t>(device_index)].streams;
    const auto [it, fresh] =
        stream_index_.try_emplace(std::pair(device_index, id), static_cast<int>(streams.size()));
    if (fresh) {
      StreamInfo info;
      info.id = id;
      if (const auto declared = streams_.find(id); declared != streams_.end()) {
        info.priority = declared->second.priority;
        info.blocking = (declared->second.flags & 1u) == 0;
      }
      streams.push_back(info);
    }
    return it->second;
  }

  void declare(const trace::Communicator& declared, int device_index) {
    int index = -1;
    for (size_t i = 0; i < workload_.communicators.size() && index < 0; ++i) {
      const CommunicatorInfo& known = workload_.communicators[i];
      if (known.hash == declared.hash &&
          known.devices.size() == static_cast<size_t>(declared.n_ranks) &&
          known.devices[static_cast<size_t>(declared.rank)] < 0) {
        index = static_cast<int>(i);
      }
    }
    if (index < 0) {
      index = static_cast<int>(workload_.communicators.size());
      CommunicatorInfo info;
      info.hash = declared.hash;
      info.name = trace_.name(declared.name);
      info.devices.assign(static_cast<size_t>(declared.n_ranks), -1);
      workload_.communicators.push_back(std::move(info));
    }
    workload_.communicators[static_cast<size_t>(index)]
        .devices[static_cast<size_t>(declared.rank)] = device_index;
    communicators_[declared.id] = CommunicatorRef{index, device_index, 0};
    DeviceInfo& info = workload_.devices[static_cast<size_t>(device_index)];
    if (info.rank < 0) {
      info.rank = declared.rank;
    }
  }

  Status collect_ops() {
    for (uint32_t i = 0; i < trace_.records.size(); ++i) {
      const Record& record = trace_.records[i];
      if (const auto* declared = std::get_if<trace::Communicator>(&record.payload)) {
        if (declared->n_ranks > most_ranks_) {
          return wrong(i, "a communicator of " + std::to_string(declared->n_ranks) +
                              " ranks; the topology has " + std::to_string(most_ranks_) + " GPUs");
        }
        declare(*declared, current_device(record));
        continue;
      }
      if (record.has(trace::kUserCall)) {
        continue;
      }
      if (record.has(trace::kInCapture)) {
        captured_ += 1;
        continue;
      }
      if (Status status = collect(record, i); !status) {
        return status;
      }
    }
    for (auto& [id, thread] : threads_) {
      flush(id, thread);  // a cut file may end inside a group
    }
    if (captured_ > 0) {
      workload_.warnings.push_back(trace_.path + ": " + std::to_string(captured_) +
                                   " records inside stream capture are not replayed");
    }
    return {};
  }

  Status collect(const Record& record, uint32_t index) {
    Op op;
    op.record = index;
    switch (record.type()) {
      case RecordType::kGroup: {
        const auto& group = std::get<trace::Group>(record.payload);
        ThreadState& thread = threads_[record.header.thread];
        thread.group_depth = std::max(0, thread.group_depth + (group.start != 0 ? 1 : -1));
        if (thread.group_depth == 0) {
          flush(record.header.thread, thread);
        }
        return {};
      }
      case RecordType::kGemm:
        op.kind = OpKind::kGemm;
        break;
      case RecordType::kKernel:
        op.kind = OpKind::kKernel;
        break;
      case RecordType::kCopy:
        op.kind = OpKind::kCopy;
        break;
      case RecordType::kCollective:
        return collect_collective(record, op);
      case RecordType::kEventRecord:
        op.kind = OpKind::kEventRecord;
        recorded_.insert(event_key(std::get<trace::Event>(record.payload)));
        break;
      case RecordType::kStreamWait: {
        op.kind = OpKind::kStreamWait;
        const auto& event = std::get<trace::Event>(record.payload);
        if (event.recording == 0) {
          return {};  // CUDA: a wait for an event that was never recorded does nothing
        }
        break;
      }
      case RecordType::kHostWait: {
        op.kind = OpKind::kHostWait;
        const auto& wait = std::get<trace::HostWait>(record.payload);
        if (static_cast<trace::HostWaitKind>(wait.kind) == trace::HostWaitKind::kEvent &&
            wait.recording == 0) {
          return {};
        }
        break;
      }
      case RecordType::kHostFunction:
        op.kind = OpKind::kHostFunction;
        break;
      case RecordType::kWaitValue:
        op.kind = OpKind::kWaitValue;
        break;
      case RecordType::kWriteValue:
        op.kind = OpKind::kWriteValue;
        break;
      default:
        return {};
    }
    op.device = current_device(record);
    op.stream = stream_of(op.device, record.header.stream);
    placed_.push_back({std::move(op), record.header.thread});
    return {};
  }

  Status collect_collective(const Record& record, Op& op) {
    const auto& call = std::get<trace::Collective>(record.payload);
    const auto it = communicators_.find(call.communicator);
    if (it == communicators_.end()) {
      return wrong(op.record, "a call on communicator " + std::to_string(call.communicator) +
                                  ", which has no Communicator record before it");
    }
    op.communicator = it->second.index;
    op.device = it->second.device;
    op.stream = stream_of(op.device, record.header.stream);
    const auto function = static_cast<trace::CollectiveFunction>(call.function);
    if (function == trace::CollectiveFunction::kSend ||
        function == trace::CollectiveFunction::kRecv) {
      const auto n_ranks =
          workload_.communicators[static_cast<size_t>(op.communicator)].devices.size();
      if (call.root < 0 || static_cast<size_t>(call.root) >= n_ranks) {
        return wrong(op.record, "a peer " + std::to_string(call.root) + " in a communicator of " +
                                    std::to_string(n_ranks) + " ranks");
      }
      op.kind = OpKind::kMessages;
      op.messages.push_back(
          Message{call.root, function == trace::CollectiveFunction::kSend,
                  call.count * trace::bytes_of(static_cast<trace::ElementType>(call.type))});
    } else {
      op.kind = OpKind::kCollective;
    }
    ThreadState& thread = threads_[record.header.thread];
    if (thread.group_depth > 0) {
      thread.grouped.push_back(std::move(op));
    } else {
      place(std::move(op), record.header.thread);
    }
    return {};
  }

  void place(Op op, uint32_t thread) {
    if (op.kind == OpKind::kCollective) {
      const auto& call = std::get<trace::Collective>(trace_.records[op.record].payload);
      op.order = communicators_[call.communicator].made++;
    }
    placed_.push_back({std::move(op), thread});
  }

  /// What a group holds is launched at its outermost end; all messages on one communicator become
  /// one kernel (NCCL's aggregation of sends and receives).
  void flush(uint32_t id, ThreadState& thread) {
    std::vector<Op> merged;
    for (Op& op : thread.grouped) {
      const auto same = std::find_if(merged.begin(), merged.end(), [&](const Op& other) {
        return other.kind == OpKind::kMessages && op.kind == OpKind::kMessages &&
               other.communicator == op.communicator && other.device == op.device;
      });
      if (same != merged.end()) {
        same->messages.insert(same->messages.end(), op.messages.begin(), op.messages.end());
      } else {
        merged.push_back(std::move(op));
      }
    }
    thread.grouped.clear();
    for (Op& op : merged) {
      place(std::move(op), id);
    }
  }

  void build_programs() {
    // Threads and devices that touch each other form one program.
    Groups groups;
    std::unordered_map<uint32_t, int> thread_node;
    std::map<int, int> device_node;
    for (const PlacedOp& placed : placed_) {
      const auto [thread, fresh] = thread_node.try_emplace(placed.thread, -1);
      if (fresh) {
        thread->second = groups.add();
      }
      const auto [device, new_device] = device_node.try_emplace(placed.op.device, -1);
      if (new_device) {
        device->second = groups.add();
      }
      groups.join(thread->second, device->second);
    }
    std::map<int, size_t> program_of_group;
    std::map<uint32_t, int> thread_index;
    for (PlacedOp& placed : placed_) {
      const int group = groups.find(thread_node[placed.thread]);
      const auto [program, fresh] = program_of_group.try_emplace(group, workload_.programs.size());
      if (fresh) {
        workload_.programs.push_back(Program{file_, 0, {}});
      }
      Program& target = workload_.programs[program->second];
      const auto [index, new_thread] = thread_index.try_emplace(placed.thread, target.threads);
      if (new_thread) {
        target.threads += 1;
      }
      placed.op.thread = index->second;
      target.ops.push_back(std::move(placed.op));
    }
    placed_.clear();
  }

  Status check_events() const {
    for (const Program& program : workload_.programs) {
      if (program.file != file_) {
        continue;
      }
      for (const Op& op : program.ops) {
        const Record& record = trace_.records[op.record];
        uint64_t key = kNobody;
        if (op.kind == OpKind::kStreamWait) {
          key = event_key(std::get<trace::Event>(record.payload));
        } else if (op.kind == OpKind::kHostWait) {
          const auto& wait = std::get<trace::HostWait>(record.payload);
          if (static_cast<trace::HostWaitKind>(wait.kind) == trace::HostWaitKind::kEvent) {
            key = event_key(trace::Event{wait.event, wait.recording});
          }
        }
        if (key != kNobody && !recorded_.contains(key)) {
          return wrong(op.record, "waits for recording " + std::to_string(key & 0xffffffffu) +
                                      " of event " + std::to_string(key >> 32) +
                                      ", which the trace never records");
        }
      }
    }
    return {};
  }

  const trace::RankTrace& trace_;
  int file_;
  int most_ranks_;
  Workload& workload_;
  int first_ordinal_ = -1;
  uint64_t captured_ = 0;
  std::unordered_map<uint32_t, trace::Stream> streams_;
  std::unordered_map<uint32_t, int> communicator_devices_;
  std::unordered_map<uint32_t, int> first_of_thread_;
  std::map<int, int> devices_;
  std::map<std::pair<int, uint32_t>, int> stream_index_;
  std::unordered_map<uint32_t, CommunicatorRef> communicators_;
  std::map<uint32_t, ThreadState> threads_;
  std::unordered_set<uint64_t> recorded_;
  std::vector<PlacedOp> placed_;
};

}  // namespace

CollectiveCall call_of(const trace::Collective& record) {
  CollectiveCall call;
  call.function = static_cast<trace::CollectiveFunction>(record.function);
  call.count = record.count;
  call.type = static_cast<trace::ElementType>(record.type);
  call.root = record.root;
  return call;
}

Result<Workload> build_workload(const trace::Trace& trace, const Topology& topology) {
  if (trace.ranks.empty()) {
    return fail("", "the trace has no rank");
  }
  Workload workload;
  for (size_t file = 0; file < trace.ranks.size(); ++file) {
    FileReader reader(trace, static_cast<int>(file), static_cast<int>(topology.gpus.size()),
                      workload);
    if (Status status = reader.read(); !status) {
      return tl::unexpected(status.error());
    }
  }
  number_ranks(trace, workload);
  if (Status status = place_devices(trace, topology, workload); !status) {
    return tl::unexpected(status.error());
  }
  if (Status status = match_collectives(trace, workload); !status) {
    return tl::unexpected(status.error());
  }
  return workload;
}

}  // namespace braid::model
