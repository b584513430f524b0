// Text inside HTML, SVG and script elements.
#pragma once

#include <string>

namespace braid::cli {

/// Escapes & < > " ' for HTML and XML text and attribute values; control characters other than tab
/// and newline become U+FFFD.
std::string escape_html(const std::string& text);

/// Makes a JSON text safe inside <script>: "<" becomes "\u003c", so no tag or comment can start.
std::string escape_script_json(const std::string& json);

}  // namespace braid::cli
