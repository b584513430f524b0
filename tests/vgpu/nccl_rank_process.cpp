// One rank as a process of its own: nccl_rank_process RANK RANKS ID_FILE WHAT. Exit status 0: what
// was expected happened.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "nccl_test_support.hpp"

namespace braid::vgpu::nccl::testing {
namespace {

/// Rank 0 makes the id and publishes it by a rename, so that readers see all of it.
ncclUniqueId meet(int rank, const std::string& path) {
  ncclUniqueId id;
  if (rank == 0) {
    ncclGetUniqueId(&id);
    std::ofstream(path + ".new", std::ios::binary).write(id.internal, sizeof(id.internal));
    std::rename((path + ".new").c_str(), path.c_str());
    return id;
  }
  for (;;) {
    std::ifstream file(path, std::ios::binary);
    if (file.read(id.internal, sizeof(id.internal))) {
      return id;
    }
    usleep(1000);
  }
}

int check(bool good, const char* what) {
  if (!good) {
    std::fprintf(stderr, "nccl_rank_process: %s: %s\n", what, ncclGetLastError(nullptr));
  }
  return good ? 0 : 1;
}

int sum_once(ncclComm_t comm, CUstream stream, int32_t expected) {
  DeviceBuffer buffer(sizeof(int32_t) * 1000);
  for (size_t i = 0; i < 1000; ++i) {
    buffer.as<int32_t>()[i] = 1;
  }
  const ncclResult_t called =
      ncclAllReduce(buffer.data(), buffer.data(), 1000, ncclInt32, ncclSum, comm, stream);
  cuStreamSynchronize(stream);
  return check(called == ncclSuccess && buffer.as<int32_t>()[999] == expected, "AllReduce");
}

int run(int rank, int ranks, const std::string& id_path, const std::string& what) {
  use_box();
  use_device(rank);
  const ncclUniqueId id = meet(rank, id_path);
  ncclComm_t comm = nullptr;
  const CUstream stream = make_stream();
  const ncclResult_t started = ncclCommInitRank(&comm, ranks, id, rank);
  if (check(started == ncclSuccess, "init") != 0) {
    return 1;
  }
  for (int i = 0; i < 10; ++i) {
    if (sum_once(comm, stream, ranks) != 0) {
      return 1;
    }
  }
  if (what == "die") {
    if (rank == ranks - 1) {
      raise(SIGKILL);
    }
    DeviceBuffer buffer(4);
    check(ncclAllReduce(buffer.data(), buffer.data(), 1, ncclInt32, ncclSum, comm, stream) ==
              ncclSuccess,
          "last AllReduce");
    const ncclResult_t error = wait_for_error(comm);
    cuStreamSynchronize(stream);  // must not hang
    const int seen = check(error == ncclRemoteError, "expected a remote error");
    return seen + check(ncclCommAbort(comm) == ncclSuccess, "abort");
  }
  if (what == "messages") {
    DeviceBuffer out(1 << 16), in(1 << 16);
    const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    std::memset(out.data(), rank + 1, out.bytes());
    ncclGroupStart();
    ncclSend(out.data(), out.bytes(), ncclChar, next, comm, stream);
    ncclRecv(in.data(), in.bytes(), ncclChar, previous, comm, stream);
    ncclGroupEnd();
    cuStreamSynchronize(stream);
    if (check(in.as<char>()[in.bytes() - 1] == previous + 1, "message") != 0) {
      return 1;
    }
  }
  return check(ncclCommDestroy(comm) == ncclSuccess, "destroy");
}

}  // namespace
}  // namespace braid::vgpu::nccl::testing

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: nccl_rank_process RANK RANKS ID_FILE WHAT\n");
    return 2;
  }
  const int failed =
      braid::vgpu::nccl::testing::run(std::atoi(argv[1]), std::atoi(argv[2]), argv[3], argv[4]);
  return failed == 0 && !::testing::Test::HasFailure() ? 0 : 1;
}
