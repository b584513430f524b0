// An XML file from outside: checked before it is parsed, with line numbers for messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <vector>

#include "config/result.hpp"

namespace braid::model {

/// Largest XML file that is read.
inline constexpr uint64_t kMaxXmlBytes = 100'000'000;

/// Bytes of a regular file of at most kMaxXmlBytes; the size is checked before anything is read.
Result<std::string> read_xml_file(const std::string& path);

/// A parsed document. Only plain XML in UTF-8 is accepted: no DOCTYPE (so no entities of the file's
/// own), no NUL bytes, one root, no attribute twice in one element, nesting up to kMaxDepth.
class XmlText {
 public:
  static constexpr int kMaxDepth = 64;

  /// Parses; the root must be <root_name version="1">. `name` stands for the file in messages.
  static Result<XmlText> parse(const std::string& text, const std::string& name,
                               const std::string& root_name);

  const std::string& name() const { return name_; }
  pugi::xml_node root() const { return document_->document_element(); }
  int line_of(pugi::xml_node node) const { return line_at(node.offset_debug()); }

  /// "file:line" of an element.
  std::string place_of(pugi::xml_node node) const;

  /// An error about an element, placed at its line.
  tl::unexpected<Error> error_at(pugi::xml_node node, std::string what) const;

  /// The attribute's text; an error when it is absent.
  Result<std::string> read_text(pugi::xml_node node, const char* attribute) const;

  /// An integer (decimal or 0x…) in [low, high]. Absent: `fallback`, or an error without one.
  Result<int64_t> read_integer(pugi::xml_node node, const char* attribute, int64_t low,
                               int64_t high, std::optional<int64_t> fallback = std::nullopt) const;

  /// A finite decimal number in [low, high]. Absent: `fallback`, or an error without one.
  Result<double> read_number(pugi::xml_node node, const char* attribute, double low, double high,
                             std::optional<double> fallback = std::nullopt) const;

 private:
  int line_at(std::ptrdiff_t offset) const;
  Status check_elements() const;

  std::string name_;
  std::vector<size_t> line_starts_;
  // Behind a pointer so that nodes stay valid when the object moves.
  std::unique_ptr<pugi::xml_document> document_ = std::make_unique<pugi::xml_document>();
};

}  // namespace braid::model
