#include "cli/report/escape.hpp"

namespace braid::cli {

std::string escape_html(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') {
          out += "\xef\xbf\xbd";
        } else {
          out += c;
        }
    }
  }
  return out;
}

std::string escape_script_json(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    out += c == '<' ? std::string("\\u003c") : std::string(1, c);
  }
  return out;
}

}  // namespace braid::cli
