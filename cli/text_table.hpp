// Tables in plain text.
#pragma once

#include <string>
#include <vector>

namespace braid::cli {

/// A table with a heading row. Columns are as wide as their widest cell (counted in code points);
/// columns marked `right` are aligned to the right. Trailing blanks are cut.
class TextTable {
 public:
  struct Column {
    std::string heading;
    bool right = false;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Adds a row; missing cells are empty, surplus cells are dropped.
  void add_row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  /// The table with `indent` blanks before each line.
  std::string text(int indent = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Number of code points of a UTF-8 text.
size_t display_width(const std::string& text);

}  // namespace braid::cli
