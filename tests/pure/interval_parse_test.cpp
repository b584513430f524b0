#include <gtest/gtest.h>

#include <limits>

#include "config/policy.hpp"
#include "config_test_support.hpp"

namespace braid::config {
namespace {

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

Interval must_parse(const std::string& text) {
  const auto interval = parse_interval(text);
  EXPECT_TRUE(interval) << text << ": " << (interval ? "" : interval.error().text());
  return interval.value_or(Interval{});
}

TEST(IntervalParse, BracketsDecideAboutTheEnds) {
  const Interval closed = must_parse("[4, 6]");
  const Interval open = must_parse("(4, 6)");
  const bool in_closed[] = {false, true, true, true, false};
  const bool in_open[] = {false, false, true, false, false};
  for (uint64_t v = 3; v <= 7; ++v) {
    EXPECT_EQ(closed.contains(v), in_closed[v - 3]) << v;
    EXPECT_EQ(open.contains(v), in_open[v - 3]) << v;
  }
}

TEST(IntervalParse, EndsAreSizesAndSpacesDoNotMatter) {
  const Interval interval = must_parse("  [ 1MiB ,64 MiB )  ");
  EXPECT_EQ(interval.low, 1ull << 20);
  EXPECT_EQ(interval.high, 64ull << 20);
  EXPECT_TRUE(interval.high_open);
  EXPECT_FALSE(interval.low_open);
  EXPECT_TRUE(must_parse("[64KiB, 64KiB]").contains(65536));
}

TEST(IntervalParse, InfContainsEverythingWhateverTheBracket) {
  for (const char* text : {"[1, inf)", "[1, inf]", "(0, inf)"}) {
    const Interval interval = must_parse(text);
    EXPECT_FALSE(interval.contains(0)) << text;
    EXPECT_TRUE(interval.contains(1)) << text;
    EXPECT_TRUE(interval.contains(kMost)) << text;
  }
  EXPECT_FALSE(must_parse("[0, 18446744073709551615)").contains(kMost));
  EXPECT_TRUE(must_parse("[0, 18446744073709551615]").contains(kMost));
}

TEST(IntervalParse, RefusesTheRestAndSaysWhy) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "start with"},
      {"[", "start with"},
      {"1MiB", "start with"},
      {"[1, 2", "start with"},
      {"1, 2]", "start with"},
      {"]1, 2[", "start with"},
      {"[1]", "one comma"},
      {"[1, 2, 3]", "one comma"},
      {"[]", "one comma"},
      {"[, 2]", "the lower end"},
      {"[1, ]", "the upper end"},
      {"[x, 2]", "the lower end"},
      {"[inf, inf)", "the lower end"},
      {"[-1, 2]", "the lower end"},
      {"[1, 2XiB]", "the upper end"},
      {"[1, INF)", "the upper end"},
      {"[2, 1]", "no number"},
      {"[1, 1)", "no number"},
      {"(1, 1]", "no number"},
      {"(1, 2)", "no number"},
      {"[0, 0)", "no number"},
      {"(18446744073709551615, inf)", "no number"}};
  for (const auto& [text, reason] : cases) {
    const auto interval = parse_interval(text);
    ASSERT_FALSE(interval) << text;
    EXPECT_NE(interval.error().what.find(reason), std::string::npos) << interval.error().what;
    EXPECT_NE(interval.error().what.find("[1MiB, inf)"), std::string::npos) << "no example";
  }
}

TEST(IntervalProperty, FormattedIntervalsAndBoundsAgreeWithContains) {
  std::mt19937_64 random(test::property_seed());
  for (int i = 0; i < 3000; ++i) {
    Interval interval;
    interval.low = random() >> test::pick(random, 0, 63);
    interval.high = test::pick(random, 0, 3) == 0 ? kMost : random() >> test::pick(random, 0, 63);
    interval.low_open = test::pick(random, 0, 1) != 0;
    interval.high_open = test::pick(random, 0, 1) != 0;
    const auto bounds = inclusive_bounds(interval);
    const auto back = parse_interval(format_interval(interval));
    ASSERT_EQ(back.has_value(), bounds.has_value()) << format_interval(interval);
    for (const uint64_t edge : {interval.low, interval.high}) {
      for (const uint64_t v : {edge - 1, edge, edge + 1}) {
        const bool inside = bounds && bounds->first <= v && v <= bounds->last;
        EXPECT_EQ(interval.contains(v), inside) << format_interval(interval) << " " << v;
        if (back) {
          EXPECT_EQ(back->contains(v), inside) << format_interval(interval) << " " << v;
        }
      }
    }
  }
}

}  // namespace
}  // namespace braid::config
