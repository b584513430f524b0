#include "cli/json_output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "config/safe_file.hpp"

namespace braid::cli {
namespace fs = std::filesystem;

void JsonOption::define(CLI::App& app) {
  option_ =
      app.add_option("--json", file_, "Print the result as JSON on stdout, or write it to FILE")
          ->expected(0, 1)
          ->type_name("[FILE]");
}

bool JsonOption::requested() const { return option_ != nullptr && option_->count() > 0; }

Status JsonOption::write(const Json& document) const {
  if (!requested()) {
    return {};
  }
  // Names and paths come from traces and arguments and need not be UTF-8.
  const std::string text =
      document.dump(2, ' ', false, nlohmann::detail::error_handler_t::replace) + "\n";
  if (!file_.empty()) {
    return write_text_file(file_, text);
  }
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return fail("stdout", fmt::format("the JSON could not be written: {}", std::strerror(errno)));
  }
  return {};
}

Status write_text_file(const std::string& path, const std::string& text) {
  std::error_code ignored;
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {  // a pipe or /dev/null
    std::ofstream out(path, std::ios::binary);
    out << text << std::flush;
    return out ? Status{} : fail(path, fmt::format("cannot write: {}", std::strerror(errno)));
  }
  return config::replace_file(path, text);
}

Status check_writable(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return fail(path, "is a folder; a file name was expected");
  }
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : ".";
  if (!fs::is_directory(folder, error)) {
    return fail(path, fmt::format("the folder {} does not exist", folder.string()));
  }
  const bool exists = fs::exists(path, error);
  if (access(exists ? path.c_str() : folder.c_str(), W_OK) != 0) {
    return fail(path, fmt::format("cannot write: {}", std::strerror(errno)));
  }
  return {};
}

}  // namespace braid::cli
