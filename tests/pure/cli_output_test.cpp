// Texts: escaping, tables, numbers, bars, result files.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "cli/compare/result_file.hpp"
#include "cli/doctor/system_hints.hpp"
#include "cli/format.hpp"
#include "cli/json_output.hpp"
#include "cli/report/bars.hpp"
#include "cli/report/escape.hpp"
#include "cli/text_table.hpp"
#include "cli_test_support.hpp"

namespace braid::cli {
namespace {

TEST(Escape, HtmlSpecialCharactersAndControlCharacters) {
  EXPECT_EQ(escape_html("<a href=\"x\">'&'</a>"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
  EXPECT_EQ(escape_html(std::string("a\0b\x1b", 4)),
            "a\xef\xbf\xbd"
            "b\xef\xbf\xbd");
  EXPECT_EQ(escape_html("tab\tline\n"), "tab\tline\n");
}

TEST(Escape, JsonInsideAScriptCannotEndIt) {
  const std::string json = Json{{"name", "</script><!--<script>"}}.dump();
  const std::string escaped = escape_script_json(json);
  EXPECT_EQ(escaped.find('<'), std::string::npos);
  EXPECT_EQ(Json::parse(escaped), Json::parse(json));
}

TEST(TextTable, AlignsByCodePoints) {
  TextTable table({{"name"}, {"time", true}});
  table.add_row({"a", "9 µs"});
  table.add_row({"longer", "1234 µs"});
  EXPECT_EQ(table.text(1), " name       time\n a          9 µs\n longer  1234 µs\n");
}

TEST(Format, Numbers) {
  EXPECT_EQ(format_bytes(64ull << 20), "64MiB");
  EXPECT_EQ(format_bytes(1536), "1.50KiB");
  EXPECT_EQ(format_bytes(100), "100B");
  EXPECT_EQ(format_time(12.34), "12.3 µs");
  EXPECT_EQ(format_time(12345), "12.35 ms");
  EXPECT_EQ(quote_command({"./a", "x y", "it's", ""}), "./a 'x y' 'it'\\''s' ''");
}

TEST(Bars, AxisIsRoundAndCoversTheValue) {
  for (const double value : {0.3, 1.0, 7.5, 19.0, 101.0, 8765.0, 1e6}) {
    const AxisScale axis = axis_scale(value);
    EXPECT_GE(axis.end * (1 + 1e-9), value);
    EXPECT_LE(axis.end, value * 2.01);
    EXPECT_NEAR(std::round(axis.end / axis.tick), axis.end / axis.tick, 1e-6);
    EXPECT_LE(axis.end / axis.tick, 8.001);
  }
}

TEST(Bars, LabelsAreEscapedAndFailuresShown) {
  const std::string svg =
      bars_svg({{"<b>", 10, 9, 11, "1.0×", false, ""}, {"bad", 0, 0, 0, "", false, "failed: <x>"}});
  EXPECT_EQ(svg.find("<b>"), std::string::npos);
  EXPECT_NE(svg.find("&lt;b&gt;"), std::string::npos);
  EXPECT_NE(svg.find("failed: &lt;x&gt;"), std::string::npos);
}

TEST(ResultFile, ReadsTypeBehindTheColon) {
  EXPECT_EQ(parse_result_file("out.bin")->type, NumberType::kF32);
  EXPECT_EQ(parse_result_file("out.bin:bf16")->type, NumberType::kBf16);
  EXPECT_EQ(parse_result_file("out.bin:bf16")->path, "out.bin");
  EXPECT_EQ(parse_result_file("dir:x/out")->path, "dir:x/out");
  EXPECT_FALSE(parse_result_file("out.bin:int3"));
  EXPECT_FALSE(parse_result_file(":f32"));
}

template <typename T>
std::string raw(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

TEST(ResultFile, DecodesHalfAndBfloat) {
  const std::vector<double> halves =
      decode_numbers(raw<uint16_t>({0x3c00, 0xc000, 0x0001, 0x7c00}), NumberType::kF16);
  EXPECT_EQ(halves[0], 1.0);
  EXPECT_EQ(halves[1], -2.0);
  EXPECT_EQ(halves[2], std::ldexp(1.0, -24));
  EXPECT_TRUE(std::isinf(halves[3]));
  EXPECT_EQ(decode_numbers(raw<uint16_t>({0x3f80, 0xc040}), NumberType::kBf16),
            (std::vector<double>{1.0, -3.0}));
}

TEST(ResultFile, LargestDifference) {
  TemporaryFolder folder;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::string a = folder.write("a", raw<float>({1, 2, nan}));
  const std::string b = folder.write("b", raw<float>({1, 2.5f, nan}));
  const std::string c = folder.write("c", raw<float>({1, nan, nan}));
  EXPECT_EQ(*max_abs_difference(a, a, NumberType::kF32), 0.0);
  EXPECT_EQ(*max_abs_difference(a, b, NumberType::kF32), 0.5);
  EXPECT_TRUE(std::isinf(*max_abs_difference(a, c, NumberType::kF32)));
  EXPECT_FALSE(max_abs_difference(a, folder.write("d", "short"), NumberType::kF32));
  EXPECT_FALSE(max_abs_difference(a, folder.path() + "/none", NumberType::kF32));
  const std::string odd = folder.write("odd", "123");
  EXPECT_FALSE(max_abs_difference(odd, odd, NumberType::kF32));
}

TEST(ResultFile, StampChangesWhenTheFileIsWritten) {
  TemporaryFolder folder;
  EXPECT_FALSE(stamp_of(folder.path() + "/r"));
  const std::string path = folder.write("r", "abcd");
  const auto before = stamp_of(path);
  EXPECT_EQ(before, stamp_of(path));
  folder.write("r", "abcdefgh");
  EXPECT_NE(before, stamp_of(path));
}

TEST(JsonOutput, BadOutputPathsAreSeenBefore) {
  TemporaryFolder folder;
  EXPECT_TRUE(check_writable(folder.path() + "/new.json"));
  EXPECT_FALSE(check_writable(folder.path()));
  EXPECT_FALSE(check_writable(folder.path() + "/none/new.json"));
}

TEST(SystemHints, ReadsAccessControlFromConfigurationSpace) {
  std::string space(4096, '\0');
  EXPECT_EQ(acs_state(space.substr(0, 64)), AcsState::kUnreadable);
  EXPECT_EQ(acs_state(space), AcsState::kAbsent);
  // 0x100: some other capability whose next one, at 0x140, is access control.
  space[0x100] = 0x01;
  space[0x102] = 0x01;
  space[0x103] = 0x14;
  space[0x140] = 0x0d;
  EXPECT_EQ(acs_state(space), AcsState::kOff);
  space[0x146] = 0x0c;
  EXPECT_EQ(acs_state(space), AcsState::kRedirects);
  // A list that points at itself ends.
  space[0x140] = 0x02;
  space[0x143] = 0x14;
  EXPECT_EQ(acs_state(space), AcsState::kAbsent);
}

}  // namespace
}  // namespace braid::cli
