#include "interposer/final_plan.hpp"

#include <algorithm>
#include <mutex>

#include "config/diagnostics.hpp"
#include "config/environment.hpp"
#include "config/policy_writer.hpp"
#include "interposer/planner.hpp"
#include "interposer/settings.hpp"

namespace braid::interposer {
namespace {

struct Kept {
  std::mutex mutex;
  std::vector<config::PlannedCollective> plan;
};

Kept& kept() {
  static auto* instance = new Kept();  // never destroyed: written when the process ends
  return *instance;
}

bool is_same_call(const config::PlannedCollective& a, const config::PlannedCollective& b) {
  return a.collective == b.collective && a.dtype == b.dtype && a.op == b.op && a.ranks == b.ranks &&
         a.count == b.count;
}

}  // namespace

void keep_final_plan(CommunicatorState& state) {
  if (config::environment().plan_out.empty() || !state.active || state.rank != 0) {
    return;
  }
  Kept& all = kept();
  std::lock_guard<std::mutex> lock(all.mutex);
  for (const PlanEntry& entry : state.entries_in_force()) {
    const config::PlannedCollective planned = describe_for_policy(entry, state.n_ranks);
    const bool known = std::any_of(all.plan.begin(), all.plan.end(),
                                   [&](const auto& other) { return is_same_call(other, planned); });
    if (!known) {
      all.plan.push_back(planned);
    }
  }
}

void write_final_plan() {
  const std::string& path = config::environment().plan_out;
  if (path.empty() || policy() == nullptr) {
    return;
  }
  for (const auto& state : CommunicatorRegistry::instance().all()) {
    keep_final_plan(*state);
  }
  Kept& all = kept();
  std::lock_guard<std::mutex> lock(all.mutex);
  if (all.plan.empty()) {
    return;  // another process holds rank 0, or nothing was split
  }
  config::Policy final_policy = *policy();
  final_policy.plan = all.plan;
  config::PolicyComments comments;
  comments.head = "The plan of a run under " + final_policy.path +
                  ".\nReplay it with: braid run --frozen --policy THIS_FILE -- COMMAND";
  if (const Status written = config::write_policy_file(final_policy, comments, path); !written) {
    BRAID_WARN(Plan, "plan", "%s", written.error().text().c_str());
  }
}

}  // namespace braid::interposer
