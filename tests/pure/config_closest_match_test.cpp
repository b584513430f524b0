#include <gtest/gtest.h>

#include "config/closest_match.hpp"
#include "config_test_support.hpp"

namespace braid::config {
namespace {

TEST(ConfigClosestMatch, CountsChanges) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("parts", "parst"), 1u);   // swap
  EXPECT_EQ(edit_distance("parts", "part"), 1u);    // delete
  EXPECT_EQ(edit_distance("parts", "partss"), 1u);  // insert
  EXPECT_EQ(edit_distance("parts", "ports"), 1u);   // replace
  EXPECT_EQ(edit_distance("PARTS", "parts"), 0u);   // case
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(ConfigClosestMatch, SuggestsOnlyWhatIsNear) {
  const std::vector<std::string> keys = {"collective", "dtype", "bytes", "ranks", "parts"};
  EXPECT_EQ(closest_match("parst", keys), "parts");
  EXPECT_EQ(closest_match("colective", keys), "collective");
  EXPECT_EQ(closest_match("Bytes", keys), "bytes");
  EXPECT_EQ(closest_match("xylophone", keys), std::nullopt);
  EXPECT_EQ(closest_match("", keys), std::nullopt);
  EXPECT_EQ(closest_match(std::string(1000, 'b'), keys), std::nullopt);
  EXPECT_EQ(closest_match("parts", {}), std::nullopt);
  EXPECT_EQ(closest_match("rin", {"ring", "tree"}), "ring");
  EXPECT_EQ(closest_match("xy", {"ll"}), std::nullopt);
  EXPECT_EQ(closest_match("l1", {"ll"}), "ll");
}

TEST(ConfigClosestMatch, WordsForMessages) {
  EXPECT_EQ(suggestion("parst", {"parts"}), " (did you mean 'parts'?)");
  EXPECT_EQ(suggestion("parst", {"scheme"}), "");
  EXPECT_EQ(join_or({}), "");
  EXPECT_EQ(join_or({"a"}), "a");
  EXPECT_EQ(join_or({"a", "b"}), "a or b");
  EXPECT_EQ(join_or({"a", "b", "c"}), "a, b or c");
}

TEST(ConfigClosestMatchProperty, DistanceIsSymmetricAndBounded) {
  std::mt19937_64 random(test::property_seed());
  const auto word = [&] {
    std::string text(test::pick(random, 0, 9), 'a');
    for (char& c : text) {
      c = static_cast<char>('a' + test::pick(random, 0, 3));
    }
    return text;
  };
  for (int i = 0; i < 2000; ++i) {
    const std::string a = word();
    const std::string b = word();
    const size_t distance = edit_distance(a, b);
    EXPECT_EQ(distance, edit_distance(b, a)) << a << " " << b;
    EXPECT_EQ(distance == 0, a == b) << a << " " << b;
    EXPECT_LE(distance, std::max(a.size(), b.size())) << a << " " << b;
    EXPECT_GE(distance, std::max(a.size(), b.size()) - std::min(a.size(), b.size()));
  }
}

}  // namespace
}  // namespace braid::config
