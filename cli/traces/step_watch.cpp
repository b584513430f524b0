#include "cli/traces/step_watch.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

namespace braid::cli {
namespace fs = std::filesystem;

bool StepWatch::reached() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) {
    return false;
  }
  next_look_ = now + std::chrono::seconds(1);
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    if (entry.path().extension() == ".braidtrace") {
      files.push_back(entry.path().string());
    }
  }
  if (files.empty()) {
    return false;
  }
  const auto file = model::trace::read_rank_trace(*std::min_element(files.begin(), files.end()));
  if (!file) {
    return false;
  }
  const auto steps = find_host_steps(*file, rule_);
  return steps && steps->start_ns.size() > static_cast<size_t>(steps_);
}

}  // namespace braid::cli
