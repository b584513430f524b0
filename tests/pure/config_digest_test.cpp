#include <gtest/gtest.h>

#include <set>

#include "config/digest.hpp"
#include "config_test_support.hpp"

namespace braid::config {
namespace {

// The values in files and between ranks: a change of any of these breaks the function's promise.
TEST(ConfigDigest, NeverChanges) {
  static_assert(digest_of("") == Digest().value());
  EXPECT_EQ(digest_of(""), 0xefd01f60ba992926ull);
  EXPECT_EQ(digest_of("a"), 0x82a2a958a9bece5bull);
  EXPECT_EQ(digest_of("braid-policy/1"), 0x06eb07edf26c44e4ull);
  EXPECT_EQ(Digest().add(uint64_t{1}).value(), 0x4a3a3a4ba6523826ull);
}

TEST(ConfigDigest, NumbersAreLittleEndianBytes) {
  EXPECT_EQ(Digest().add(uint64_t{0x0807060504030201}).value(),
            digest_of(std::string_view("\1\2\3\4\5\6\7\10", 8)));
}

TEST(ConfigDigest, TextsCarryTheirLength) {
  const auto two = [](const char* a, const char* b) { return Digest().add(a).add(b).value(); };
  EXPECT_NE(two("ab", "c"), two("a", "bc"));
  EXPECT_NE(two("", "a"), two("a", ""));
}

TEST(ConfigDigestProperty, SimilarInputsDiffer) {
  std::mt19937_64 random(test::property_seed());
  std::set<uint64_t> seen;
  size_t inputs = 0;
  std::string text(40, 'x');
  for (char& c : text) {
    c = static_cast<char>(random());
  }
  for (size_t byte = 0; byte < text.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit, ++inputs) {
      std::string changed = text;
      changed[byte] = static_cast<char>(changed[byte] ^ (1 << bit));
      seen.insert(digest_of(changed));
    }
  }
  for (uint64_t number = 0; number < 10000; ++number, ++inputs) {
    seen.insert(Digest().add(number).value());
  }
  EXPECT_EQ(seen.size(), inputs);
}

}  // namespace
}  // namespace braid::config
