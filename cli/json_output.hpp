// --json [FILE]: to stdout, or to a file.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "config/result.hpp"

namespace braid::cli {

/// Objects keep the order in which their keys were set.
using Json = nlohmann::ordered_json;

/// The --json option of a subcommand.
class JsonOption {
 public:
  /// Registers `--json [FILE]`.
  void define(CLI::App& app);

  bool requested() const;
  /// True when the JSON goes to stdout, which then carries nothing else.
  bool on_stdout() const { return requested() && file_.empty(); }
  const std::string& file() const { return file_; }

  /// Writes the document if it was asked for. Errors name the file.
  Status write(const Json& document) const;

 private:
  CLI::Option* option_ = nullptr;
  std::string file_;
};

/// Writes a file in one go (through a temporary name, so that no half file is left).
Status write_text_file(const std::string& path, const std::string& text);

/// True when `path` can be created or overwritten; used to refuse bad output paths before long
/// work.
Status check_writable(const std::string& path);

}  // namespace braid::cli
