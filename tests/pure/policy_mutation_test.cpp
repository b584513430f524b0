// Broken files of all kinds: the reader answers with a policy or an error that names the file, and
// a policy it accepts is one the writer can write.
#include <gtest/gtest.h>

#include "config/policy_writer.hpp"
#include "policy_random.hpp"

namespace braid::config {
namespace {

std::string mutate(std::mt19937_64& random, std::string text, const std::string& other) {
  static const char* const kTokens[] = {"\"",  "[[",         "]]",   "=",    "\n",
                                        "inf", "[",          "\\",   "'''",  "{",
                                        "}",   ",",          ".",    "-1",   "9223372036854775808",
                                        "nan", "\xff",       "rule", "auto", "#",
                                        "\r",  "1979-05-27", "true", "(",    "KiB"};
  for (uint64_t edits = test::pick(random, 1, 6); edits > 0; --edits) {
    const size_t at = text.empty() ? 0 : test::pick(random, 0, text.size() - 1);
    const size_t length = test::pick(random, 0, 12);
    switch (test::pick(random, 0, 5)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, kTokens[test::pick(random, 0, std::size(kTokens) - 1)]);
        break;
      case 2:
        if (!text.empty()) {
          text[at] = static_cast<char>(random());
        }
        break;
      case 3:
        text.insert(at, text.substr(at, length * 4));
        break;
      case 4:
        text.insert(at, other.substr(other.size() / 2, length * 8));
        break;
      default:
        text.resize(at);
        break;
    }
  }
  return text;
}

TEST(PolicyMutationProperty, BrokenFilesAreErrorsAndNothingWorse) {
  std::mt19937_64 random(test::property_seed());
  int accepted = 0;
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string text = mutate(
        random, write_policy_text(test::random_policy(random), {"head", {"a", "b"}, {"c"}, {"d"}}),
        write_policy_text(test::random_policy(random)));
    const auto policy = read_policy_text(text, "mutated.toml");
    if (!policy) {
      ++refused;
      EXPECT_EQ(policy.error().where.rfind("mutated.toml", 0), 0u) << policy.error().text();
      EXPECT_FALSE(policy.error().what.empty()) << text;
      EXPECT_LT(policy.error().what.size(), 1000u) << policy.error().what;
      continue;
    }
    ++accepted;
    const auto back = read_policy_text(write_policy_text(*policy), "back.toml");
    ASSERT_TRUE(back) << back.error().text() << "\n" << text;
    EXPECT_EQ(back->rules.size(), policy->rules.size());
    EXPECT_EQ(back->tuner_rules.size(), policy->tuner_rules.size());
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, 0);
}

TEST(PolicyMutationProperty, NoiseIsRefused) {
  std::mt19937_64 random(test::property_seed());
  for (int i = 0; i < 500; ++i) {
    std::string noise(test::pick(random, 0, 400), '\0');
    for (char& c : noise) {
      c = static_cast<char>(random());
    }
    EXPECT_FALSE(read_policy_text(noise, "noise"));
    EXPECT_FALSE(read_policy_text("schema = \"braid-policy/1\"\nx" + noise, "noise"));
  }
}

}  // namespace
}  // namespace braid::config
