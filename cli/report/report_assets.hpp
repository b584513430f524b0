// Style and script of the HTML report, compiled in from report.css and report.js.
#pragma once

namespace braid::cli {

extern const char* const kReportStyle;
extern const char* const kReportScript;

}  // namespace braid::cli
