#include "vgpu/nccl/launch.hpp"

#include <algorithm>
#include <map>

#include "vgpu/nccl/device_scope.hpp"
#include "vgpu/nccl/kernel_name.hpp"
#include "vgpu/nccl/log.hpp"
#include "vgpu/nccl/profiler.hpp"
#include "vgpu/nccl/rendezvous.hpp"

namespace braid::vgpu::nccl {
namespace {

/// Runs a launch's operations on the executor thread: the collectives one after another, then all
/// messages at the same time, those of one pair and direction in order. Its SM shares stay taken
/// until the last peer has arrived.
class RunningLaunch {
 public:
  RunningLaunch(CommunicatorRef communicator, LaunchContent content)
      : communicator_(std::move(communicator)), content_(std::move(content)) {
    std::map<std::pair<bool, int>, size_t> places;
    for (size_t i = 0; i < content_.messages.size(); ++i) {
      const MessageOperation& message = content_.messages[i];
      const auto [place, added] =
          places.emplace(std::pair{message.is_send, message.peer}, lanes_.size());
      if (added) {
        lanes_.emplace_back();
      }
      lanes_[place->second].messages.push_back(i);
    }
    communicator_->pending_launches.fetch_add(1);
  }

  /// Work that is dropped before it is done was dropped because its device failed.
  ~RunningLaunch() {
    if (enqueued_ && !done_) {
      std::lock_guard lock(communicator_->step_mutex);
      if (!communicator_->aborted) {
        fail(*communicator_, ncclUnhandledCudaError, ncclRemoteError,
             "device " + std::to_string(communicator_->device) + " is in an error state");
      }
    }
    communicator_->pending_launches.fetch_sub(1);
  }
  RunningLaunch(const RunningLaunch&) = delete;
  RunningLaunch& operator=(const RunningLaunch&) = delete;

  /// Says that the executor has it, or that it refused it.
  void set_enqueued(bool enqueued) { enqueued_ = enqueued; }

  Step step() {
    std::lock_guard lock(communicator_->step_mutex);
    if (communicator_->is_stopped() || advance() || communicator_->is_stopped()) {
      return finish();
    }
    const auto failure = detect_failure(*communicator_, is_collecting() ? nullptr : &waited_for_);
    if (failure) {
      // What is waited for may have come about just before the peer went away.
      const uint64_t before = completed_;
      if (advance()) {
        return finish();
      }
      if (completed_ == before) {
        adopt_failure(*communicator_, *failure);
        return finish();
      }
    }
    return Step::kPending;
  }

 private:
  /// Messages of one pair and direction.
  struct Lane {
    std::vector<size_t> messages;
    size_t next = 0;
    bool posted = false;
    MessageTicket ticket;
    std::vector<void*> channel_events;
  };

  bool is_collecting() const { return next_collective_ < content_.collectives.size(); }

  /// True when everything is done. False also when the communicator failed.
  bool advance() { return advance_collectives() && advance_messages(); }

  bool advance_collectives() {
    for (; is_collecting(); ++next_collective_, posted_ = false) {
      const CollectiveOperation& operation = content_.collectives[next_collective_];
      if (!posted_) {
        posted_ = true;
        start_channels(operation.event, operation.channels, channel_events_);
        if (!post_collective(*communicator_, operation)) {
          return false;
        }
      }
      if (!collect_collective(*communicator_)) {
        return false;
      }
      ++completed_;
      stop_channels(channel_events_);
    }
    return true;
  }

  bool advance_messages() {
    waited_for_.clear();
    for (Lane& lane : lanes_) {
      for (; lane.next < lane.messages.size(); ++lane.next, lane.posted = false) {
        const MessageOperation& message = content_.messages[lane.messages[lane.next]];
        if (!lane.posted) {
          lane.posted = true;
          start_channels(message.event, 1, lane.channel_events);
          if (!post_message(*communicator_, message, &lane.ticket)) {
            return false;
          }
        }
        if (!is_delivered(*communicator_, message, lane.ticket)) {
          waited_for_.push_back(message.peer);
          break;
        }
        ++completed_;
        stop_channels(lane.channel_events);
      }
    }
    return waited_for_.empty();
  }

  void start_channels(void* parent, int channels, std::vector<void*>& events) {
    if (communicator_->profiler == nullptr) {
      return;
    }
    EventFacts facts;
    facts.kind = abi::kEventKernelChannel;
    facts.parent = parent;
    for (facts.channel = 0; facts.channel < channels; ++facts.channel) {
      facts.start_time = read_global_timer();
      events.push_back(communicator_->profiler->start(facts));
    }
  }

  void stop_channels(std::vector<void*>& events) {
    for (void* event : events) {
      communicator_->profiler->record_kernel_stop(event, read_global_timer());
      communicator_->profiler->stop(event);
    }
    events.clear();
  }

  Step finish() {
    done_ = true;
    // Of an aborted communicator the profiler is gone; its open events went with it.
    if (!communicator_->aborted) {
      stop_channels(channel_events_);
      for (Lane& lane : lanes_) {
        stop_channels(lane.channel_events);
      }
    }
    return Step::kDone;
  }

  const CommunicatorRef communicator_;
  const LaunchContent content_;
  bool enqueued_ = false;
  bool done_ = false;
  uint64_t completed_ = 0;  // operations
  size_t next_collective_ = 0;
  bool posted_ = false;
  std::vector<void*> channel_events_;
  std::vector<Lane> lanes_;
  std::vector<int> waited_for_;  // peers of messages on their way
};

ncclResult_t refuse_cuda(CUresult result, const char* what) {
  return reject(ncclUnhandledCudaError, "Cuda failure %d: %s", static_cast<int>(result), what);
}

/// Joins the other streams of a launch: `first` goes on when they have come this far.
ncclResult_t gather_streams(const std::vector<CUstream>& streams, std::vector<WorkHandle>& after) {
  for (size_t i = 1; i < streams.size(); ++i) {
    WorkHandle handle;
    const CUresult result =
        enqueue(streams[i], {"nccl stream join", [] { return Step::kDone; }, 0, {}}, &handle);
    if (result != CUDA_SUCCESS) {
      return refuse_cuda(result, "a stream of the group could not be joined");
    }
    after.push_back(handle);
  }
  return ncclSuccess;
}

}  // namespace

ncclResult_t enqueue_launch(const CommunicatorRef& communicator, LaunchContent content) {
  const DeviceScope scope(communicator->device);
  for (const CUstream stream : content.streams) {
    if (!is_stream(stream) || device_of(stream) != communicator->device) {
      return refuse_cuda(CUDA_ERROR_INVALID_HANDLE,
                         "invalid resource handle: the stream is none of the communicator's "
                         "device");
    }
  }
  const std::vector<CUstream> streams = content.streams;
  KernelShape shape;
  shape.name = kernel_name(content.collectives);
  shape.grid[0] = static_cast<unsigned>(content.channels);
  shape.block[0] = 512;
  Work work;
  work.name = shape.name;
  work.shares = communicator->ranks > 1 ? content.channels : 0;
  BRAID_NCCL_TRY(gather_streams(streams, work.after));
  const auto running = std::make_shared<RunningLaunch>(communicator, std::move(content));
  work.step = [running] { return running->step(); };
  std::lock_guard lock(communicator->launch_mutex);
  if (communicator->last_launch != nullptr && !is_done(communicator->last_launch)) {
    work.after.push_back(communicator->last_launch);
  }
  running->set_enqueued(true);
  WorkHandle handle;
  const CUresult result = communicator->ranks > 1
                              ? launch(streams[0], shape, std::move(work), &handle)
                              : enqueue(streams[0], std::move(work), &handle);
  if (result != CUDA_SUCCESS) {
    running->set_enqueued(false);
    return refuse_cuda(result, "the launch was refused");
  }
  communicator->last_launch = handle;
  for (size_t i = 1; i < streams.size(); ++i) {
    enqueue(streams[i], {"nccl stream fork", [] { return Step::kDone; }, 0, {handle}});
  }
  return ncclSuccess;
}

}  // namespace braid::vgpu::nccl
