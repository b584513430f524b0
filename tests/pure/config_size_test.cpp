#include <gtest/gtest.h>

#include <limits>

#include "config/environment.hpp"
#include "config_test_support.hpp"

namespace braid::config {
namespace {

struct Case {
  const char* text;
  uint64_t bytes;
};

TEST(ConfigSize, ReadsWhatPeopleWrite) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  const Case cases[] = {{"0", 0},
                        {"4096", 4096},
                        {"7B", 7},
                        {"64KiB", 65536},
                        {"64kib", 65536},
                        {"64KB", 64000},
                        {"64k", 65536},
                        {"64K", 65536},
                        {"64MiB", 64ull << 20},
                        {"1.5GB", 1500000000},
                        {"1.5GiB", 1610612736},
                        {"2T", 2ull << 40},
                        {"2TB", 2000000000000},
                        {"256 MiB", 256ull << 20},
                        {"0.5k", 512},
                        {"00012", 12},
                        {"18446744073709551615", kMost},
                        {"16777215TiB", 16777215ull << 40}};
  for (const Case& c : cases) {
    const auto size = parse_size(c.text);
    ASSERT_TRUE(size) << c.text << ": " << size.error().text();
    EXPECT_EQ(*size, c.bytes) << c.text;
  }
}

TEST(ConfigSize, RefusesTheRestAndSaysWhy) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "expected bytes"},
      {"MiB", "expected bytes"},
      {"-1", "expected bytes"},
      {"+1", "expected bytes"},
      {" 1", "expected bytes"},
      {"1.", "expected bytes"},
      {".5k", "expected bytes"},
      {"1..5k", "expected bytes"},
      {"1e9", "unit 'e9'"},
      {"0x10", "unit 'x10'"},
      {"64MiBs", "unit 'MiBs'"},
      {"64  MiB", "unit ' MiB'"},
      {"0.3B", "whole number of bytes"},
      {"1.0001KiB", "whole number of bytes"},
      {"1.0000000000000000000k", "18 digits"},
      {"18446744073709551616", "over 2^64"},
      {"16777216TiB", "over 2^64"},
      {"99999999999999999999999999999999999999999999", "over 2^64"}};
  for (const auto& [text, reason] : cases) {
    const auto size = parse_size(text);
    ASSERT_FALSE(size) << text << " read as " << *size;
    EXPECT_NE(size.error().what.find(reason), std::string::npos) << size.error().what;
    EXPECT_NE(size.error().what.find(std::string("'") + text + "'"), std::string::npos);
  }
}

TEST(ConfigSize, FormatsInBinaryUnits) {
  EXPECT_EQ(format_size(0), "0");
  EXPECT_EQ(format_size(1), "1");
  EXPECT_EQ(format_size(1000), "1000");
  EXPECT_EQ(format_size(4096), "4KiB");
  EXPECT_EQ(format_size(256ull << 20), "256MiB");
  EXPECT_EQ(format_size(3ull << 40), "3TiB");
}

TEST(ConfigSizeProperty, FormattedSizesReadBackExactly) {
  std::mt19937_64 random(test::property_seed());
  for (int i = 0; i < 2000; ++i) {
    const uint64_t bytes = random() >> test::pick(random, 0, 63) << test::pick(random, 0, 30);
    const auto back = parse_size(format_size(bytes));
    ASSERT_TRUE(back) << bytes;
    EXPECT_EQ(*back, bytes);
  }
}

}  // namespace
}  // namespace braid::config
