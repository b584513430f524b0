#include "cli/report/report_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "cli/format.hpp"
#include "cli/report/bars.hpp"
#include "cli/report/escape.hpp"
#include "cli/report/report_assets.hpp"
#include "cli/report/timeline.hpp"

namespace braid::cli {
namespace {

/// A table; cells are escaped, and line breaks in them are kept.
class HtmlTable {
 public:
  explicit HtmlTable(const std::vector<std::string>& headings) {
    out_ = "<div class=\"scroll\"><table><thead><tr>";
    for (const std::string& heading : headings) {
      out_ += fmt::format("<th>{}</th>", escape_html(heading));
    }
    out_ += "</tr></thead><tbody>";
  }
  void add_row(const std::vector<std::string>& cells) {
    out_ += "<tr>";
    for (const std::string& cell : cells) {
      out_ += fmt::format("<td>{}</td>", escape_html(cell));
    }
    out_ += "</tr>";
  }
  std::string html() const { return out_ + "</tbody></table></div>"; }

 private:
  std::string out_;
};

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

std::string headline(const Comparison& comparison) {
  const ArmResult& braid = comparison.braid();
  if (braid.no_gain_shown()) {
    return "No gain shown over stock NCCL";
  }
  return braid.speedup.low > 1 ? fmt::format("braid is {} as fast as stock NCCL",
                                             format_speedup(braid.speedup.speedup))
                               : fmt::format("braid is slower than stock NCCL: {}",
                                             format_speedup(braid.speedup.speedup));
}

std::string header_html(const ComparisonRequest& request, const Comparison& comparison) {
  const ArmResult& braid = comparison.braid();
  const ArmResult& best = comparison.best_other();
  std::string out = "<header><div class=\"brand\">braid compare";
  out += fmt::format("<span class=\"badge {}\">{}</span></div>",
                     request.predicted() ? "predicted" : "measured",
                     request.predicted() ? "predicted" : "measured");
  out += fmt::format("<h1>{}</h1>", escape_html(headline(comparison)));
  out += fmt::format(
      "<p class=\"lead\">Speed-up of the step {}, interval {}. Against the best other arm ({}): {}."
      "</p>",
      format_speedup(braid.speedup.speedup), format_interval(braid.speedup.low, braid.speedup.high),
      escape_html(best.arm.name), format_speedup(best.step.step_us / braid.step.step_us));
  std::vector<std::pair<std::string, std::string>> facts = {
      {"Command", quote_command(request.stock_job.request.command)}};
  if (request.predicted()) {
    facts.emplace_back("Box",
                       fmt::format("{} ({} GPUs, {})", file_name(request.stock_job.topology_path),
                                   request.stock_job.topology->gpus.size(),
                                   model::class_of(*request.stock_job.topology)));
    facts.emplace_back("GPU model", fmt::format("{} ({})", request.gpu->name, request.gpu_why));
  } else {
    facts.emplace_back("Machine", comparison.host);
  }
  facts.emplace_back("Program",
                     fmt::format("{}, digest {:016x}, the same in all arms",
                                 file_name(request.stock_job.program), comparison.program_digest));
  facts.emplace_back("Policy",
                     request.braid_job.policy ? file_name(request.braid_job.policy_path) : "none");
  facts.emplace_back("Results",
                     comparison.max_abs_diff
                         ? fmt::format("largest difference between stock and braid: {:g}",
                                       *comparison.max_abs_diff)
                         : "not compared (no --result)");
  out += "<dl class=\"facts\">";
  for (const auto& [name, value] : facts) {
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", escape_html(name), escape_html(value));
  }
  return out + "</dl></header>";
}

std::string bars_html(const ComparisonRequest& request, const Comparison& comparison) {
  std::vector<Bar> bars;
  for (const ArmResult& arm : comparison.arms) {
    Bar bar;
    bar.label = arm.arm.name;
    bar.highlighted = arm.arm.kind == Arm::Kind::kBraid;
    if (arm.ok()) {
      bar.value_us = arm.step.step_us;
      bar.low_us = arm.step.low_us;
      bar.high_us = arm.step.high_us;
      bar.remark = arm.arm.kind == Arm::Kind::kStock
                       ? "baseline"
                       : fmt::format("{} {}{}", format_speedup(arm.speedup.speedup),
                                     format_interval(arm.speedup.low, arm.speedup.high),
                                     arm.no_gain_shown() ? " no gain shown" : "");
    } else {
      bar.failure = "failed: " + arm.error.substr(0, std::min<size_t>(arm.error.find('\n'), 110));
    }
    bars.push_back(bar);
  }
  return fmt::format(
      "<section><h2>Step time</h2><p>{} Whiskers: {}. Beside each bar: speed-up over stock with "
      "its "
      "interval; both arms of a ratio use the same model constants, so it is narrower than the "
      "whiskers suggest.</p>{}</section>",
      request.predicted() ? "Predicted, lower is better." : "Measured, lower is better.",
      request.predicted() ? "uncertainty of the model's constants" : "95 % by resampling",
      bars_svg(bars));
}

std::string timelines_html(const Comparison& comparison) {
  Json data;
  data["categories"] = timeline_categories();
  data["arms"] = Json::array();
  for (const ArmResult* arm : {&comparison.stock(), &comparison.braid()}) {
    if (arm->forecast && !arm->forecast->central.steps.empty()) {
      const std::vector<model::StepTimes>& steps = arm->forecast->central.steps;
      data["arms"].push_back(timeline_json(arm->arm.name, arm->trace, arm->forecast->central,
                                           steps[steps.size() / 2]));
    }
  }
  if (data["arms"].empty()) {
    return "";
  }
  const std::string json = data.dump(-1, ' ', false, nlohmann::detail::error_handler_t::replace);
  return fmt::format(
      "<section><h2>One step, stock above braid</h2><p>Predicted; a row is a stream of a rank, "
      "both "
      "arms on the same time scale. Wheel or buttons zoom, dragging moves, hovering names the work."
      "</p><div id=\"timelines\"></div>"
      "<script type=\"application/json\" id=\"timeline-data\">{}</script></section>",
      escape_script_json(json));
}

std::string rewrites_html(const Comparison& comparison) {
  const TraceSummary& summary = comparison.braid().summary;
  std::string out = "<section class=\"columns\"><div><h2>Rewritings</h2>";
  if (summary.rewrites.empty()) {
    out += "<p>None: every call went to NCCL and cuBLAS as it came.</p>";
  } else {
    HtmlTable table(
        {"kind", "collective", "size", "type", "ranks", "parts", "calls", "started early"});
    for (const RewriteRow& row : summary.rewrites) {
      table.add_row({row.kind, row.collective.function, format_bytes(row.collective.bytes),
                     row.collective.type, std::to_string(row.collective.ranks),
                     std::to_string(row.parts), std::to_string(row.calls),
                     std::to_string(row.overlapped)});
    }
    out += table.html();
  }
  out += "<p class=\"small\">Calls are summed over all ranks.</p></div><div><h2>Left as stock</h2>";
  if (summary.refusals.empty()) {
    out += "<p>No call was refused.</p>";
  } else {
    HtmlTable table({"reason", "calls"});
    for (const auto& [reason, count] : summary.refusals) {
      table.add_row({reason, std::to_string(count)});
    }
    out += table.html();
  }
  return out + "</div></section>";
}

std::string arms_html(const Comparison& comparison) {
  HtmlTable table({"arm", "what it is", "settings", "algorithms", "exposed communication"});
  for (const ArmResult& arm : comparison.arms) {
    std::vector<std::string> settings;
    for (const auto& [name, value] : arm.settings) {
      settings.push_back(name + "=" + value);
    }
    table.add_row(
        {arm.arm.name, arm.arm.note, fmt::format("{}", fmt::join(settings, "\n")),
         arm.ok() ? fmt::format("{}", fmt::join(arm.algorithms(), "\n")) : arm.error,
         arm.forecast ? format_time(arm.forecast->central.exposed_communication_us) : "–"});
  }
  return "<section><h2>Arms</h2>" + table.html() + "</section>";
}

std::string collectives_html(const Comparison& comparison) {
  HtmlTable table({"collective", "size", "type", "ranks", "calls"});
  for (const CollectiveRow& row : comparison.stock().summary.collectives) {
    table.add_row({row.function, format_bytes(row.bytes), row.type, std::to_string(row.ranks),
                   std::to_string(row.calls)});
  }
  return "<section><h2>What the program calls</h2>" + table.html() +
         "<p class=\"small\">Sizes as nccl-tests counts them; calls of the whole run, once for all "
         "ranks of a communicator.</p></section>";
}

std::string model_html(const ComparisonRequest& request) {
  if (!request.gpu) {
    return "";
  }
  const model::GpuModel& gpu = *request.gpu;
  HtmlTable constants({"constant", "value"});
  constants.add_row({"SMs", std::to_string(gpu.sm_count)});
  constants.add_row(
      {"memory", fmt::format("{:g} GiB, {:g} GB/s", gpu.memory_gib, gpu.memory_gbps)});
  constants.add_row(
      {"peak fp32 / tf32", fmt::format("{:g} / {:g} TFLOPS", gpu.fp32_tflops, gpu.tf32_tflops)});
  constants.add_row(
      {"peak fp16 / bf16", fmt::format("{:g} / {:g} TFLOPS", gpu.fp16_tflops, gpu.bf16_tflops)});
  constants.add_row(
      {"reached by large GEMMs", fmt::format("{:.0f} %", gpu.sustained_fraction * 100)});
  constants.add_row({"launch (host) / kernel start",
                     fmt::format("{:g} µs / {:g} µs", gpu.launch_us, gpu.kernel_start_us)});
  constants.add_row({"source", gpu.source});
  constants.add_row({"links", "NCCL 2.28's own figures for each kind of link"});
  HtmlTable draws({"draw", "compute", "bandwidth", "latency", "launch", "contention"});
  int number = 0;
  for (const model::ModelFactors& f : model::interval_factors()) {
    draws.add_row({std::to_string(++number), fmt::format("{:g}", f.compute),
                   fmt::format("{:g}", f.bandwidth), fmt::format("{:g}", f.latency),
                   fmt::format("{:g}", f.launch), fmt::format("{:g}", f.contention)});
  }
  return fmt::format(
      "<section class=\"columns\"><div><h2>Model: {}</h2>{}</div><div><h2>Intervals</h2><p>Every "
      "arm is simulated again with each row of factors on the model's constants; the interval is "
      "the range of the results.</p>{}</div></section>",
      escape_html(gpu.name), constants.html(), draws.html());
}

std::string notes_html(const Comparison& comparison) {
  std::string out = "<section><h2>Notes</h2><ul>";
  for (const std::string& note : comparison.notes) {
    out += fmt::format("<li>{}</li>", escape_html(note));
  }
  return out + "</ul></section>";
}

}  // namespace

std::string report_page(const ComparisonRequest& request, const Comparison& comparison) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  out += fmt::format("<title>braid compare: {}</title>\n<style>\n{}</style></head>\n<body><main>\n",
                     escape_html(headline(comparison)), kReportStyle);
  for (const std::string& part :
       {header_html(request, comparison), bars_html(request, comparison),
        timelines_html(comparison), rewrites_html(comparison), arms_html(comparison),
        collectives_html(comparison), model_html(request), notes_html(comparison)}) {
    out += part + "\n";
  }
  return out + "</main>\n<script>\n" + kReportScript + "</script></body></html>\n";
}

}  // namespace braid::cli
