// Dim: canonical forms, text, and the decisions shape rules take.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "graph/dim.h"

namespace frit::graph {
namespace {

Dim sym(const char* name) { return Dim::symbol(name); }
const Dim s = sym("s"), t = sym("t"), h = sym("h");

TEST(Dim, EqualExpressionsAreEqual) {
  EXPECT_EQ((s + 1) - 1, s);
  EXPECT_EQ(floor_div(Dim(2) * s, 2), s);
  EXPECT_EQ(s * t, t * s);
  EXPECT_EQ((s + t) * (s - t), s * s - t * t);
  EXPECT_EQ(s - s, Dim(0));
  EXPECT_TRUE((s - s).is_constant());
  EXPECT_EQ(floor_div(s * h * 12, s * 12), h);
  EXPECT_EQ(floor_div((s + t) * h, s + t), h);
  EXPECT_EQ(floor_div((s + t) * (h + 3), h + 3), s + t);
  EXPECT_NE(s, t);
  EXPECT_NE(floor_div(s, 2) * 2, s);
}

TEST(Dim, FloorDivision) {
  EXPECT_EQ(floor_div(Dim(7), 2), Dim(3));
  EXPECT_EQ(floor_div(Dim(-7), 2), Dim(-4));
  EXPECT_EQ(floor_div(Dim(7), -2), Dim(-4));
  EXPECT_EQ(floor_div(Dim(7), 0), Dim(0));
  EXPECT_EQ(floor_div(Dim(std::numeric_limits<int64_t>::min()), -1),
            Dim(std::numeric_limits<int64_t>::min()));
  EXPECT_EQ(floor_div(floor_div(s, 2), 3), floor_div(s, 6));
  EXPECT_EQ(floor_div(floor_div(s - 1, 2) + 1 - 1, 2), floor_div(s - 1, 4));
  EXPECT_EQ(floor_div(Dim(4) * s + 6, 8), floor_div(Dim(2) * s + 3, 4));
  EXPECT_EQ(floor_div(Dim(2) * s + 1, 2), s);
  EXPECT_EQ(ceil_div(s, 2), floor_div(s + 1, 2));
  EXPECT_EQ(ceil_div(Dim(7), 2), Dim(4));
  EXPECT_EQ(ceil_div(Dim(-7), 2), Dim(-3));
  EXPECT_EQ(mod(Dim(6) * s, 3), Dim(0));
  EXPECT_EQ(mod(Dim(-7), 3), Dim(2));
  EXPECT_EQ(floor_div(Dim(2) * s * h, Dim(4) * h), floor_div(s, 2));
  EXPECT_EQ(floor_div(Dim(0), s), Dim(0));
}

TEST(Dim, MinAndMaxUseThatSizesAreNotNegative) {
  EXPECT_EQ(min(s, s + t), s);
  EXPECT_EQ(max(s, s + t), s + t);
  EXPECT_EQ(max(s, 0), s);
  EXPECT_EQ(min(min(s, t), h), min(h, min(t, s)));
  EXPECT_EQ(max(s, min(s, t)), s);
  EXPECT_EQ(min(s, max(s, t)), s);
  EXPECT_EQ(min(Dim(3), 5), Dim(3));
  EXPECT_FALSE(max(s - 1, 0).is_constant());
  EXPECT_EQ(max(s - 1, 0).bind({{"s", 0}}), Dim(0));
  EXPECT_EQ(max(s, max(s, t)), max(s, t));
}

TEST(Dim, Decisions) {
  EXPECT_EQ(decide_less(s, s + 1), true);
  EXPECT_EQ(decide_less(s + 1, s), false);
  EXPECT_EQ(decide_less(s, s), false);
  EXPECT_EQ(decide_less(s, t), std::nullopt);
  EXPECT_EQ(decide_equal(s, -1), false);
  EXPECT_EQ(decide_equal(s, 1), std::nullopt);
  EXPECT_EQ(decide_equal(s + t, t + s), true);
  EXPECT_TRUE(is_non_negative(floor_div(s + 3, 2) * t));
  EXPECT_FALSE(is_non_negative(s - 1));
  EXPECT_TRUE(is_non_negative(s - min(s, t)));
  EXPECT_TRUE(is_non_negative(s - max(s - 1, 0)));
  EXPECT_TRUE(is_non_negative(min(s + t, 1024) - min(t, 1024)));
  EXPECT_FALSE(is_non_negative(min(s, t) - min(s, 4)));
}

TEST(Dim, Text) {
  EXPECT_EQ(Dim(128).text(), "128");
  EXPECT_EQ(sym("seq").text(), "seq");
  EXPECT_EQ((sym("past") + 1).text(), "(past+1)");
  EXPECT_EQ(floor_div(Dim(2) * sym("seq") + 1, 3).text(), "(2*seq+1)/3");
  EXPECT_EQ((Dim(2) * floor_div(s, 2)).text(), "2*(s/2)");
  EXPECT_EQ((s - t).text(), "(s-t)");
  EXPECT_EQ(max(s - 1, 0).text(), "max(0,(s-1))");
  EXPECT_EQ(sym("batch size").text(), "\"batch size\"");
  EXPECT_EQ(shape_text({1, sym("seq"), 768}), "[1,seq,768]");
  EXPECT_EQ(shape_text({}), "[]");
}

TEST(Dim, ParseReadsWhatExportersWrite) {
  EXPECT_EQ(*Dim::parse("past_sequence_length + 1"), sym("past_sequence_length") + 1);
  EXPECT_EQ(*Dim::parse("-s*2"), Dim(-2) * s);
  EXPECT_EQ(*Dim::parse("s/2*2"), floor_div(s, 2) * 2);
  EXPECT_EQ(*Dim::parse("-7/2"), Dim(-4));
  EXPECT_EQ(*Dim::parse("min(s, t, 4)"), min(min(s, t), 4));
  EXPECT_EQ(*Dim::parse("min"), sym("min"));
  EXPECT_EQ(*Dim::parse("?12"), sym("?12"));
  EXPECT_EQ(*Dim::parse("-9223372036854775808"), Dim(std::numeric_limits<int64_t>::min()));
  EXPECT_EQ(*Dim::parse("7%4"), Dim(3));
}

TEST(Dim, ParseRefusesNonsense) {
  for (const char* text : {"", "(", "s+", "s t", "1/0", "min(s", "max()", "99999999999999999999", "\"open",
                           "\"\\q\"", "s)", "*s", "s//2", "\x01"}) {
    EXPECT_FALSE(Dim::parse(text).ok()) << text;
  }
  EXPECT_FALSE(Dim::parse(std::string(100000, '(')).ok());
  EXPECT_FALSE(Dim::parse(std::string(100000, '-')).ok());
  EXPECT_NE(Dim::parse("s t").error().message.find("unexpected 't'"), std::string::npos);
}

TEST(Dim, OddNamesRoundTrip) {
  for (const char* name : {"batch size", "a\"b\\c", "\n\x7f", "3d", "", "größe", "a+b", "min"}) {
    const Dim d = sym(name) * 2 + 1;
    auto parsed = Dim::parse(d.text());
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    EXPECT_EQ(*parsed, d) << d.text();
  }
}

TEST(Dim, HostileExpressionsStaySmall) {
  Dim product(1), twin(1);
  for (int i = 0; i < 40; ++i) product = product * (sym(("a" + std::to_string(i)).c_str()) + 1);
  for (int i = 0; i < 40; ++i) twin = twin * (sym(("a" + std::to_string(i)).c_str()) + 1);
  EXPECT_EQ(product, twin);
  Dim square = s;
  for (int i = 0; i < 100; ++i) square = square * square + max(square, t);
  EXPECT_LT(product.text().size(), 5000u);
  EXPECT_EQ(*Dim::parse(square.text()), square);
  EXPECT_EQ(Dim(std::numeric_limits<int64_t>::max()) + 1, Dim(std::numeric_limits<int64_t>::min()));
}

TEST(Dim, SymbolsAndShapes) {
  std::vector<std::string> symbols;
  (s * t + max(h, 3) - floor_div(s, t)).collect_symbols(symbols);
  std::sort(symbols.begin(), symbols.end());
  EXPECT_EQ(symbols, (std::vector<std::string>{"h", "s", "t"}));
  EXPECT_EQ(element_count({2, s, 3}), s * 6);
  EXPECT_EQ(element_count({}), Dim(1));
  EXPECT_FALSE(constant_shape({2, s}).has_value());
  EXPECT_EQ(*constant_shape({2, 0}), (std::vector<int64_t>{2, 0}));
  EXPECT_EQ((s + t).bind({{"s", 4}}), t + 4);
}

}  // namespace
}  // namespace frit::graph
