// Memory and events shared between two processes of one session. The processes are this program
// again; they pass their handles through files in the session's folder.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "cudart_test_support.hpp"

namespace {

constexpr const char* kFolderVariable = "CUDART_IPC_TEST_FOLDER";
constexpr size_t kBytes = 4096;

struct Handles {
  cudaIpcMemHandle_t memory;
  cudaIpcEventHandle_t event;
};

std::string folder() {
  const char* path = std::getenv(kFolderVariable);
  return path == nullptr ? "" : path;
}

void publish(const std::string& path, const void* bytes, size_t count) {
  std::ofstream(path + ".part", std::ios::binary)
      .write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
  std::filesystem::rename(path + ".part", path);
}

bool wait_for_file(const std::string& path) {
  for (int tries = 0; tries < 6000; ++tries) {
    if (std::filesystem::exists(path)) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// The first process's part: allocates, lends, and looks at what the other one wrote.
TEST(CudartIpcRole, Exporter) {
  if (folder().empty()) {
    GTEST_SKIP() << "run by CudartIpc.TwoProcessesShareMemoryAndEvents";
  }
  void* memory = nullptr;
  cudaEvent_t event = nullptr;
  Handles handles;
  ASSERT_CUDA(cudaSetDevice(1));
  ASSERT_CUDA(cudaMalloc(&memory, kBytes));
  ASSERT_CUDA(cudaMemset(memory, 1, kBytes));
  ASSERT_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
  ASSERT_CUDA(cudaEventRecord(event, nullptr));
  ASSERT_CUDA(cudaDeviceSynchronize());
  ASSERT_CUDA(cudaIpcGetMemHandle(&handles.memory, memory));
  ASSERT_CUDA(cudaIpcGetEventHandle(&handles.event, event));
  publish(folder() + "/handles", &handles, sizeof(handles));
  ASSERT_TRUE(wait_for_file(folder() + "/written"));
  std::vector<unsigned char> host(kBytes);
  ASSERT_CUDA(cudaMemcpy(host.data(), memory, kBytes, cudaMemcpyDeviceToHost));
  EXPECT_EQ(host, std::vector<unsigned char>(kBytes, 2));
  EXPECT_CUDA(cudaEventDestroy(event));
  EXPECT_CUDA(cudaFree(memory));
}

TEST(CudartIpcRole, Importer) {
  if (folder().empty()) {
    GTEST_SKIP() << "run by CudartIpc.TwoProcessesShareMemoryAndEvents";
  }
  ASSERT_TRUE(wait_for_file(folder() + "/handles"));
  Handles handles;
  std::ifstream(folder() + "/handles", std::ios::binary)
      .read(reinterpret_cast<char*>(&handles), sizeof(handles));
  void* memory = nullptr;
  cudaEvent_t event = nullptr;
  ASSERT_CUDA(cudaSetDevice(1));
  ASSERT_CUDA(cudaIpcOpenMemHandle(&memory, handles.memory, cudaIpcMemLazyEnablePeerAccess));
  ASSERT_CUDA(cudaIpcOpenEventHandle(&event, handles.event));
  EXPECT_CUDA(cudaEventSynchronize(event));
  std::vector<unsigned char> host(kBytes);
  ASSERT_CUDA(cudaMemcpy(host.data(), memory, kBytes, cudaMemcpyDeviceToHost));
  EXPECT_EQ(host, std::vector<unsigned char>(kBytes, 1));
  ASSERT_CUDA(cudaMemset(memory, 2, kBytes));
  ASSERT_CUDA(cudaDeviceSynchronize());
  EXPECT_CUDA(cudaEventDestroy(event));
  EXPECT_CUDA(cudaIpcCloseMemHandle(memory));
  publish(folder() + "/written", "", 0);
}

TEST(CudartIpc, TwoProcessesShareMemoryAndEvents) {
  std::string path = std::filesystem::temp_directory_path() / "braid-ipc-XXXXXX";
  ASSERT_NE(mkdtemp(path.data()), nullptr);
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  std::vector<FILE*> processes;
  for (const char* role : {"Exporter", "Importer"}) {
    const std::string command = "exec env " + std::string(kFolderVariable) + "=" + path +
                                " BRAID_VGPU_SESSION=" + path + " timeout -k 5 100 " + program +
                                " --gtest_filter=CudartIpcRole." + role + " 2>&1";
    processes.push_back(popen(command.c_str(), "re"));
  }
  for (FILE* process : processes) {
    std::string output;
    char buffer[4096];
    for (size_t got = 0; (got = fread(buffer, 1, sizeof(buffer), process)) > 0;) {
      output.append(buffer, got);
    }
    EXPECT_EQ(pclose(process), 0) << output;
  }
  std::filesystem::remove_all(path);
}

TEST(CudartIpc, WrongHandlesAreRefused) {
  ASSERT_CUDA(cudaSetDevice(0));
  cudaIpcMemHandle_t handle = {};
  void* pointer = nullptr;
  EXPECT_NE(cudaIpcOpenMemHandle(&pointer, handle, cudaIpcMemLazyEnablePeerAccess), cudaSuccess);
  EXPECT_NE(cudaIpcCloseMemHandle(&handle), cudaSuccess);
  cudaGetLastError();
}

}  // namespace
