// The trace file, version 1: what a rank enqueued, where, and what it depends on.
//
// One file a rank, little endian, written by the recorder in libbraid and read by model/trace.
//   FileHeader, then records. Each record is a RecordHeader followed by the payload its type names;
//   `size` is the whole record in bytes, a multiple of 8, so an unknown type can be skipped.
// A file that ends without an End record was cut (a crash or a full disk); what stands before it is
// good. Traces hold no data of the user's: addresses, shapes and names only.
#pragma once

#include <cstdint>

namespace braid::model::trace {

inline constexpr char kMagic[8] = {'B', 'R', 'A', 'I', 'D', 'T', 'R', 'C'};
inline constexpr uint32_t kVersion = 1;

struct FileHeader {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes;  // sizeof(FileHeader) of the writer
  int32_t rank;           // RANK / first communicator's rank; -1 unknown
  int32_t world_size;     // -1 unknown
  int32_t process_id;
  int32_t mode;  // config::Mode
  uint64_t host_hash;
  uint64_t start_unix_ns;
};
static_assert(sizeof(FileHeader) == 48);

enum class RecordType : uint16_t {
  kString = 1,       // String: gives a name its id
  kSetting,          // Setting: an environment variable that changes the timing (NCCL_*, CUDA_*)
  kDevice,           // Device
  kCommunicator,     // Communicator: created
  kCommunicatorEnd,  // CommunicatorEnd
  kStream,           // Stream: first seen, with its priority
  kGemm,             // Gemm
  kKernel,           // Kernel
  kCopy,             // Copy: memcpy and memset
  kCollective,       // Collective, and send/recv
  kGroup,            // Group: start or end
  kEventRecord,      // Event
  kStreamWait,       // Event: the stream waits for that recording
  kHostWait,         // HostWait: the thread waits
  kHostFunction,     // no payload: a host function in stream order
  kWaitValue,        // WaitValue
  kWriteValue,       // WaitValue
  kMarker,           // Marker: NVTX range push/pop or a step mark
  kRewrite,          // Rewrite: what braid did with a call
  kRefusal,          // Refusal: counted reason, written at the end
  kDropped,          // Dropped: records lost (disk full); the file goes on or ends here
  kEnd,              // no payload: the recorder closed the file
};

/// Bits of RecordHeader::flags.
enum RecordFlags : uint16_t {
  kUserCall = 1,       // what the program asked for, but braid issued other work in its place
  kIssuedByBraid = 2,  // work braid issued in place of the user's call, or for its own needs
  kInGroup = 4,        // inside ncclGroupStart/End
  kInCapture = 8,      // recorded into a CUDA graph
};

struct RecordHeader {
  uint16_t type;     // RecordType
  uint16_t flags;    // RecordFlags
  uint32_t size;     // bytes, header included, multiple of 8
  uint64_t time_ns;  // CLOCK_MONOTONIC of the process
  uint32_t thread;   // small number of the calling thread in this process
  uint32_t stream;   // id of a Stream record; 0: the device's legacy default stream; kNoStream
};
static_assert(sizeof(RecordHeader) == 24);
inline constexpr uint32_t kNoStream = 0xffffffffu;

struct String {  // followed by `length` bytes, padded with zeros to a multiple of 8
  uint32_t id;
  uint32_t length;
};

struct Setting {
  uint32_t name;
  uint32_t value;
};

struct Device {
  int32_t ordinal;             // as the process numbers it
  int32_t compute_capability;  // 86
  int32_t sm_count;
  uint32_t name;
  uint32_t bus_id;  // "0000:10:00.0"
  uint32_t padding;
  uint64_t memory_bytes;
};

struct Communicator {
  uint32_t id;  // number in this file
  int32_t rank;
  int32_t n_ranks;
  int32_t device;  // ordinal of a Device record
  uint64_t hash;   // equal on all ranks of the communicator
  uint32_t name;   // ncclConfig_t.commName, 0: none
  uint32_t flags;  // bit 0: made by braid (shadow); bit 1: nonblocking
};

struct CommunicatorEnd {
  uint32_t id;
  uint32_t aborted;
};

struct Stream {
  uint32_t id;
  int32_t device;
  int32_t priority;
  uint32_t flags;  // bit 0: non-blocking; bit 1: made by braid
};

enum class ElementType : uint32_t {
  kInt8,
  kUint8,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFp16,
  kFp32,
  kFp64,
  kBf16,
  kFp8E4m3,
  kFp8E5m2,
  kTf32
};

struct Gemm {  // row-major view: C[m,n] = A[m,k] B[k,n]; `cuBLAS n` is m here
  uint64_t m, n, k;
  uint64_t batch;
  uint64_t output_address;
  uint64_t output_bytes;  // extent from the first to the last byte written
  uint32_t type;          // ElementType of the operands
  uint32_t output_type;   // ElementType of the result
  uint32_t epilogue;      // cublasLtEpilogue_t; 1 = none
  uint32_t call_site;     // low 32 bits of the call-site hash; 0 unknown
  int32_t sm_target;      // 0: all
  uint32_t part;          // part index when issued by braid, else 0
};

struct Kernel {
  uint32_t name;
  uint32_t shared_bytes;
  uint32_t grid[3];
  uint32_t block[3];
  uint64_t bytes;  // 0: unknown; memory the kernel touches where the recorder knows it
};

enum class CopyKind : uint32_t { kHostToDevice, kDeviceToHost, kDeviceToDevice, kPeer, kMemset };
struct Copy {
  uint64_t bytes;
  uint32_t kind;  // CopyKind
  uint32_t asynchronous;
};

enum class CollectiveFunction : uint32_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kGather,
  kScatter,
  kSend,
  kRecv
};
struct Collective {
  uint32_t communicator;  // id of a Communicator record
  uint32_t function;      // CollectiveFunction
  uint32_t type;          // ElementType
  uint32_t op;            // ncclRedOp_t; user-made ops: 0xff
  int32_t root;           // root or peer
  uint32_t part;          // part index when issued by braid
  uint64_t count;         // as passed to the call
  uint64_t sequence;      // number of collectives so far on this communicator in this file
  uint64_t send_address;
  uint64_t receive_address;
  uint32_t call_site;
  uint32_t padding;
};

struct Group {
  uint32_t start;  // 1 start, 0 end
  uint32_t depth;  // after the call
};

struct Event {
  uint32_t event;      // number in this file
  uint32_t recording;  // how often it had been recorded: a wait names the recording it waits for
};

enum class HostWaitKind : uint32_t { kStream, kEvent, kDevice, kCopy };
struct HostWait {
  uint32_t kind;
  uint32_t event;
  uint32_t recording;
  uint32_t padding;
};

struct WaitValue {
  uint64_t address;
  uint64_t value;
  uint32_t flags;  // CU_STREAM_WAIT_VALUE_*
  uint32_t bytes;  // 4 or 8
};

struct Marker {
  uint32_t name;
  uint32_t kind;  // 0 push, 1 pop, 2 instant
};

enum class RewriteKind : uint32_t { kProducer, kConsumer, kScheme };
struct Rewrite {
  uint32_t kind;
  uint32_t communicator;
  uint64_t sequence;
  uint32_t parts;
  uint32_t overlapped;  // 1: parts started early; 0: all parts waited for everything
};

struct Refusal {
  uint32_t reason;  // name id; the closed list is interposer/refusal.hpp
  uint32_t padding;
  uint64_t count;
};

struct Dropped {
  uint64_t records;
};

}  // namespace braid::model::trace
