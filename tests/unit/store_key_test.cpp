#include "tuner/key.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>

#include "base/text.h"
#include "tuner/near.h"
#include "tuner/utf8.h"

namespace frit::tuner {
namespace {

SessionParts session() { return {}; }
TargetParts target() { return {"cpu", "x86_64", "avx2 fma", "AuthenticAMD", "25", "17", ""}; }

TEST(StoreKey, EveryIngredientChangesTheKey) {
  const Key base = *decision_key("g f32[1x2]", session(), target());
  std::set<base::Hash128> hashes{base.hash()};
  const auto differs = [&](const Key& key, const std::string& name) {
    EXPECT_TRUE(hashes.insert(key.hash()).second) << name;
    const auto differences = diff(base.ingredients(), key.ingredients());
    ASSERT_EQ(differences.size(), 1u) << name;
    EXPECT_EQ(differences[0].name, name);
    EXPECT_NE(differences[0].ours, differences[0].theirs);
  };
  differs(*decision_key("g f32[2x2]", session(), target()), "group");
  const std::vector<std::pair<const char*, std::function<void(SessionParts&)>>> sessions = {
      {"numerics", [](SessionParts& s) { s.numerics = "strict"; }},
      {"objective", [](SessionParts& s) { s.objective = "throughput"; }},
      {"instances", [](SessionParts& s) { s.instances = 2; }},
      {"threads", [](SessionParts& s) { s.threads = 2; }},
      {"shared_cores", [](SessionParts& s) { s.shared_cores = true; }}};
  for (const auto& [name, change] : sessions) {
    SessionParts changed = session();
    change(changed);
    differs(*decision_key("g f32[1x2]", changed, target()), name);
  }
  const std::vector<std::pair<const char*, std::string TargetParts::*>> targets = {
      {"target", &TargetParts::target},
      {"arch", &TargetParts::arch},
      {"features", &TargetParts::features},
      {"cpu_vendor", &TargetParts::cpu_vendor},
      {"cpu_family", &TargetParts::cpu_family},
      {"cpu_model", &TargetParts::cpu_model},
      {"multiprocessors", &TargetParts::multiprocessors}};
  for (const auto& [name, member] : targets) {
    TargetParts changed = target();
    changed.*member += "x";
    differs(*decision_key("g f32[1x2]", session(), changed), name);
  }
  EXPECT_EQ(base.ingredients().size(), 1 + sessions.size() + targets.size());
  EXPECT_EQ(*decision_key("g f32[1x2]", session(), target()), base);
}

TEST(StoreKey, BinaryAndPlanKeysNameTheirIngredients) {
  const Key key = *binary_key("loops", 1, "O1", target());
  EXPECT_NE(key.hash(), binary_key("loops ", 1, "O1", target())->hash());
  EXPECT_NE(key.hash(), binary_key("loops", 2, "O1", target())->hash());
  EXPECT_NE(key.hash(), binary_key("loops", 1, "O2", target())->hash());
  TargetParts other = target();
  other.features = "avx2";
  EXPECT_NE(key.hash(), binary_key("loops", 1, "O1", other)->hash());
  // The CPU's name is not part of what a binary is.
  other = target();
  other.cpu_model = "18";
  EXPECT_EQ(key.hash(), binary_key("loops", 1, "O1", other)->hash());

  const Key plan = *plan_key(std::string(1 << 20, 'g'), session(), target());
  EXPECT_LT(plan.text().size(), 1000u);
  EXPECT_NE(plan.hash(), plan_key(std::string(1 << 20, 'h'), session(), target())->hash());
}

TEST(StoreKey, TextsThatRunIntoOneAnotherStayApart) {
  const auto key = [](std::vector<Ingredient> list) {
    return Key::make(KeyKind::kDecision, std::move(list))->hash();
  };
  EXPECT_NE(key({{"a", "b\nc 1\nd"}}), key({{"a", "b"}, {"c", "d"}}));
  EXPECT_NE(key({{"a", "12"}, {"b", "3"}}), key({{"a", "1"}, {"b", "23"}}));
  EXPECT_NE(key({{"a", ""}, {"b", "x"}}), key({{"a", "x"}, {"b", ""}}));
  EXPECT_NE(key({{"a", "x"}, {"b", "y"}}), key({{"b", "y"}, {"a", "x"}}));
}

TEST(StoreKey, TextReadsBack) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<Ingredient> list;
    for (unsigned i = random() % 6 + 1; i-- > 0;) {
      std::string value;
      for (unsigned n = random() % 40; n-- > 0;) value += "ab 0123\n\n\t\"\\"[random() % 12];
      list.push_back({base::text_of("n", i), value});
    }
    const Key key = *Key::make(KeyKind::kDecision, list);
    const auto again = Key::parse(KeyKind::kDecision, key.text());
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(*again, key);
    EXPECT_EQ(again->ingredients(), list);
    // No proper prefix that ends within an ingredient reads as a list.
    const auto cut = parse_ingredients(std::string_view(key.text()).substr(0, key.text().size() - 1));
    EXPECT_FALSE(cut.ok());
  }
}

TEST(StoreKey, RefusesWhatCannotBeKept) {
  const auto fails = [](std::vector<Ingredient> list, const char* part) {
    const auto key = Key::make(KeyKind::kDecision, std::move(list));
    ASSERT_FALSE(key.ok());
    EXPECT_NE(key.error().message.find(part), std::string::npos) << key.error().message;
  };
  fails({}, "no ingredients");
  fails({{"", "x"}}, "lower-case");
  fails({{"Group", "x"}}, "lower-case");
  fails({{"a b", "x"}}, "lower-case");
  fails({{"a", "x"}, {"a", "y"}}, "twice");
  fails({{"a", "\xff"}}, "UTF-8");
  for (const char* text :
       {"a", "a 1", "a 1\n", "a 1\nxy", "a 01\nx\n", "a -1\nx\n", "a 99999999999999999999\nx\n",
        "a 18446744073709551615\nx\n", "a 5\nx\n", " 1\nx\n"}) {
    EXPECT_FALSE(parse_ingredients(text).ok()) << text;
  }
}

TEST(StoreKey, ShapeFreeKeepsNamesAndErasesSizes) {
  EXPECT_EQ(shape_free("%12 = conv %3 f32[1x64x56x56] pad=1,-2 bf16"),
            "%12 = conv %3 f32[#x#x#x#] pad=#,-# bf16");
  EXPECT_EQ(shape_free(""), "");
  EXPECT_EQ(shape_free("0"), "#");
  EXPECT_EQ(sizes_in("%12 f32[1x64] k=3"), (std::vector<int64_t>{1, 64, 3}));
  EXPECT_EQ(sizes_in("99999999999999999999"), std::vector<int64_t>{INT64_MAX});
}

TEST(StoreKey, KinIsSameProblemOfAnotherSize) {
  const Key key = *decision_key("%0 f32[4x4]", session(), target());
  EXPECT_EQ(key.kin(), decision_key("%0 f32[8x4]", session(), target())->kin());
  EXPECT_NE(key.kin(), decision_key("%1 f32[4x4]", session(), target())->kin());
  EXPECT_NE(key.kin(), decision_key("%0 f16[4x4]", session(), target())->kin());
  SessionParts strict = session();
  strict.numerics = "strict";
  EXPECT_NE(key.kin(), decision_key("%0 f32[4x4]", strict, target())->kin());
  SessionParts threads = session();
  threads.threads = 8;
  EXPECT_EQ(key.kin(), decision_key("%0 f32[4x4]", threads, target())->kin());
  TargetParts arm = target();
  arm.arch = "aarch64";
  EXPECT_NE(key.kin(), decision_key("%0 f32[4x4]", session(), arm)->kin());
  // A plan is near only for the same graph.
  EXPECT_NE(plan_key("%0 f32[4x4]", session(), target())->kin(),
            plan_key("%0 f32[8x4]", session(), target())->kin());
}

TEST(StoreKey, DistanceOrdersNearRecords) {
  const auto key = [](int m, int threads, const char* features, const char* model) {
    SessionParts s;
    s.threads = threads;
    TargetParts t = target();
    t.features = features;
    t.cpu_model = model;
    return decision_key(base::text_of("f32[", m, "x64] f32[", m, "x64]"), s, t)->ingredients();
  };
  const auto ours = key(64, 1, "avx2", "1");
  const auto distance = [&](int m, int threads, const char* features, const char* model) {
    return key_distance(ours, key(m, threads, features, model));
  };
  EXPECT_EQ(distance(64, 1, "avx2", "1"), 0);
  EXPECT_LT(distance(64, 1, "avx2", "2"), distance(64, 2, "avx2", "1"));
  EXPECT_LT(distance(65, 1, "avx2", "1"), distance(128, 1, "avx2", "1"));
  EXPECT_LT(distance(128, 1, "avx2", "1"), kUsableDistance);
  EXPECT_GT(distance(1024, 1, "avx2", "1"), kUsableDistance);
  EXPECT_GT(distance(64, 1, "avx512", "1"), kUsableDistance);
  EXPECT_EQ(provenance_distance({}, {{"a", "1"}}), 0);
  EXPECT_EQ(provenance_distance({{"a", "1"}, {"b", "2"}}, {{"b", "2"}}), 0.25);
}

TEST(StoreKey, Utf8) {
  for (const char* good : {"", "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"})
    EXPECT_TRUE(is_utf8(good)) << good;
  for (const char* bad : {"\x80", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                          "\xf8\x88\x80\x80\x80", "\xe0\x80\x80", "\xf0\x80\x80\x80", "\xc3("}) {
    EXPECT_FALSE(is_utf8(bad));
  }
}

}  // namespace
}  // namespace frit::tuner
