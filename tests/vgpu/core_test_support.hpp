// What the tests of the virtual box share: a small box, kernels with host implementations, and
// child processes with settings of their own.
#pragma once

#include <cuda.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "vgpu/core/kernel_launch.hpp"
#include "vgpu/core/vgpu.hpp"

namespace braid::vgpu::testing {

#define ASSERT_CUDA(call) ASSERT_EQ((call), CUDA_SUCCESS)
#define EXPECT_CUDA(call) EXPECT_EQ((call), CUDA_SUCCESS)

/// Four GPUs in two NVLink pairs.
inline std::string topology_text() {
  std::string text =
      "<system version=\"1\">\n<cpu numaid=\"0\" affinity=\"ffff\" arch=\"x86_64\" "
      "vendor=\"AuthenticAMD\" familyid=\"143\" modelid=\"49\">\n";
  const char* bus[] = {"0000:10:00.0", "0000:20:00.0", "0000:30:00.0", "0000:40:00.0"};
  for (int i = 0; i < 4; ++i) {
    text += std::string("<pci busid=\"") + bus[i] +
            "\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">\n<gpu dev=\"" +
            std::to_string(i) + "\" sm=\"86\" rank=\"" + std::to_string(i) +
            "\" gdr=\"0\">\n<nvlink target=\"" + bus[i ^ 1] +
            "\" count=\"4\" tclass=\"0x030200\"/>\n</gpu>\n</pci>\n";
  }
  return text + "</cpu>\n</system>\n";
}

/// A folder of this test process, removed with it.
inline const std::string& work_folder() {
  static const std::string folder = [] {
    std::string path = "/tmp/braid-vgpu-test-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
      std::abort();
    }
    std::ofstream(path + "/box.xml") << topology_text();
    static std::string kept = path;
    static const pid_t owner = getpid();
    std::atexit([] {
      if (getpid() == owner) {
        const std::string command = "rm -rf '" + kept + "'";
        if (std::system(command.c_str()) != 0) {
          std::perror("rm");
        }
      }
    });
    return path;
  }();
  return folder;
}

/// Settings of the box in this process; before the first CUDA call.
inline void use_test_box() {
  setenv("BRAID_VGPU_TOPOLOGY", (work_folder() + "/box.xml").c_str(), 1);
  setenv("BRAID_VGPU_MEMORY", "64MiB", 0);
}

/// Runs `vgpu_core_child NAME` with settings; its exit status (128 + signal when killed).
class Child {
 public:
  Child(const std::string& name, const std::map<std::string, std::string>& settings,
        const std::vector<std::string>& arguments = {}) {
    use_test_box();
    output_ = work_folder() + "/output-" + std::to_string(next_++);
    // Built before the fork: the child of a process with threads may only exec.
    std::vector<std::string> environment;
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string text = *entry;
      if (settings.count(text.substr(0, text.find('='))) == 0) {
        environment.push_back(text);
      }
    }
    for (const auto& [key, value] : settings) {
      environment.push_back(key + "=" + value);
    }
    std::vector<std::string> words = {BRAID_BINARY_DIR "/tests/vgpu_core_child", name};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv, envp;
    for (std::string& word : words) {
      argv.push_back(word.data());
    }
    for (std::string& entry : environment) {
      envp.push_back(entry.data());
    }
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    const std::string output = output_;
    pid_ = fork();
    if (pid_ == 0) {
      const int fd = open_for_output(output.c_str());
      dup2(fd, 1);
      dup2(fd, 2);
      execve(argv[0], argv.data(), envp.data());
      _exit(127);
    }
  }

  pid_t pid() const { return pid_; }

  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  std::string output() const {
    std::ifstream file(output_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  static int open_for_output(const char* path) {
    return open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
  }
  static inline int next_ = 0;
  std::string output_;
  pid_t pid_ = -1;
};

/// A driver and a current context on a device, for each test.
class DriverTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { use_test_box(); }

  void SetUp() override {
    ASSERT_CUDA(cuInit(0));
    ASSERT_CUDA(cuDevicePrimaryCtxRetain(&context_, 0));
    ASSERT_CUDA(cuCtxSetCurrent(context_));
  }
  void TearDown() override {
    EXPECT_CUDA(cuCtxSynchronize());
    EXPECT_CUDA(cuDevicePrimaryCtxRelease(0));
  }

  CUcontext context_ = nullptr;
};

// ---- kernels

/// *target = value
inline void run_store(const braid_launch_shape*, void* const* args) {
  **static_cast<int* const*>(args[0]) = *static_cast<const int*>(args[1]);
}
/// *target = *source + value
inline void run_add(const braid_launch_shape*, void* const* args) {
  **static_cast<int* const*>(args[0]) =
      **static_cast<int* const*>(args[1]) + *static_cast<const int*>(args[2]);
}
/// log[log[0]++ + 1] = value: the order in which such kernels ran on one device
inline void run_log(const braid_launch_shape*, void* const* args) {
  int* log = *static_cast<int* const*>(args[0]);
  log[++log[0]] = *static_cast<const int*>(args[1]);
}

inline constexpr size_t kStoreArguments[] = {sizeof(void*), sizeof(int)};
inline constexpr size_t kAddArguments[] = {sizeof(void*), sizeof(void*), sizeof(int)};
inline constexpr braid_host_kernel kKernels[] = {
    {"test_store", 2, kStoreArguments, run_store},
    {"test_add", 3, kAddArguments, run_add},
    {"test_log", 2, kStoreArguments, run_log},
};

inline CUfunction kernel(const char* name) {
  static const bool added = [] {
    static const braid_host_kernel_table table = {BRAID_HOST_KERNEL_ABI, 3, kKernels};
    return add_host_kernels(&table, "test").has_value();
  }();
  return added ? find_function(name) : nullptr;
}

inline CUresult launch_store(CUstream stream, CUdeviceptr target, int value) {
  void* arguments[] = {&target, &value};
  return cuLaunchKernel(kernel("test_store"), 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
}
inline CUresult launch_add(CUstream stream, CUdeviceptr target, CUdeviceptr source, int value) {
  void* arguments[] = {&target, &source, &value};
  return cuLaunchKernel(kernel("test_add"), 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
}
inline CUresult launch_log(CUstream stream, CUdeviceptr log, int value) {
  void* arguments[] = {&log, &value};
  return cuLaunchKernel(kernel("test_log"), 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
}

/// Device memory of ints, zeroed.
class Buffer {
 public:
  explicit Buffer(size_t count) : count_(count) {
    EXPECT_CUDA(cuMemAlloc(&address_, count * sizeof(int)));
    EXPECT_CUDA(cuMemsetD32(address_, 0, count));
    EXPECT_CUDA(cuCtxSynchronize());
  }
  ~Buffer() { EXPECT_CUDA(cuMemFree(address_)); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  CUdeviceptr at(size_t i) const { return address_ + i * sizeof(int); }
  CUdeviceptr address() const { return address_; }
  std::vector<int> read() const {
    std::vector<int> out(count_);
    EXPECT_CUDA(cuMemcpyDtoH(out.data(), address_, count_ * sizeof(int)));
    return out;
  }

 private:
  size_t count_;
  CUdeviceptr address_ = 0;
};

/// A flag in pinned memory that holds a stream back until it is opened.
class Latch {
 public:
  Latch() {
    void* memory = nullptr;
    EXPECT_CUDA(cuMemHostAlloc(&memory, sizeof(cuuint32_t), 0));
    flag_ = static_cast<cuuint32_t*>(memory);
    *flag_ = 0;
  }
  ~Latch() {
    open();
    EXPECT_CUDA(cuMemFreeHost(flag_));
  }
  Latch(const Latch&) = delete;
  Latch& operator=(const Latch&) = delete;

  CUresult hold(CUstream stream) const {
    return cuStreamWaitValue32(stream, reinterpret_cast<CUdeviceptr>(flag_), 1,
                               CU_STREAM_WAIT_VALUE_EQ);
  }
  void open() { __atomic_store_n(flag_, 1u, __ATOMIC_RELEASE); }

 private:
  cuuint32_t* flag_ = nullptr;
};

inline CUstream make_stream(unsigned flags = CU_STREAM_NON_BLOCKING, int priority = 0) {
  CUstream stream = nullptr;
  EXPECT_CUDA(cuStreamCreateWithPriority(&stream, flags, priority));
  return stream;
}

}  // namespace braid::vgpu::testing
