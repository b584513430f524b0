// A small command-line parser, and the flags all examples share.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/data_type.hpp"

namespace examples {

/// "--name value" and "--name=value". A wrong flag or value prints what was expected and exits
/// with 2.
class FlagParser {
 public:
  FlagParser(std::string program, std::string summary);

  void add(const std::string& name, int* value, int minimum, const std::string& help);
  void add(const std::string& name, uint64_t* value, const std::string& help);
  void add(const std::string& name, float* value, const std::string& help);
  void add(const std::string& name, std::string* value, const std::string& help);
  /// One word of `words`; *value becomes its position.
  void add_choice(const std::string& name, int* value, std::vector<std::string> words,
                  const std::string& help);
  void add_switch(const std::string& name, bool* value, const std::string& help);

  void parse(int argc, char** argv);
  [[noreturn]] void refuse(const std::string& message) const;

 private:
  struct Flag {
    std::string name;
    std::string help;
    bool takes_value;
    std::function<std::string(const std::string&)> set;  // returns what was expected, or nothing
  };
  void print_help() const;

  std::string program_;
  std::string summary_;
  std::vector<Flag> flags_;
};

struct CommonOptions {
  int hidden = 1024;
  int ffn = 0;  // 0: four times hidden
  int tokens = 2048;
  int batch = 0;  // with --seq: tokens = batch · seq
  int sequence = 0;
  int layers = 2;
  int steps = 3;
  int warmup = 0;
  int ranks = 0;  // 0: one rank a process, from the launcher's environment
  float learning_rate = 0.01F;
  uint64_t seed = 1;
  int type_index = 0;
  std::string dump_path;

  DataType type() const { return static_cast<DataType>(type_index); }
  int total_steps() const { return warmup + steps; }
};

void add_common_flags(FlagParser& parser, CommonOptions& options);
/// Derives tokens and ffn after parsing.
void finish_common_flags(const FlagParser& parser, CommonOptions& options);

}  // namespace examples
