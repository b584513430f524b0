#include "model/xml_text.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>

namespace braid::model {
namespace {

/// Offset of the first byte that is not UTF-8 (or is NUL), or npos. Overlong forms, surrogates and
/// values above U+10FFFF are not UTF-8 (RFC 3629).
size_t find_bad_utf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead == 0) {
      return i;
    }
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const int length = lead >= 0xc2 && lead <= 0xdf ? 2
                       : lead >> 4 == 0xe           ? 3
                       : lead >> 3 == 0x1e          ? 4
                                                    : 0;
    if (length == 0 || i + length > text.size()) {
      return i;
    }
    uint32_t code = lead & (0x7f >> length);
    for (int k = 1; k < length; ++k) {
      const auto byte = static_cast<unsigned char>(text[i + k]);
      if (byte >> 6 != 2) {
        return i;
      }
      code = code << 6 | (byte & 0x3f);
    }
    const bool overlong = code < (length == 3 ? 0x800u : length == 4 ? 0x10000u : 0x80u);
    if (overlong || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
      return i;
    }
    i += length;
  }
  return std::string_view::npos;
}

std::string quote(const char* attribute, const std::string& value) {
  return std::string(attribute) + "=\"" + value.substr(0, 80) + "\"";
}

std::string in_range(const std::string& low, const std::string& high) {
  return " from " + low + " to " + high;
}

std::string format_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

}  // namespace

Result<std::string> read_xml_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    return fail(path, error ? error.message() : "no such file");
  }
  if (!std::filesystem::is_regular_file(status)) {
    return fail(path, "not a regular file; expected an XML file");
  }
  const auto size = std::filesystem::file_size(path, error);
  if (error) {
    return fail(path, error.message());
  }
  if (size > kMaxXmlBytes) {
    return fail(path, "the file has " + std::to_string(size) + " bytes; expected at most " +
                          std::to_string(kMaxXmlBytes));
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(size, '\0');
  if (!file || (size > 0 && !file.read(text.data(), static_cast<std::streamsize>(size)))) {
    return fail(path, std::string("cannot be read: ") + std::strerror(errno));
  }
  return text;
}

Result<XmlText> XmlText::parse(const std::string& text, const std::string& name,
                               const std::string& root_name) {
  if (text.size() > kMaxXmlBytes) {
    return fail(name, "the text has " + std::to_string(text.size()) + " bytes; expected at most " +
                          std::to_string(kMaxXmlBytes));
  }
  XmlText xml;
  xml.name_ = name;
  xml.line_starts_.push_back(0);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      xml.line_starts_.push_back(i + 1);
    }
  }
  const auto place = [&](std::ptrdiff_t offset) {
    return name + ":" + std::to_string(xml.line_at(offset));
  };
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    return fail(name, "the file is empty; expected <" + root_name + " version=\"1\">");
  }
  if (const size_t bad = find_bad_utf8(text); bad != std::string::npos) {
    return fail(place(static_cast<std::ptrdiff_t>(bad)), "the text is not UTF-8");
  }
  const auto parsed = xml.document_->load_buffer(
      text.data(), text.size(), pugi::parse_default | pugi::parse_doctype, pugi::encoding_utf8);
  if (parsed.status == pugi::status_no_document_element) {
    return fail(name, "the file holds no XML element; expected <" + root_name + " version=\"1\">");
  }
  if (!parsed) {
    return fail(place(parsed.offset),
                std::string("not well-formed XML, or cut off: ") + parsed.description());
  }
  for (const auto node : xml.document_->children()) {
    if (node.type() == pugi::node_doctype) {
      return fail(name, "the file has a DOCTYPE; expected plain XML without one");
    }
    if (node.type() == pugi::node_element && node != xml.root()) {
      return xml.error_at(node, "a second root element <" + std::string(node.name()) + ">");
    }
  }
  if (root_name != xml.root().name()) {
    return xml.error_at(xml.root(), "the root element is <" + std::string(xml.root().name()) +
                                        ">; expected <" + root_name + " version=\"1\">");
  }
  if (const auto checked = xml.check_elements(); !checked) {
    return tl::unexpected(checked.error());
  }
  const auto version = xml.read_integer(xml.root(), "version", 1, 1);
  if (!version) {
    return tl::unexpected(version.error());
  }
  return xml;
}

Status XmlText::check_elements() const {
  int depth = 0;
  auto node = root();
  while (node) {
    if (depth > kMaxDepth) {
      return error_at(node, "elements are nested deeper than " + std::to_string(kMaxDepth));
    }
    std::set<std::string_view> seen;
    for (const auto attribute : node.attributes()) {
      if (!seen.insert(attribute.name()).second) {
        return error_at(node, "attribute '" + std::string(attribute.name()) +
                                  "' appears twice in <" + node.name() + ">");
      }
    }
    const auto is_element = [](pugi::xml_node n) { return n.type() == pugi::node_element; };
    if (const auto child = node.find_child(is_element)) {
      node = child;
      ++depth;
      continue;
    }
    while (node && node != root()) {
      auto next = node.next_sibling();
      while (next && !is_element(next)) {
        next = next.next_sibling();
      }
      if (next) {
        node = next;
        break;
      }
      node = node.parent();
      --depth;
    }
    if (node == root()) {
      break;
    }
  }
  return {};
}

int XmlText::line_at(std::ptrdiff_t offset) const {
  const size_t at = offset < 0 ? 0 : static_cast<size_t>(offset);
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), at);
  return static_cast<int>(after - line_starts_.begin());
}

std::string XmlText::place_of(pugi::xml_node node) const {
  return name_ + ":" + std::to_string(line_of(node));
}

tl::unexpected<Error> XmlText::error_at(pugi::xml_node node, std::string what) const {
  return fail(place_of(node), std::move(what));
}

Result<std::string> XmlText::read_text(pugi::xml_node node, const char* attribute) const {
  const auto found = node.attribute(attribute);
  if (!found) {
    return error_at(node,
                    "<" + std::string(node.name()) + "> has no attribute '" + attribute + "'");
  }
  return std::string(found.value());
}

Result<int64_t> XmlText::read_integer(pugi::xml_node node, const char* attribute, int64_t low,
                                      int64_t high, std::optional<int64_t> fallback) const {
  if (fallback && !node.attribute(attribute)) {
    return *fallback;
  }
  const auto text = read_text(node, attribute);
  if (!text) {
    return tl::unexpected(text.error());
  }
  std::string_view digits = *text;
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    digits.remove_prefix(2);
    base = 16;
  }
  int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, base);
  if (digits.empty() || error != std::errc() || stop != end || value < low || value > high) {
    return error_at(node, quote(attribute, *text) + ": expected an integer" +
                              in_range(std::to_string(low), std::to_string(high)));
  }
  return value;
}

Result<double> XmlText::read_number(pugi::xml_node node, const char* attribute, double low,
                                    double high, std::optional<double> fallback) const {
  if (fallback && !node.attribute(attribute)) {
    return *fallback;
  }
  const auto text = read_text(node, attribute);
  if (!text) {
    return tl::unexpected(text.error());
  }
  double value = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (text->empty() || error != std::errc() || stop != end || !(value >= low && value <= high)) {
    return error_at(node, quote(attribute, *text) + ": expected a number" +
                              in_range(format_number(low), format_number(high)));
  }
  return value;
}

}  // namespace braid::model
