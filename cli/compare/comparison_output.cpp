// A comparison as a table and as JSON.
#include <fmt/format.h>

#include <cmath>

#include "cli/compare/comparison.hpp"
#include "cli/format.hpp"
#include "cli/text_table.hpp"
#include "cli/traces/trace_json.hpp"

namespace braid::cli {
namespace {

/// The algorithms of the collectives that matter, in one cell.
std::string main_algorithms(const ArmResult& arm) {
  const std::vector<std::string> all = arm.algorithms();
  if (all.empty()) {
    return "–";
  }
  std::string text = all.front();
  if (all.size() > 1) {
    text += fmt::format(" (+{})", all.size() - 1);
  }
  return text;
}

std::string verdict_of(const ArmResult& arm) {
  if (arm.arm.kind == Arm::Kind::kStock) {
    return "baseline";
  }
  if (arm.no_gain_shown()) {
    return "no gain shown";
  }
  return arm.speedup.low > 1 ? "faster" : "slower";
}

Json arm_json(const ArmResult& arm) {
  Json out;
  out["step_us"] = arm.ok() ? Json(arm.step.step_us) : Json(nullptr);
  out["interval"] = arm.ok() ? Json{arm.step.low_us, arm.step.high_us} : Json(nullptr);
  out["speedup"] = arm.ok() ? Json(arm.speedup.speedup) : Json(nullptr);
  out["speedup_interval"] = arm.ok() ? Json{arm.speedup.low, arm.speedup.high} : Json(nullptr);
  out["gain"] = arm.ok() ? Json(verdict_of(arm)) : Json(nullptr);
  out["error"] = arm.ok() ? Json(nullptr) : Json(arm.error);
  out["algorithms"] = arm.algorithms();
  if (arm.forecast) {
    out["exposed_communication_us"] = arm.forecast->central.exposed_communication_us;
    out["guesses"] = arm.forecast->central.guesses;
  } else if (arm.ok()) {
    out["runs_us"] = arm.measured.runs_us;
  }
  out["environment"] = Json::object();
  for (const auto& [name, value] : arm.settings) {
    out["environment"][name] = value;
  }
  out["trace"] = summary_json(arm.summary);
  return out;
}

}  // namespace

std::string label_of(const ComparisonRequest& request, const Comparison& comparison) {
  if (!request.predicted()) {
    return fmt::format("measured on {}", comparison.host);
  }
  return fmt::format("predicted for {}, GPU model {} ({})", request.stock_job.topology_path,
                     request.gpu->name, request.gpu_why);
}

std::string comparison_text(const ComparisonRequest& request, const Comparison& comparison) {
  std::string out = label_of(request, comparison) + "\n";
  out += fmt::format("{}\n\n", quote_command(request.stock_job.request.command));
  TextTable table({{"arm"},
                   {"algorithm"},
                   {request.predicted() ? "step, predicted" : "step", true},
                   {"interval"},
                   {"speed-up over stock", true},
                   {"interval"},
                   {""}});
  for (const ArmResult& arm : comparison.arms) {
    if (!arm.ok()) {
      table.add_row(
          {arm.arm.name, "failed", "–", "", "–", "", arm.error.substr(0, arm.error.find('\n'))});
      continue;
    }
    const bool is_stock = arm.arm.kind == Arm::Kind::kStock;
    table.add_row(
        {arm.arm.name, main_algorithms(arm), format_time(arm.step.step_us),
         fmt::format("{} … {}", format_time(arm.step.low_us), format_time(arm.step.high_us)),
         is_stock ? "–" : format_speedup(arm.speedup.speedup),
         is_stock ? "" : format_interval(arm.speedup.low, arm.speedup.high), verdict_of(arm)});
  }
  out += table.text(2);
  const ArmResult& braid = comparison.braid();
  const ArmResult& best = comparison.best_other();
  out += fmt::format("\nbraid against the best other arm ({}): {}\n", best.arm.name,
                     format_speedup(best.step.step_us / braid.step.step_us));
  if (comparison.max_abs_diff) {
    out += fmt::format("largest difference between stock's and braid's results: {:g}\n",
                       *comparison.max_abs_diff);
  }
  for (const std::string& part : {rewrites_table(braid.summary), refusals_table(braid.summary)}) {
    out += part.empty() ? "" : "\n" + part;
  }
  out += "\n";
  for (const std::string& note : comparison.notes) {
    out += "note: " + note + "\n";
  }
  return out;
}

Json comparison_json(const ComparisonRequest& request, const Comparison& comparison) {
  const ArmResult& stock = comparison.stock();
  const ArmResult& braid = comparison.braid();
  Json out;
  out["arms"] = Json::object();
  for (const ArmResult& arm : comparison.arms) {
    out["arms"][arm.arm.name] = arm_json(arm);
  }
  out["stock"] = {{"step_us", stock.step.step_us}};
  out["braid"] = {{"step_us", braid.step.step_us}};
  out["speedup"] = braid.speedup.speedup;
  out["speedup_interval"] = {braid.speedup.low, braid.speedup.high};
  out["speedup_vs_best_arm"] = comparison.best_other().step.step_us / braid.step.step_us;
  out["best_arm"] = comparison.best_other().arm.name;
  out["gain"] = verdict_of(braid);
  out["predicted"] = request.predicted();
  // JSON has no infinity: a result with a NaN that the other lacks shows as the text "inf".
  out["max_abs_diff"] = !comparison.max_abs_diff                  ? Json(nullptr)
                        : std::isfinite(*comparison.max_abs_diff) ? Json(*comparison.max_abs_diff)
                                                                  : Json("inf");
  out["rewrites"] = rewrites_json(braid.summary);
  out["refusals"] = refusals_json(braid.summary);
  out["topology"] = request.predicted() ? Json(request.stock_job.topology_path) : Json(nullptr);
  out["gpu"] = request.gpu ? Json(request.gpu->name) : Json(nullptr);
  out["machine"] = request.predicted() ? Json(nullptr) : Json(comparison.host);
  out["policy"] = request.braid_job.policy ? Json(request.braid_job.policy_path) : Json(nullptr);
  out["command"] = request.stock_job.request.command;
  out["program"] = {{"path", request.stock_job.program},
                    {"digest", fmt::format("{:016x}", comparison.program_digest)}};
  out["folder"] = request.folder.empty() ? Json(nullptr) : Json(request.folder);
  out["notes"] = comparison.notes;
  return out;
}

}  // namespace braid::cli
