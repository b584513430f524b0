// The arms of a comparison: one program, several settings.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/result.hpp"

namespace braid::cli {

/// One way to run the job.
struct Arm {
  enum class Kind { kStock, kSettings, kBraid };

  std::string name;
  Kind kind = Kind::kSettings;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string note;  // what the arm stands for, for reports
};

/// `--arm NAME:ENV=V[,ENV=V…]`. A comma ends a value only when a new NAME= follows it, so
/// "alg:NCCL_ALGO=Tree,Ring" is one variable.
Result<Arm> parse_arm(const std::string& text);

/// One word of `--arms`: "tree", "p2p-sys", "graph=FILE", "nccl=PATH". Errors list the shipped
/// arms. `on_virtual_gpus`: nccl=PATH is refused, since NVIDIA's library needs NVIDIA's driver.
Result<Arm> shipped_arm(const std::string& word, bool on_virtual_gpus);

/// The whole list: stock, shipped arms (comma list), user arms, braid. Errors: a name twice.
Result<std::vector<Arm>> make_arms(const std::string& shipped, const std::vector<std::string>& user,
                                   bool on_virtual_gpus);

}  // namespace braid::cli
