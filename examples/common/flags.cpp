#include "common/flags.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace examples {
namespace {

bool parse_integer(const std::string& text, long long* value) {
  char* end = nullptr;
  errno = 0;
  *value = std::strtoll(text.c_str(), &end, 0);
  return !text.empty() && *end == '\0' && errno == 0;
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : "|") + word;
  }
  return text;
}

}  // namespace

FlagParser::FlagParser(std::string program, std::string summary)
    : program_(std::move(program)), summary_(std::move(summary)) {}

void FlagParser::add(const std::string& name, int* value, int minimum, const std::string& help) {
  flags_.push_back({name, help, true, [value, minimum](const std::string& text) -> std::string {
                      long long number = 0;
                      if (!parse_integer(text, &number) || number < minimum ||
                          number > 2147483647LL) {
                        return "a whole number of at least " + std::to_string(minimum);
                      }
                      *value = static_cast<int>(number);
                      return "";
                    }});
}

void FlagParser::add(const std::string& name, uint64_t* value, const std::string& help) {
  flags_.push_back({name, help, true, [value](const std::string& text) -> std::string {
                      long long number = 0;
                      if (!parse_integer(text, &number) || number < 0) {
                        return "a whole number of at least 0";
                      }
                      *value = static_cast<uint64_t>(number);
                      return "";
                    }});
}

void FlagParser::add(const std::string& name, float* value, const std::string& help) {
  flags_.push_back({name, help, true, [value](const std::string& text) -> std::string {
                      char* end = nullptr;
                      *value = std::strtof(text.c_str(), &end);
                      return text.empty() || *end != '\0' ? "a number" : "";
                    }});
}

void FlagParser::add(const std::string& name, std::string* value, const std::string& help) {
  flags_.push_back({name, help, true, [value](const std::string& text) -> std::string {
                      *value = text;
                      return text.empty() ? "some text" : "";
                    }});
}

void FlagParser::add_choice(const std::string& name, int* value, std::vector<std::string> words,
                            const std::string& help) {
  const std::string full_help = help + ": " + join(words);
  flags_.push_back({name, full_help, true,
                    [value, words = std::move(words)](const std::string& text) -> std::string {
                      for (size_t i = 0; i < words.size(); ++i) {
                        if (words[i] == text) {
                          *value = static_cast<int>(i);
                          return "";
                        }
                      }
                      return join(words);
                    }});
}

void FlagParser::add_switch(const std::string& name, bool* value, const std::string& help) {
  flags_.push_back({name, help, false, [value](const std::string&) -> std::string {
                      *value = true;
                      return "";
                    }});
}

void FlagParser::parse(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (name == "--help" || name == "-h") {
      print_help();
      std::exit(EXIT_SUCCESS);
    }
    std::string value;
    const size_t equals = name.find('=');
    const bool has_value = equals != std::string::npos;
    if (has_value) {
      value = name.substr(equals + 1);
      name.resize(equals);
    }
    const Flag* flag = nullptr;
    for (const Flag& candidate : flags_) {
      flag = candidate.name == name ? &candidate : flag;
    }
    if (flag == nullptr) {
      refuse("unknown flag '" + name + "' (--help lists the flags)");
    }
    if (flag->takes_value && !has_value) {
      if (i + 1 == argc) {
        refuse(name + " needs a value");
      }
      value = argv[++i];
    }
    if (!flag->takes_value && has_value) {
      refuse(name + " takes no value");
    }
    const std::string expected = flag->set(value);
    if (!expected.empty()) {
      refuse(name + ": expected " + expected + ", found '" + value + "'");
    }
  }
}

void FlagParser::refuse(const std::string& message) const {
  std::fprintf(stderr, "%s: %s\n", program_.c_str(), message.c_str());
  std::exit(2);
}

void FlagParser::print_help() const {
  std::printf("usage: %s [flags]\n%s\n\n", program_.c_str(), summary_.c_str());
  for (const Flag& flag : flags_) {
    std::printf("  %-22s %s\n", (flag.name + (flag.takes_value ? " X" : "")).c_str(),
                flag.help.c_str());
  }
}

void add_common_flags(FlagParser& parser, CommonOptions& options) {
  parser.add("--hidden", &options.hidden, 1, "width of the model (1024)");
  parser.add("--ffn", &options.ffn, 1, "inner width of the MLP (4 x hidden)");
  parser.add("--tokens", &options.tokens, 1, "tokens in a step, over all ranks (2048)");
  parser.add("--batch", &options.batch, 1, "with --seq: tokens = batch x seq");
  parser.add("--seq", &options.sequence, 1, "sequence length");
  parser.add("--layers", &options.layers, 1, "MLP layers (2)");
  parser.add("--steps", &options.steps, 1, "training steps (3)");
  parser.add("--warmup", &options.warmup, 0, "further steps run before these (0)");
  parser.add("--lr", &options.learning_rate, "learning rate of SGD (0.01)");
  parser.add("--seed", &options.seed, "seed of parameters and data (1)");
  parser.add("--ranks", &options.ranks, 1,
             "run this many ranks as threads; without it RANK, WORLD_SIZE, LOCAL_RANK, "
             "MASTER_ADDR and MASTER_PORT say which rank this process is");
  parser.add("--dump", &options.dump_path,
             "write this rank's results as fp32; {rank} is replaced, else .rankN is appended");
  parser.add_choice("--dtype", &options.type_index, {"fp32", "bf16", "fp16"}, "element type");
}

void finish_common_flags(const FlagParser& parser, CommonOptions& options) {
  if ((options.batch > 0) != (options.sequence > 0)) {
    parser.refuse("--batch and --seq go together");
  }
  if (options.batch > 0) {
    const long long tokens = static_cast<long long>(options.batch) * options.sequence;
    if (tokens > 2147483647LL) {
      parser.refuse("--batch x --seq is over 2147483647 tokens");
    }
    options.tokens = static_cast<int>(tokens);
  }
  if (options.ffn == 0) {
    if (options.hidden > 2147483647 / 4) {
      parser.refuse("--hidden is too large for the default inner width; give --ffn");
    }
    options.ffn = 4 * options.hidden;
  }
}

}  // namespace examples
