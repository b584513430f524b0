// libnccl-tuner-braid.so as NCCL meets it: by dlopen, in a process of its own for each environment.
#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>

#include "config/policy_writer.hpp"
#include "policy_random.hpp"
#include "tuner_plugin/abi/tuner.hpp"
#include "tuner_test_support.hpp"

namespace braid::tuner {
namespace {

class Library {
 public:
  Library() : handle_(dlopen(BRAID_TUNER_LIBRARY, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
    }
  }

  template <typename T>
  const T* find(const char* symbol) const {
    return handle_ != nullptr ? static_cast<const T*>(dlsym(handle_, symbol)) : nullptr;
  }

  void* handle() const { return handle_; }

 private:
  void* handle_;
};

// Runs `check` in a child whose environment holds only `variables` of braid's and NCCL's.
void expect_in_child(const std::vector<std::pair<const char*, std::string>>& variables,
                     const std::function<bool()>& check) {
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    test::logged().clear();
    for (const char* name :
         {"BRAID_POLICY", "BRAID_MODE", "BRAID_ON_ERROR", "NCCL_ALGO", "NCCL_PROTO"}) {
      unsetenv(name);
    }
    for (const auto& [name, value] : variables) {
      setenv(name, value.c_str(), 1);
    }
    const bool right = check();
    std::fflush(nullptr);
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

std::string read_binary(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

struct DynamicNames {
  std::set<std::string> defined;
  std::set<std::string> needed;
};

DynamicNames read_dynamic_names(const std::string& image) {
  DynamicNames names;
  Elf64_Ehdr header;
  std::memcpy(&header, image.data(), sizeof(header));
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), image.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_DYNAMIC) {
      continue;
    }
    const char* strings = image.data() + sections[section.sh_link].sh_offset;
    for (size_t at = 0; at < section.sh_size; at += section.sh_entsize) {
      const char* entry = image.data() + section.sh_offset + at;
      if (section.sh_type == SHT_DYNSYM) {
        Elf64_Sym symbol;
        std::memcpy(&symbol, entry, sizeof(symbol));
        if (symbol.st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL) {
          names.defined.insert(strings + symbol.st_name);
        }
      } else {
        Elf64_Dyn dynamic;
        std::memcpy(&dynamic, entry, sizeof(dynamic));
        if (dynamic.d_tag == DT_NEEDED) {
          names.needed.insert(strings + dynamic.d_un.d_val);
        }
      }
    }
  }
  return names;
}

TEST(TunerLibrary, ExportsTheFiveObjectsAndNothingElse) {
  const DynamicNames names = read_dynamic_names(read_binary(BRAID_TUNER_LIBRARY));
  EXPECT_EQ(names.defined,
            (std::set<std::string>{"ncclTunerPlugin_v2", "ncclTunerPlugin_v3", "ncclTunerPlugin_v4",
                                   "ncclTunerPlugin_v5", "ncclTunerPlugin_v6"}));
  for (const std::string& library : names.needed) {
    EXPECT_EQ(library.find("cuda"), std::string::npos) << library;
    EXPECT_EQ(library.find("nccl"), std::string::npos) << library;
#ifndef BRAID_SANITIZED
    EXPECT_EQ(library.find("stdc++"), std::string::npos) << library;
    EXPECT_EQ(library.find("gcc_s"), std::string::npos) << library;
#endif
  }
}

TEST(TunerLibrary, LoadsWithEveryObjectFilledIn) {
  expect_in_child({}, [] {
    const Library library;
    const auto* v2 = library.find<abi::TunerV2>(abi::kTunerSymbolV2);
    const auto* v3 = library.find<abi::TunerV3>(abi::kTunerSymbolV3);
    const auto* v4 = library.find<abi::TunerV4>(abi::kTunerSymbolV4);
    const auto* v5 = library.find<abi::TunerV5>(abi::kTunerSymbolV5);
    const auto* v6 = library.find<abi::TunerV6>(abi::kTunerSymbolV6);
    const bool found = v2 && v3 && v4 && v5 && v6;
    return found && std::strcmp(v2->name, "braid") == 0 && std::strcmp(v6->name, "braid") == 0 &&
           v2->destroy && v3->destroy && v4->destroy && v5->finalize && v6->finalize &&
           v6->get_chunk_size == nullptr;
  });
}

// One policy, five versions side by side.
bool all_versions_agree(uint64_t seed) {
  const Library library;
  const auto* v2 = library.find<abi::TunerV2>(abi::kTunerSymbolV2);
  const auto* v3 = library.find<abi::TunerV3>(abi::kTunerSymbolV3);
  const auto* v4 = library.find<abi::TunerV4>(abi::kTunerSymbolV4);
  const auto* v5 = library.find<abi::TunerV5>(abi::kTunerSymbolV5);
  const auto* v6 = library.find<abi::TunerV6>(abi::kTunerSymbolV6);
  if (!v2 || !v3 || !v4 || !v5 || !v6) {
    return false;
  }
  const size_t ranks = 8;
  abi::TunerConstants constants{};
  constants.base_latencies[0][0] = 6.8;
  abi::TunerNvlDomainInfo domains{4, 2, 2};
  void* context[5] = {};
  if (v2->init(ranks, 1, test::keep_log, &context[0]) != abi::kSuccess ||
      v3->init(ranks, 1, test::keep_log, &context[1]) != abi::kSuccess ||
      v4->init(ranks, 1, test::keep_log, &context[2]) != abi::kSuccess ||
      v5->init(&context[3], 77, ranks, 1, test::keep_log, &domains, &constants) != abi::kSuccess ||
      v6->init(&context[4], 78, ranks, 1, test::keep_log, &domains, &constants) != abi::kSuccess ||
      constants.base_latencies[0][0] != 6.8) {
    return false;
  }
  std::mt19937_64 random(seed);
  bool right = true;
  for (int i = 0; i < 2000; ++i) {
    const auto function = static_cast<abi::Function>(test::pick(random, 0, 6));
    const uint64_t bytes = random() >> test::pick(random, 0, 63);
    const test::Table original = test::random_table(random, function);
    test::Table table[5] = {original, original, original, original, original};
    int channels[5] = {};
    const auto pass = [&](int k) { return reinterpret_cast<float**>(table[k].begin()); };
    right &= v3->get_collective_info(context[1], function, bytes, 1, pass(1), 7, 3, &channels[1]) ==
             abi::kSuccess;
    right &= v4->get_collective_info(context[2], function, bytes, 1, pass(2), 7, 3, 0,
                                     &channels[2]) == abi::kSuccess;
    right &= v5->get_collective_info(context[3], function, bytes, 9, pass(3), 7, 3, 1,
                                     &channels[3]) == abi::kSuccess;
    right &= v6->get_collective_info(context[4], function, bytes, 1, pass(4), 7, 3, 0,
                                     &channels[4]) == abi::kSuccess;
    for (int k = 2; k < 5; ++k) {
      right &= table[k] == table[1] && channels[k] == channels[1];
    }
    int algorithm = -1;
    int protocol = -1;
    right &= v2->get_collective_info(context[0], function, bytes, 0, 0, 1, &algorithm, &protocol,
                                     &channels[0]) == abi::kSuccess;
    right &= (algorithm < 0) == (protocol < 0);
    // Version 2 answers only where the rule names a pair; NCCL runs it if the table allows.
    if (algorithm >= 0 && original.cost[algorithm][protocol] >= 0) {
      right &= test::pick_cheapest(table[1]) == test::Pick{algorithm, protocol};
      right &= channels[0] == channels[1];
    }
  }
  right &= v2->destroy(context[0]) == abi::kSuccess && v3->destroy(context[1]) == abi::kSuccess &&
           v4->destroy(context[2]) == abi::kSuccess && v5->finalize(context[3]) == abi::kSuccess &&
           v6->finalize(context[4]) == abi::kSuccess;
  return right;
}

TEST(TunerLibraryProperty, AllVersionsGiveTheSameAnswers) {
  const uint64_t seed = test::property_seed();
  std::mt19937_64 random(seed);
  const test::TemporaryFolder folder;
  for (int i = 0; i < 20; ++i) {
    const config::Policy policy = test::random_policy(random);
    const std::string path = folder.path_of("p.toml");
    ASSERT_TRUE(config::write_policy_file(policy, {}, path));
    expect_in_child({{"BRAID_POLICY", path}}, [&] { return all_versions_agree(seed + i); });
  }
}

abi::Result init_newest(void** context) {
  static const Library library;
  const auto* v6 = library.find<abi::TunerV6>(abi::kTunerSymbolV6);
  return v6->init(context, 1, 8, 1, test::keep_log, nullptr, nullptr);
}

TEST(TunerLibrary, ABrokenPolicyFailsInitUnlessStockWasAskedFor) {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("p.toml", "schema = \"braid-policy/9\"\n");
  const auto is_invalid_usage = [] {
    void* context = &context;
    return init_newest(&context) == abi::kInvalidUsage && context == nullptr &&
           test::logged().size() == 1 &&
           test::logged()[0].second.find("braid-policy/9") != std::string::npos;
  };
  const auto is_stock = [] {
    void* context = nullptr;
    return init_newest(&context) == abi::kSuccess && context != nullptr;
  };
  expect_in_child({{"BRAID_POLICY", path}}, is_invalid_usage);
  expect_in_child({{"BRAID_POLICY", path}, {"BRAID_ON_ERROR", "stock"}}, is_stock);
  expect_in_child({{"BRAID_POLICY", path}, {"BRAID_MODE", "off"}}, is_stock);
  expect_in_child({}, is_stock);
}

TEST(TunerLibrary, APolicyIsReadOncePerProcess) {
  const test::TemporaryFolder folder;
  const std::string path =
      folder.write("p.toml", "schema = \"braid-policy/1\"\n[[tuner.rule]]\nalgorithm = \"ring\"\n");
  expect_in_child({{"BRAID_POLICY", path}}, [&] {
    void* first = nullptr;
    void* second = nullptr;
    const bool before = init_newest(&first) == abi::kSuccess;
    folder.write("p.toml", "broken");
    return before && init_newest(&second) == abi::kSuccess &&
           test::logged()[0].second == test::logged()[1].second;
  });
}

TEST(TunerLibrary, NullArgumentsAreHarmless) {
  expect_in_child({}, [] {
    const Library library;
    const auto* v2 = library.find<abi::TunerV2>(abi::kTunerSymbolV2);
    const auto* v5 = library.find<abi::TunerV5>(abi::kTunerSymbolV5);
    test::Table table{};
    int channels = 0;
    return v2->init(8, 1, nullptr, nullptr) == abi::kInvalidArgument &&
           v2->get_collective_info(nullptr, abi::kAllReduce, 1, 0, 0, 1, nullptr, nullptr,
                                   nullptr) == abi::kSuccess &&
           v5->get_collective_info(nullptr, abi::kAllReduce, 1, 1,
                                   reinterpret_cast<float**>(table.begin()), 7, 3, 0,
                                   &channels) == abi::kSuccess &&
           v5->finalize(nullptr) == abi::kSuccess && table == test::Table{};
  });
}

}  // namespace
}  // namespace braid::tuner
