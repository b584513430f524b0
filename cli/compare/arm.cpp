#include "cli/compare/arm.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <filesystem>
#include <set>

#include "config/closest_match.hpp"

namespace braid::cli {
namespace fs = std::filesystem;
namespace {

constexpr const char* kArmForm = "an arm is written NAME:VARIABLE=VALUE[,VARIABLE=VALUE…]";

bool is_name(const std::string& text, const char* extra) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0) {
    return false;
  }
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' &&
        std::string(extra).find(c) == std::string::npos) {
      return false;
    }
  }
  return true;
}

bool starts_assignment(const std::string& text) {
  const size_t equals = text.find('=');
  return equals != std::string::npos && is_name(text.substr(0, equals), "");
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> words;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

/// A file an arm names, as an absolute path.
Result<std::string> named_file(const std::string& arm, const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    return fail("--arms " + arm, fmt::format("there is no file {}", path));
  }
  return fs::absolute(path).lexically_normal().string();
}

}  // namespace

Result<Arm> parse_arm(const std::string& text) {
  const std::string where = fmt::format("--arm {}", text);
  const size_t colon = text.find(':');
  if (colon == std::string::npos) {
    return fail(where, fmt::format("has no ':'; {}", kArmForm));
  }
  Arm arm;
  arm.name = text.substr(0, colon);
  if (!is_name(arm.name, "-.")) {
    return fail(where, fmt::format("'{}' is no name (letters, digits, '-', '_', '.'); {}", arm.name,
                                   kArmForm));
  }
  if (arm.name == "stock" || arm.name == "braid") {
    return fail(where,
                fmt::format("the name '{}' belongs to an arm of every comparison", arm.name));
  }
  for (const std::string& word : split(text.substr(colon + 1), ',')) {
    if (starts_assignment(word)) {
      const size_t equals = word.find('=');
      arm.environment.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    } else if (!arm.environment.empty()) {
      arm.environment.back().second += "," + word;
    } else {
      return fail(where, fmt::format("'{}' is not VARIABLE=VALUE; {}", word, kArmForm));
    }
  }
  arm.note = "settings of the user";
  return arm;
}

Result<Arm> shipped_arm(const std::string& word, bool on_virtual_gpus) {
  static const std::vector<std::string> kKnown = {"tree", "p2p-sys", "graph=FILE", "nccl=PATH"};
  const size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
  Arm arm;
  arm.name = name;
  if (word == "tree") {
    // Only AllReduce has a tree; a bare "Tree" would leave the other collectives without algorithm.
    arm.environment = {{"NCCL_ALGO", "allreduce:tree"}};
    arm.note = "AllReduce by NCCL's tree";
    return arm;
  }
  if (word == "p2p-sys") {
    arm.environment = {{"NCCL_P2P_LEVEL", "SYS"}};
    arm.note = "direct GPU-to-GPU copies also across sockets";
    return arm;
  }
  if ((name == "graph" || name == "nccl") && value.empty()) {
    return fail("--arms " + word, fmt::format("a file was expected, as in {}=FILE", name));
  }
  if (name == "graph") {
    const auto file = named_file(word, value);
    if (!file) {
      return tl::unexpected(file.error());
    }
    arm.environment = {{"NCCL_GRAPH_FILE", *file}};
    arm.note = "rings and trees of " + *file;
    return arm;
  }
  if (name == "nccl") {
    if (on_virtual_gpus) {
      return fail("--arms " + word,
                  "another NCCL library needs real GPUs: NVIDIA's library runs on NVIDIA's driver "
                  "only; leave the arm out or leave out --virtual");
    }
    const auto file = named_file(word, value);
    if (!file) {
      return tl::unexpected(file.error());
    }
    arm.environment = {{"LD_PRELOAD", *file}};
    arm.note = "NCCL library " + *file;
    return arm;
  }
  std::vector<std::string> names;
  for (const std::string& known : kKnown) {
    names.push_back(known.substr(0, known.find('=')));
  }
  return fail("--arms " + word,
              fmt::format("there is no such arm{}; shipped arms: {}",
                          config::suggestion(name, names), fmt::join(kKnown, ", ")));
}

Result<std::vector<Arm>> make_arms(const std::string& shipped, const std::vector<std::string>& user,
                                   bool on_virtual_gpus) {
  std::vector<Arm> arms;
  arms.push_back({"stock", Arm::Kind::kStock, {}, "NCCL as it chooses by itself"});
  if (!shipped.empty() && shipped != "none") {
    for (const std::string& word : split(shipped, ',')) {
      auto arm = shipped_arm(word, on_virtual_gpus);
      if (!arm) {
        return tl::unexpected(arm.error());
      }
      arms.push_back(std::move(*arm));
    }
  }
  for (const std::string& text : user) {
    auto arm = parse_arm(text);
    if (!arm) {
      return tl::unexpected(arm.error());
    }
    arms.push_back(std::move(*arm));
  }
  arms.push_back({"braid", Arm::Kind::kBraid, {}, "braid with its policy"});
  std::set<std::string> names;
  for (const Arm& arm : arms) {
    if (!names.insert(arm.name).second) {
      return fail("--arm " + arm.name, "the name is used twice");
    }
  }
  return arms;
}

}  // namespace braid::cli
