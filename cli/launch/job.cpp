#include "cli/launch/job.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "cli/doctor/nccl_settings.hpp"
#include "cli/launch/program.hpp"
#include "cli/launch/scratch_folder.hpp"

namespace braid::cli {
namespace fs = std::filesystem;
namespace {

const char* mode_name(config::Mode mode) {
  switch (mode) {
    case config::Mode::kOff:
      return "off";
    case config::Mode::kObserve:
      return "observe";
    case config::Mode::kAuto:
      return "auto";
  }
  return "observe";
}

std::optional<int> number_of(const std::optional<std::string>& text) {
  int value = 0;
  if (!text || text->empty()) {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  return error == std::errc() && end == text->data() + text->size() ? std::optional(value)
                                                                    : std::nullopt;
}

Status check_virtual_program(const CheckedJob& job) {
  const auto facts = read_elf_facts(job.program);
  if (!facts) {
    return tl::unexpected(facts.error());
  }
  if (facts->has_static_cudart) {
    return fail(job.program,
                "has the CUDA runtime linked in statically (nvcc's default), and NVIDIA's runtime "
                "runs on NVIDIA's driver only; link it with `-cudart shared` to run it on virtual "
                "GPUs");
  }
  if (facts->is_elf && !facts->is_dynamic) {
    return fail(job.program,
                "is a statically linked program; virtual GPUs and the preload need a "
                "dynamically linked one");
  }
  return {};
}

Status check_gpu_count(const CheckedJob& job, const EnvironmentBlock& base) {
  const int gpus = static_cast<int>(job.topology->gpus.size());
  const int asked = job.request.processes;
  if (asked > gpus) {
    return fail("--nproc", fmt::format("{} ranks were asked for, but {} has {} GPUs", asked,
                                       job.topology_path, gpus));
  }
  const auto world_size = number_of(base.get("WORLD_SIZE"));
  const auto local_size = number_of(base.get("LOCAL_WORLD_SIZE"));
  const auto ranks = local_size ? local_size : world_size;
  if (asked == 0 && ranks && *ranks > gpus) {
    return fail(local_size ? "LOCAL_WORLD_SIZE" : "WORLD_SIZE",
                fmt::format("is {}, but {} has {} GPUs", *ranks, job.topology_path, gpus));
  }
  return {};
}

Status check_files(const CheckedJob& job, const Installation& installation) {
  if (job.request.mode != config::Mode::kOff && installation.library.empty()) {
    return tl::unexpected(missing_file(installation, "libbraid.so"));
  }
  if (job.topology && installation.vgpu_folder.empty()) {
    return tl::unexpected(missing_file(installation, "vgpu/ (the virtual GPU libraries)"));
  }
  if (job.policy && !job.policy->tuner_rules.empty() && installation.tuner_plugin.empty()) {
    return tl::unexpected(missing_file(installation, "libnccl-tuner-braid.so"));
  }
  return {};
}

}  // namespace

Result<CheckedJob> check_job(const JobRequest& request, const Installation& installation,
                             const EnvironmentBlock& base) {
  CheckedJob job;
  job.request = request;
  if (request.command.empty()) {
    return fail("command", "none was given; put it after --, as in: braid run -- ./train");
  }
  auto program = find_program(request.command.front(), base.get_or("PATH", "/usr/bin:/bin"));
  if (!program) {
    return tl::unexpected(program.error());
  }
  job.program = *program;
  if (!request.policy.empty()) {
    auto path = find_policy(installation, request.policy);
    if (!path) {
      return tl::unexpected(path.error());
    }
    auto policy = config::read_policy_file(*path);
    if (!policy) {
      return tl::unexpected(policy.error());
    }
    job.policy_path = *path;
    job.policy = std::move(*policy);
  }
  if (!request.virtual_box.empty()) {
    auto path = find_topology(installation, request.virtual_box);
    if (!path) {
      return tl::unexpected(path.error());
    }
    auto topology = model::read_topology_file(*path);
    if (!topology) {
      return tl::unexpected(topology.error());
    }
    if (topology->gpus.empty()) {
      return fail(*path, "describes no GPU; at least one <gpu> was expected");
    }
    job.topology_path = *path;
    job.topology = std::move(*topology);
    if (Status status = check_gpu_count(job, base); !status) {
      return tl::unexpected(status.error());
    }
    if (Status status = check_virtual_program(job); !status) {
      return tl::unexpected(status.error());
    }
  }
  if (!request.trace_folder.empty()) {
    if (request.mode == config::Mode::kOff) {
      return fail("--trace", "nothing is recorded under --mode off; use --mode observe or auto");
    }
    std::error_code error;
    if (fs::exists(request.trace_folder, error) && !fs::is_directory(request.trace_folder, error)) {
      return fail(request.trace_folder, "is a file; a folder for the trace was expected");
    }
    job.trace_folder = fs::absolute(request.trace_folder).lexically_normal().string();
  }
  if (Status status = check_files(job, installation); !status) {
    return tl::unexpected(status.error());
  }
  return job;
}

EnvironmentBlock build_environment(const CheckedJob& job, const Installation& installation,
                                   const EnvironmentBlock& base, const std::string& session) {
  EnvironmentBlock environment = base;
  environment.set("BRAID_MODE", mode_name(job.request.mode));
  if (job.request.mode != config::Mode::kOff) {
    environment.prepend("LD_PRELOAD", installation.library);
#ifdef BRAID_SANITIZED
    // The preload comes before the sanitizer's run time, which would refuse that.
    const std::string options = base.get_or("ASAN_OPTIONS", "");
    environment.set("ASAN_OPTIONS",
                    options + (options.empty() ? "" : ":") + "verify_asan_link_order=0");
#endif
    if (job.policy) {
      environment.set("BRAID_POLICY", job.policy_path);
    } else {
      environment.unset("BRAID_POLICY");
    }
    environment.set("BRAID_FROZEN", job.request.frozen ? "1" : "0");
    if (!job.request.plan_out.empty()) {
      environment.set("BRAID_PLAN_OUT", std::filesystem::absolute(job.request.plan_out).string());
    }
    if (!job.trace_folder.empty()) {
      environment.set("BRAID_TRACE_DIR", job.trace_folder);
    }
    const bool has_tuner_rules = job.policy && !job.policy->tuner_rules.empty();
    if (has_tuner_rules && job.request.mode == config::Mode::kAuto &&
        !find_nccl_setting(base, "NCCL_TUNER_PLUGIN")) {
      environment.set("NCCL_TUNER_PLUGIN", installation.tuner_plugin);
    }
  }
  if (job.topology) {
    environment.prepend("LD_LIBRARY_PATH", installation.vgpu_folder);
    environment.set("BRAID_VGPU_TOPOLOGY", job.topology_path);
    environment.set("BRAID_VGPU_SESSION", session);
  }
  for (const auto& [name, value] : job.request.environment) {
    if (name == "LD_PRELOAD" || name == "LD_LIBRARY_PATH") {
      // braid's own entries stay in front, or the arm would not be what its name says.
      const std::string ours = environment.get_or(name, "");
      environment.set(name, ours.empty() ? value : ours + ":" + value);
    } else {
      environment.set(name, value);
    }
  }
  return environment;
}

void set_rank_variables(EnvironmentBlock* environment, int rank, int world_size, int port) {
  environment->set("RANK", std::to_string(rank));
  environment->set("LOCAL_RANK", std::to_string(rank));
  environment->set("WORLD_SIZE", std::to_string(world_size));
  environment->set("LOCAL_WORLD_SIZE", std::to_string(world_size));
  environment->set("MASTER_ADDR", "127.0.0.1");
  environment->set("MASTER_PORT", std::to_string(port));
}

Result<int> find_free_port() {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  const bool bound = descriptor >= 0 &&
                     bind(descriptor, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                     getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  const int reason = errno;
  if (descriptor >= 0) {
    close(descriptor);
  }
  if (!bound) {
    return fail("127.0.0.1", fmt::format("no free TCP port: {}", std::strerror(reason)));
  }
  return ntohs(address.sin_port);
}

Result<JobEnd> run_job(const CheckedJob& job, const Installation& installation,
                       const EnvironmentBlock& base, const ProcessGroupOptions& options) {
  ScratchFolder session;
  if (job.topology) {
    auto made = ScratchFolder::make(session_parent(base.get_or("TMPDIR", "")), "braid-vgpu");
    if (!made) {
      return tl::unexpected(made.error());
    }
    session = std::move(*made);
  }
  if (!job.trace_folder.empty()) {
    std::error_code error;
    fs::create_directories(job.trace_folder, error);
    if (error) {
      return fail(job.trace_folder, fmt::format("cannot be created: {}", error.message()));
    }
  }
  const EnvironmentBlock environment = build_environment(job, installation, base, session.path());
  std::vector<ProcessPlan> plans;
  const int count = std::max(job.request.processes, 1);
  int port = 0;
  if (job.request.processes > 0) {
    const auto free_port = find_free_port();
    if (!free_port) {
      return tl::unexpected(free_port.error());
    }
    port = *free_port;
  }
  for (int rank = 0; rank < count; ++rank) {
    EnvironmentBlock own = environment;
    if (job.request.processes > 0) {
      set_rank_variables(&own, rank, count, port);
    }
    plans.push_back({job.program, job.request.command, own.entries(),
                     job.request.tag_output ? fmt::format("[{}] ", rank) : ""});
  }
  return run_processes(plans, options);
}

}  // namespace braid::cli
