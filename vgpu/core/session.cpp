#include "vgpu/core/session.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace braid::vgpu {
namespace {

std::string error_text(int error) { return std::generic_category().message(error); }

// Letters, digits, '.', '-' and '_' stay; other bytes become %xx, so that names stay distinct.
std::string file_name(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || (c == '.' && !out.empty()) || c == '-' || c == '_') {
      out += c;
    } else {
      char escaped[4];
      std::snprintf(escaped, sizeof(escaped), "%%%02x", byte);
      out += escaped;
    }
  }
  return out;
}

}  // namespace

Result<Session*> Session::open(const std::string& folder) {
  if (!folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error || !std::filesystem::is_directory(folder)) {
      return fail("BRAID_VGPU_SESSION", "cannot make the session folder '" + folder + "': " +
                                            (error ? error.message() : "it is not a folder"));
    }
  }
  return new Session(folder);
}

void Session::remove_files_except(const std::string& kept) {
  if (is_private()) {
    return;
  }
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename().string();
    const bool ours = name.rfind("gpu", 0) == 0 || name.rfind("region.", 0) == 0;
    if (ours && name != kept) {
      std::filesystem::remove(entry.path(), error);
    }
  }
}

std::string Session::describe() const {
  return is_private() ? "the private session" : "session '" + folder_ + "'";
}

Result<int> Session::open_file(const std::string& name, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto known = files_.find(name);
  int fd = known == files_.end() ? -1 : known->second;
  if (fd >= 0 && bytes == 0) {
    return fd;
  }
  if (fd < 0) {
    const std::string file = file_name(name);
    fd = is_private() ? memfd_create(("braid-vgpu-" + file).c_str(), MFD_CLOEXEC)
                      : ::open((folder_ + "/" + file).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
      return fail(describe(), "cannot open '" + file + "': " + error_text(errno));
    }
  }
  // Two processes may grow the file at once; the lock keeps the second from cutting it.
  flock(fd, LOCK_EX);
  struct stat status {};
  int error = fstat(fd, &status) == 0 ? 0 : errno;
  if (error == 0 && static_cast<uint64_t>(status.st_size) < bytes &&
      ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    error = errno;
  }
  flock(fd, LOCK_UN);
  if (error != 0) {
    if (known == files_.end()) {
      close(fd);
    }
    return fail(describe(), "cannot grow '" + name + "' to " + std::to_string(bytes) +
                                " bytes: " + error_text(error));
  }
  files_[name] = fd;
  return fd;
}

Result<void*> Session::map_file(const std::string& name, uint64_t bytes, uint64_t address) {
  const auto fd = open_file(name, bytes);
  if (!fd) {
    return tl::unexpected(fd.error());
  }
  const int flags = MAP_SHARED | MAP_NORESERVE | (address != 0 ? MAP_FIXED_NOREPLACE : 0);
  void* wanted = reinterpret_cast<void*>(address);
  void* mapped = mmap(wanted, bytes, PROT_READ | PROT_WRITE, flags, *fd, 0);
  if (mapped == MAP_FAILED || (address != 0 && mapped != wanted)) {
    const int error = mapped == MAP_FAILED ? errno : EEXIST;
    if (mapped != MAP_FAILED) {
      munmap(mapped, bytes);
    }
    char where[32];
    std::snprintf(where, sizeof(where), "0x%llx", static_cast<unsigned long long>(address));
    return fail(describe(),
                "cannot map '" + name + "' (" + std::to_string(bytes) + " bytes" +
                    (address != 0 ? std::string(" at ") + where : "") + "): " + error_text(error) +
                    (error == EEXIST ? "; the address range is taken in this process"
                                     : "; is there a limit on address space (ulimit -v)?"));
  }
  madvise(mapped, bytes, MADV_DONTDUMP);
  return mapped;
}

}  // namespace braid::vgpu
