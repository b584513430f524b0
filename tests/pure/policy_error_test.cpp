// Every way a policy file can be wrong: where the message points to and what it says.
#include <gtest/gtest.h>

#include "config/policy.hpp"

namespace braid::config {
namespace {

constexpr const char* kSchema = "schema = \"braid-policy/1\"\n";

// Expects an error at p.toml:`where` with all of `words` in it.
void expect_error(const std::string& text, const std::string& where,
                  const std::vector<std::string>& words) {
  const auto policy = read_policy_text(text, "p.toml");
  ASSERT_FALSE(policy) << text;
  EXPECT_EQ(policy.error().where, where.empty() ? "p.toml" : "p.toml:" + where)
      << policy.error().what;
  for (const std::string& word : words) {
    EXPECT_NE(policy.error().what.find(word), std::string::npos)
        << "no \"" << word << "\" in: " << policy.error().what;
  }
}

// The same for text that follows the schema line; `line` counts from there.
void expect_line_error(const std::string& text, int line, int column,
                       const std::vector<std::string>& words) {
  expect_error(kSchema + text, std::to_string(line + 1) + ":" + std::to_string(column), words);
}

TEST(PolicyError, SchemaIsMissingOrAnother) {
  const std::string reads = "this version reads schema = \"braid-policy/1\"";
  expect_error("", "1:1", {"no key 'schema'", reads});
  expect_error("numerics = \"exact\"\n", "1:1", {"no key 'schema'", reads});
  expect_error("\nschema = \"braid-policy/2\"\nunheard_of = 1\n", "2:10",
               {"\"braid-policy/2\"", reads});
  expect_error("schema = 1\n", "1:10", {"is 1", reads});
  expect_error("[schema]\n", "1:1", {"is a table", reads});
}

TEST(PolicyError, TomlItself) {
  expect_line_error("learn_steps = \n", 1, 15, {});
  expect_line_error("gpu = \"a\"\ngpu = \"b\"\n", 2, 7, {"gpu"});
  for (const char* foreign :
       {"é = 1\n", "gpu = é\n", "gpu\xc2\xa0= 1\n", "gpu = \"\"\"\\\n é\"\"\"é\n"}) {
    EXPECT_FALSE(read_policy_text(kSchema + std::string(foreign), "p.toml")) << foreign;
  }
  const auto broken = read_policy_text("schema = \"braid", "p.toml");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().where.rfind("p.toml:1:", 0), 0u) << broken.error().where;
}

TEST(PolicyError, UnknownKeysGetTheNearestKnownOne) {
  expect_line_error("numerix = \"exact\"\n", 1, 1,
                    {"unknown key 'numerix'", "\"exact\"", "did you mean 'numerics'?"});
  expect_line_error("[[rule]]\nparst = 4\n", 2, 1,
                    {"unknown key 'parst' (4)", "[[rule]]", "did you mean 'parts'?", "collective"});
  expect_line_error("[tuner]\nrules = []\n", 2, 1, {"[tuner]", "did you mean 'rule'?"});
  expect_line_error("[[tuner.rule]]\nalgoritm = \"ring\"\n", 2, 1,
                    {"[[tuner.rule]]", "did you mean 'algorithm'?"});
  expect_line_error("[[rule]]\nelephants = true\n", 2, 1, {"unknown key 'elephants' (true)"});
  expect_line_error("[[rules]]\nstrategy = \"serial\"\n", 1, 3, {"did you mean 'rule'?"});
  expect_line_error("[rule.deep]\nx = 1\n", 1, 1, {"key 'rule' is a table", "[[rule]]"});
}

TEST(PolicyError, WrongTypesNameTheValueAndWhatWasExpected) {
  expect_line_error("numerics = 1\n", 1, 12, {"'numerics' is 1", "\"exact\""});
  expect_line_error("gpu = 3.5\n", 1, 7, {"'gpu' is 3.5", "a text"});
  expect_line_error("topology = [1]\n", 1, 12, {"'topology' is an array", "a text"});
  expect_line_error("learn_steps = \"64\"\n", 1, 15, {"is \"64\"", "0 to 1000000"});
  expect_line_error("learn_steps = 1e3\n", 1, 15, {"0 to 1000000"});
  expect_line_error("max_device_memory = true\n", 1, 21, {"is true", "256MiB"});
  expect_line_error("rule = 1\n", 1, 8, {"'rule' is 1", "[[rule]]"});
  expect_line_error("rule = [1]\n", 1, 9, {"'rule' is 1", "[[rule]]"});
  expect_line_error("tuner = 2026-11-30\n", 1, 9, {"'tuner' is a date or time", "[[tuner.rule]]"});
  expect_line_error("[tuner]\nrule = \"x\"\n", 2, 8, {"'rule' is \"x\"", "[[tuner.rule]]"});
  expect_line_error("[[rule]]\nbytes = 4096\n", 2, 9, {"'bytes' is 4096", "[1MiB, inf)"});
  expect_line_error("[[rule]]\nranks = 2.0\n", 2, 9, {"'ranks' is 2.0", "interval"});
  expect_line_error("[[rule]]\ncommunicator = 1\n", 2, 16, {"'communicator' is 1", "a text"});
  expect_line_error("[[rule]]\ndtype = 16\n", 2, 9, {"'dtype' is 16", "\"bf16\""});
}

TEST(PolicyError, ValuesOutOfRange) {
  expect_line_error("learn_steps = -1\n", 1, 15, {"is -1", "0 to 1000000"});
  expect_line_error("learn_steps = 1000001\n", 1, 15, {"0 to 1000000"});
  expect_line_error("max_device_memory = -5\n", 1, 21, {"is -5", "a size"});
  expect_line_error("max_device_memory = \"2TiB\"\n", 1, 21, {"\"2TiB\"", "up to 1TiB"});
  expect_line_error("max_device_memory = \"many\"\n", 1, 21, {"\"many\"", "256MiB"});
  expect_line_error("[[rule]]\nstrategy = \"fused\"\nparts = 0\n", 3, 9, {"is 0", "1 to 64"});
  expect_line_error("[[rule]]\nstrategy = \"fused\"\nparts = 65\n", 3, 9, {"is 65", "\"auto\""});
  expect_line_error("[[rule]]\nstrategy = \"fused\"\nparts = \"4\"\n", 3, 9, {"\"4\"", "1 to 64"});
  expect_line_error("[[rule]]\nranks = 0\n", 2, 9, {"'ranks' is 0"});
  expect_line_error("[[tuner.rule]]\nnodes = -1\n", 2, 9, {"'nodes' is -1"});
  expect_line_error("[[tuner.rule]]\nchannels = 65\n", 2, 12, {"is 65", "1 to 64"});
  expect_line_error("[[rule]]\nbytes = \"[2, 1]\"\n", 2, 9, {"key 'bytes'", "no number"});
  expect_line_error("[[rule]]\ndtype = []\n", 2, 9, {"empty array"});
}

TEST(PolicyError, WordsThatAreNotInTheList) {
  expect_line_error("numerics = \"exakt\"\n", 1, 12, {"\"exakt\"", "did you mean 'exact'?"});
  expect_line_error("[[rule]]\ncollective = \"all_reduce\"\n", 2, 14,
                    {"did you mean 'allreduce'?", "\"sendrecv\""});
  expect_line_error("[[rule]]\nstrategy = \"decomposed\"\n", 2, 12, {"did you mean 'decompose'?"});
  expect_line_error("[[rule]]\nscheme = \"doublering\"\n", 2, 10, {"did you mean 'double_ring'?"});
  expect_line_error("[[rule]]\nstrategy = \"fused\"\ncut = \"waves\"\n", 3, 7,
                    {"did you mean 'wave'?"});
  expect_line_error("[[rule]]\ndtype = [\"fp32\", \"bf_16\"]\n", 2, 18,
                    {"\"bf_16\"", "did you mean 'bf16'?"});
  expect_line_error("[[tuner.rule]]\nalgorithm = \"rng\"\n", 2, 13, {"did you mean 'ring'?"});
  expect_line_error("[[tuner.rule]]\nprotocol = \"simpel\"\n", 2, 12, {"did you mean 'simple'?"});
}

TEST(PolicyError, KeysThatContradictEachOther) {
  expect_line_error("[[rule]]\nparts = 4\n", 2, 9, {"'parts' means nothing", "\"decompose\""});
  expect_line_error("[[rule]]\ncut = \"wave\"\n", 2, 7, {"'cut' means nothing"});
  expect_line_error("[[tuner.rule]]\ncollective = \"alltoall\"\n", 2, 14, {"asks no tuner"});
  expect_line_error("[[tuner.rule]]\ncollective = \"sendrecv\"\n", 2, 14, {"asks no tuner"});
  expect_line_error("[[tuner.rule]]\ncollective = \"allgather\"\nalgorithm = \"tree\"\n", 3, 13,
                    {"no tree for allgather"});
}

TEST(PolicyError, PlanEntriesAreCompleteAndConsistent) {
  const auto entry = [](const std::string& ranks, const std::string& count,
                        const std::string& boundaries) {
    return "[[plan]]\ncollective = \"allreduce\"\ndtype = \"bf16\"\nranks = " + ranks +
           "\ncount = " + count + "\nboundaries = " + boundaries + "\n";
  };
  EXPECT_TRUE(read_policy_text(kSchema + entry("8", "9", "[0, 4, 9]"), "p.toml"));
  expect_line_error(entry("0", "9", "[0, 9]"), 4, 9, {"'ranks' is 0", "from 1"});
  expect_line_error(entry("8", "\"9\"", "[0, 9]"), 5, 9, {"'count' is \"9\"", "from 1"});
  for (const char* boundaries :
       {"9", "[]", "[0]", "[1, 9]", "[0, 4, 4, 9]", "[0, 5, 4, 9]", "[0, \"9\"]", "[-1, 9]"}) {
    expect_line_error(entry("8", "9", boundaries), 6, 14,
                      {"'boundaries' is", "growing", "0 first"});
  }
  std::string many = "[0";
  for (int i = 1; i <= 65; ++i) {
    many += ", " + std::to_string(i);
  }
  expect_line_error(entry("8", "65", many + "]"), 6, 14, {"2 to 65"});
  expect_line_error(entry("8", "9", "[0, 8]"), 6, 14, {"ends at 8", "the count, 9"});
  expect_line_error(
      "[[plan]]\ncollective = \"allreduce\"\nranks = 8\ncount = 9\n"
      "boundaries = [0, 9]\n",
      1, 1, {"no key 'dtype'"});
  expect_line_error("[[plan]]\nop = \"mul\"\n", 1, 1, {"[[plan]] has no key", "(and "});
  expect_line_error(entry("8", "9", "[0, 9]") + "op = \"summ\"\n", 7, 6, {"did you mean 'sum'?"});
  expect_line_error(entry("8", "9", "[0, 9]") + "part = 2\n", 7, 1,
                    {"unknown key 'part' (2) in [[plan]]"});
  expect_line_error("plan = 4\n", 1, 8, {"'plan' is 4", "[[plan]]"});
}

TEST(PolicyError, TheFirstInTheFileIsShownAndTheRestCounted) {
  // Keys are met alphabetically: 'algo…' last in the file must not win over 'zebra' above it.
  expect_line_error("zebra = 1\n[[rule]]\nstrategy = \"x\"\n[[tuner.rule]]\nalgorithm = 1\n", 1, 1,
                    {"'zebra'", "(and 2 more in this file)"});
}

TEST(PolicyError, LimitsOnSize) {
  std::string rules;
  for (int i = 0; i < 1025; ++i) {
    rules += "[[rule]]\n";
  }
  expect_line_error(rules, 1, 1, {"1025 [[rule]]", "at most 1024"});
  expect_error(std::string((1 << 20) + 1, '#'), "", {"larger than"});
  const auto repeat = [](const std::string& piece, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) {
      out += piece;
    }
    return out;
  };
  expect_error(kSchema + repeat("a.", 400000) + "a = 1\n", "2", {"100 dots"});
  expect_error(kSchema + std::string("[") + repeat("a.", 400000) + "a]\n", "2", {"100 dots"});
  const auto nested = read_policy_text(kSchema + ("x = " + repeat("[", 300000)), "p.toml");
  EXPECT_FALSE(nested);
}

TEST(PolicyError, ForeignTextIsShortenedAndMadeHarmless) {
  const auto policy = read_policy_text(
      kSchema + ("numerics = \"" + std::string(5000, 'x') + "\\n\\u001b\"\n"), "p.toml");
  ASSERT_FALSE(policy);
  EXPECT_LT(policy.error().what.size(), 300u);
  const auto control =
      read_policy_text(kSchema + std::string("gpu = 1\n\"a\\nb\" = 1\n"), "p.toml");
  ASSERT_FALSE(control);
  EXPECT_EQ(control.error().what.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace braid::config
