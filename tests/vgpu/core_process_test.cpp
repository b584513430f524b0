// Processes: sharing memory and events, dying, ending early, forking, starting without a box.
#include <signal.h>

#include "core_test_support.hpp"

namespace braid::vgpu::testing {
namespace {

// Processes of one session.
class ProcessTest : public DriverTest {
 protected:
  static void SetUpTestSuite() {
    use_test_box();
    setenv("BRAID_VGPU_SESSION", (work_folder() + "/session").c_str(), 1);
  }
};

TEST_F(ProcessTest, MemoryAndEventsAreShared) {
  const Buffer buffer(1);
  ASSERT_CUDA(cuMemsetD32(buffer.address(), 41, 1));
  ASSERT_CUDA(cuCtxSynchronize());
  CUevent event = nullptr;
  ASSERT_CUDA(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
  CUstream stream = make_stream();
  Latch latch;
  ASSERT_CUDA(latch.hold(stream));
  ASSERT_CUDA(launch_add(stream, buffer.address(), buffer.address(), 100));
  ASSERT_CUDA(cuEventRecord(event, stream));
  CUipcMemHandle memory;
  CUipcEventHandle event_handle;
  ASSERT_CUDA(cuIpcGetMemHandle(&memory, buffer.address()));
  ASSERT_CUDA(cuIpcGetEventHandle(&event_handle, event));
  CUdeviceptr again = 0;
  EXPECT_EQ(cuIpcOpenMemHandle(&again, memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
            CUDA_ERROR_INVALID_CONTEXT);
  const std::string path = work_folder() + "/handles";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<char*>(&memory), sizeof(memory))
      .write(reinterpret_cast<char*>(&event_handle), sizeof(event_handle));
  Child child("open-shared", {}, {path});
  usleep(20000);
  latch.open();
  EXPECT_EQ(child.wait(), 0) << child.output();
  EXPECT_EQ(buffer.read()[0], 142);
  EXPECT_CUDA(cuEventDestroy(event));
  EXPECT_CUDA(cuStreamDestroy(stream));
}

TEST_F(ProcessTest, MemoryOfAKilledProcessComesBack) {
  const std::string ready = work_folder() + "/ready";
  Child child("hold-memory", {}, {ready});
  for (int i = 0; i < 20000 && access(ready.c_str(), F_OK) != 0; ++i) {
    usleep(1000);
  }
  CUdeviceptr p = 0;
  EXPECT_EQ(cuMemAlloc(&p, 48 << 20), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_EQ(kill(child.pid(), SIGKILL), 0);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT), 0);
  EXPECT_CUDA(cuMemAlloc(&p, 48 << 20));  // although nobody has reaped it yet
  EXPECT_CUDA(cuMemFree(p));
  EXPECT_EQ(child.wait(), 128 + SIGKILL);
}

TEST_F(ProcessTest, AnotherBoxIsRefused) {
  Child child("no-device", {{"BRAID_VGPU_MEMORY", "32MiB"}});
  EXPECT_EQ(child.wait(), 0) << child.output();
  EXPECT_NE(child.output().find("another box"), std::string::npos) << child.output();
}

TEST_F(ProcessTest, PrivateSessionsShareNothing) {
  Child child("hold-memory", {{"BRAID_VGPU_SESSION", ""}}, {work_folder() + "/ready-private"});
  for (int i = 0; i < 20000 && access((work_folder() + "/ready-private").c_str(), F_OK) != 0; ++i) {
    usleep(1000);
  }
  CUdeviceptr p = 0;
  EXPECT_CUDA(cuMemAlloc(&p, 48 << 20));
  EXPECT_CUDA(cuMemFree(p));
  kill(child.pid(), SIGKILL);
  child.wait();
}

TEST_F(ProcessTest, EndsWithWorkPending) {
  Child child("exit-with-pending-work", {});
  EXPECT_EQ(child.wait(), 0) << child.output();
}

TEST_F(ProcessTest, ForkChildrenGetErrors) {
  Child child("fork-child", {});
  EXPECT_EQ(child.wait(), 0) << child.output();
}

TEST_F(ProcessTest, IllegalAccessSticks) {
  Child child("illegal-access", {});
  EXPECT_EQ(child.wait(), 0) << child.output();
}

TEST_F(ProcessTest, NoBoxIsExplained) {
  Child unset("no-device", {{"BRAID_VGPU_TOPOLOGY", ""}});
  EXPECT_EQ(unset.wait(), 0) << unset.output();
  EXPECT_NE(unset.output().find("BRAID_VGPU_TOPOLOGY"), std::string::npos);
  Child missing("no-device", {{"BRAID_VGPU_TOPOLOGY", "/nonexistent/box.xml"}});
  EXPECT_EQ(missing.wait(), 0) << missing.output();
  EXPECT_NE(missing.output().find("/nonexistent/box.xml"), std::string::npos);
  Child wrong("no-device", {{"BRAID_VGPU_SMS", "many"}});
  EXPECT_EQ(wrong.wait(), 0) << wrong.output();
  EXPECT_NE(wrong.output().find("BRAID_VGPU_SMS"), std::string::npos);
  Child folder("no-device", {{"BRAID_VGPU_SESSION", "/proc/nowhere/session"}});
  EXPECT_EQ(folder.wait(), 0) << folder.output();
  EXPECT_NE(folder.output().find("/proc/nowhere/session"), std::string::npos);
}

TEST_F(ProcessTest, SettingsShapeTheDevices) {
  Child child("describe", {{"BRAID_VGPU_SMS", "10"},
                           {"BRAID_VGPU_MEMORY", "16MiB"},
                           {"BRAID_VGPU_SESSION", work_folder() + "/small"}});
  EXPECT_EQ(child.wait(), 0) << child.output();
  EXPECT_EQ(child.output().substr(0, child.output().find('\n')),
            "0000:10:00.0 NVIDIA RTX A6000 86 10 16777216");
}

}  // namespace
}  // namespace braid::vgpu::testing
