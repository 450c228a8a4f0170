// Packs: one form per content, a merge that does not depend on its order, and nothing believed that does not
// verify.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/fault_vfs.h"
#include "support/store_testing.h"
#include "tuner/base64.h"
#include "tuner/pack.h"

namespace frit::tuner {
namespace {

class StorePack : public testing::Test {
 protected:
  std::unique_ptr<Store> memory() { return world_.open(StoreOptions()); }
  static std::string exported(Store& store, bool objects = false) {
    auto text = store.export_text({.objects = objects});
    EXPECT_TRUE(text.ok());
    return text.ok() ? *text : std::string();
  }
  static void put(Store& store, int m, const Decision& decision) {
    ASSERT_TRUE(store.put_decision(matmul_key(m), decision).ok());
  }
  static void put_plan(Store& store, const std::string& text, int64_t samples = 1) {
    PlanRecord plan;
    plan.version = 1;
    plan.text = text;
    plan.evidence.samples = samples;
    ASSERT_TRUE(store.put_plan(graph_key("graph"), plan).ok());
  }
  static ImportReport import(Store& store, const std::string& text, const ImportOptions& options = {}) {
    auto report = store.import_text(text, options);
    EXPECT_TRUE(report.ok()) << report.error().text();
    return report.ok() ? *std::move(report) : ImportReport();
  }
  // A pack with these lines and a manifest that fits them.
  static std::string pack_of(const std::string& body) {
    return base::text_of("{\"frit_pack\":1,\"content\":\"", base::hash128(body).hex(), "\"}\n", body);
  }

  TempFolder folder_;
  World world_;
};

TEST_F(StorePack, SameContentSameBytes) {
  auto a = memory(), b = memory();
  for (int m : {1, 2, 3, 4, 5}) put(*a, m, decision_of(State::kTuned));
  put_plan(*a, "p");
  put_plan(*b, "p");
  ASSERT_TRUE(a->put_object(object_key("c"), object_of("bytes")).ok());
  ASSERT_TRUE(b->put_object(object_key("c"), object_of("bytes")).ok());
  for (int m : {4, 2, 5, 1, 3}) {
    put(*b, m, decision_of(State::kHeuristic, "old"));
    put(*b, m, decision_of(State::kTuned));
  }
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(b->put_trial(matmul_key(1), trial_of(i)).ok());
  b->get_decision(matmul_key(1));
  EXPECT_EQ(exported(*a), exported(*b));
  EXPECT_EQ(exported(*a, true), exported(*b, true));
  EXPECT_NE(exported(*a), exported(*a, true));
  // From a file too, and after a round through a pack.
  auto c = world_.open(folder_ / "cache.db");
  import(*c, exported(*a, true), {.trust_objects = true, .here = {}});
  EXPECT_EQ(exported(*c, true), exported(*a, true));
  ASSERT_TRUE(c->export_to(folder_ / "x.pack", {.objects = true}).ok());
  EXPECT_EQ(file_bytes(folder_ / "x.pack"), exported(*a, true));
}

TEST_F(StorePack, MeasurementsDoNotChangeTheHashOfTheChoices) {
  auto a = memory(), b = memory();
  put(*a, 1, decision_of(State::kTuned, "x=1", 10));
  put(*b, 1, decision_of(State::kTuned, "x=1", 99));
  ExportReport ra, rb;
  ASSERT_TRUE(a->export_text({}, &ra).ok() && b->export_text({}, &rb).ok());
  EXPECT_EQ(ra.choices, rb.choices);
  EXPECT_NE(ra.content, rb.content);
  put(*b, 1, decision_of(State::kTuned, "x=2", 99));
  ASSERT_TRUE(b->export_text({}, &rb).ok());
  EXPECT_NE(ra.choices, rb.choices);
}

TEST_F(StorePack, ImportSaysWhatHappenedToEachEntry) {
  auto from = memory(), to = memory();
  put(*from, 1, decision_of(State::kTuned, "x=1", 50));
  put(*from, 2, decision_of(State::kTuned, "x=2", 50));
  put(*from, 3, decision_of(State::kHeuristic, "x=3"));
  put(*from, 4, decision_of(State::kTuned, "x=4", 10));
  put(*to, 2, decision_of(State::kPartial, "y=2", 500));
  put(*to, 3, decision_of(State::kTuned, "y=3", 50));
  put(*to, 4, decision_of(State::kTuned, "y=4", 20));
  const ImportReport report = import(*to, exported(*from));
  EXPECT_EQ(report.added, 1);
  EXPECT_EQ(report.replaced, 1);
  EXPECT_EQ(report.kept, 2);
  EXPECT_EQ(report.rejected, 0);
  ASSERT_EQ(report.entries.size(), 4u);
  const auto entry = [&](int m) {
    const std::string hash = matmul_key(m).hash().hex();
    return *std::find_if(report.entries.begin(), report.entries.end(),
                         [&](const auto& it) { return it.hash == hash; });
  };
  EXPECT_EQ(entry(1).outcome, ImportOutcome::kAdded);
  EXPECT_EQ(entry(1).label, "matmul x=1");
  EXPECT_EQ(entry(2).outcome, ImportOutcome::kReplaced);
  EXPECT_EQ(entry(2).reason, "it has a better state");
  EXPECT_EQ(entry(3).outcome, ImportOutcome::kKeptExisting);
  EXPECT_EQ(entry(4).outcome, ImportOutcome::kKeptExisting);
  EXPECT_EQ(entry(4).reason, "the existing record has more samples");
  EXPECT_EQ(to->get_decision(matmul_key(1)).decision.origin, "pack:" + report.content.hex());
  EXPECT_EQ(to->get_decision(matmul_key(2)).decision.params, "x=2");
  EXPECT_EQ(to->get_decision(matmul_key(4)).decision.params, "y=4");
  // Once more: nothing changes.
  const ImportReport again = import(*to, exported(*from));
  EXPECT_EQ(again.added + again.replaced, 0);
}

TEST_F(StorePack, MergingDoesNotDependOnTheOrder) {
  std::vector<std::string> packs;
  for (int p = 0; p < 3; ++p) {
    auto store = memory();
    for (int m = 1; m <= 6; ++m) {
      if ((m + p) % 4 == 0) continue;
      const auto state = static_cast<State>((m * 5 + p * 7) % 3);
      Decision decision = decision_of(state, base::text_of("p=", p), (m * 3 + p * 2) % 4);
      decision.provenance = {{"host", base::text_of("h", p)}};
      if (m == 5) decision.evidence = {};  // equal evidence: the content decides
      if (m == 6 && p == 2) decision.family = "conv";
      put(*store, m, decision);
    }
    put_plan(*store, base::text_of("plan ", p), p == 1 ? 1 : 2);
    packs.push_back(exported(*store));
  }
  std::vector<int> order = {0, 1, 2};
  std::string expected;
  do {
    auto merged = memory();
    for (const int p : order) import(*merged, packs[p]);
    for (const int p : order) import(*merged, packs[p]);
    // (a + b) + c and a + (b + c)
    auto inner = memory();
    import(*inner, packs[order[1]]);
    import(*inner, packs[order[2]]);
    auto outer = memory();
    import(*outer, packs[order[0]]);
    import(*outer, exported(*inner));
    if (expected.empty()) expected = exported(*merged);
    EXPECT_EQ(exported(*merged), expected);
    EXPECT_EQ(exported(*outer), expected);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(StorePack, ObjectsOnlyOnTheUsersWord) {
  auto from = memory(), to = memory();
  put(*from, 1, decision_of(State::kTuned));
  ASSERT_TRUE(from->put_object(object_key("c"), object_of("native")).ok());
  const std::string text = exported(*from, true);
  ImportReport report = import(*to, text);
  EXPECT_EQ(report.added, 1);
  EXPECT_EQ(report.rejected, 1);
  EXPECT_FALSE(to->get_object(object_key("c")).has_value());
  report = import(*to, text, {.trust_objects = true, .here = {}});
  EXPECT_EQ(report.added, 1);
  const auto object = to->get_object(object_key("c"));
  ASSERT_TRUE(object.has_value());
  EXPECT_EQ(object->bytes, "native");
  EXPECT_TRUE(object->is_trusted_import());
  EXPECT_EQ(object->origin, "trusted:" + report.content.hex());
  // A local object is not replaced by a stranger's.
  auto local = memory();
  ASSERT_TRUE(local->put_object(object_key("c"), object_of("mine")).ok());
  report = import(*local, text, {.trust_objects = true, .here = {}});
  EXPECT_EQ(report.kept, 1);
  EXPECT_EQ(local->get_object(object_key("c"))->bytes, "mine");
}

TEST_F(StorePack, RecordsOfTwoArchitecturesStayApart) {
  auto a = memory(), b = memory(), merged = memory();
  TargetParts arm = zen4();
  arm.arch = "aarch64";
  const Key arm_key = key_of(matmul_text(1, 64, 64), {}, arm);
  put(*a, 1, decision_of(State::kTuned, "x86=1"));
  ASSERT_TRUE(b->put_decision(arm_key, decision_of(State::kTuned, "arm=1")).ok());
  import(*merged, exported(*a));
  const ImportReport report =
      import(*merged, exported(*b), {.trust_objects = false, .here = matmul_key(1).ingredients()});
  EXPECT_EQ(merged->get_decision(matmul_key(1)).decision.params, "x86=1");
  EXPECT_EQ(merged->get_decision(arm_key).decision.params, "arm=1");
  // Another shape near one is never near the other.
  EXPECT_EQ(merged->get_decision(matmul_key(2)).decision.params, "x86=1");
  // The import said that this record cannot hit here.
  ASSERT_EQ(report.entries.size(), 1u);
  ASSERT_EQ(report.entries[0].differing.size(), 1u);
  EXPECT_EQ(report.entries[0].differing[0], (Difference{"arch", "x86_64", "aarch64"}));
}

TEST_F(StorePack, ADamagedPackIsRefusedAsAWhole) {
  auto from = memory(), to = memory();
  for (int m = 1; m < 4; ++m) put(*from, m, decision_of(State::kTuned));
  put_plan(*from, "plan");
  const std::string good = exported(*from);
  const size_t body = good.find('\n') + 1;
  for (size_t at = body; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] ^= 1;
    const auto report = to->import_text(bad, {});
    ASSERT_FALSE(report.ok()) << at;
    EXPECT_EQ(report.error().code, Code::kCorrupt);
  }
  for (size_t length = 0; length < good.size(); length += 7) {
    EXPECT_FALSE(to->import_text(good.substr(0, length), {}).ok()) << length;
  }
  for (const char* text :
       {"", "\n", "hello\n", "[]\n", "{}\n", "{\"frit_pack\":\"x\"}\n", "{\"frit_pack\":1}\n",
        "{\"frit_pack\":1,\"content\":7}\n", "{\"frit_pack\":0,\"content\":\"\"}\n"}) {
    EXPECT_FALSE(to->import_text(text, {}).ok()) << text;
  }
  const auto newer = to->import_text("{\"frit_pack\":2,\"content\":\"\"}\n", {});
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.error().code, Code::kUnsupported);
  EXPECT_EQ(to->stats().decisions, 0);
  EXPECT_EQ(import(*to, good).added, 4);
  EXPECT_FALSE(to->import_from(folder_ / "missing", {}).ok());
}

TEST_F(StorePack, AnEntryThatCannotBeReadCostsOnlyItself) {
  auto from = memory(), to = memory();
  put(*from, 1, decision_of(State::kTuned));
  put(*from, 2, decision_of(State::kTuned));
  ASSERT_TRUE(from->put_object(object_key("c"), object_of("native")).ok());
  const std::string good = exported(*from, true);
  const std::string body = good.substr(good.find('\n') + 1);
  const auto with = [&](const std::string& what, const std::string& by) {
    std::string out = body;
    const size_t at = out.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    out.replace(at, what.size(), by);
    return out;
  };
  for (const std::string& bad :
       {with("\"record\":\"decision\"", "\"record\":\"wish\""), with("\"version\":3", "\"version\":-3"),
        with("\"version\":3", "\"version\":99999999999"), with("\"state\":\"tuned\"", "\"state\":2"),
        with("\"state\":\"tuned\"", "\"state\":\"best\""), with("\"family\":\"matmul\"", "\"family\":\"\""),
        with("\"params\":", "\"parms\":"), with("\"key\":[[", "\"key\":[[[],"),
        with("matmul %0", "matmul %1"), with("\"created\":1", "\"created\":1e30,\"x\":1"),
        with("[\"host\",", "[\"Host\","), with("\"bytes\":\"", "\"bytes\":\"AAAA"),
        with("\"bytes\":\"", "\"bytes\":\"!"), "not json\n" + body, "\n" + body, "[1]\n" + body,
        std::string(100000, '[') + "\n" + body}) {
    auto store = memory();
    const ImportReport report = import(*store, pack_of(bad), {.trust_objects = true, .here = {}});
    EXPECT_EQ(report.rejected, 1) << bad.substr(0, 200);
    EXPECT_GE(report.added, 2) << bad.substr(0, 200);
    const auto rejected = std::find_if(report.entries.begin(), report.entries.end(),
                                       [](const auto& it) { return it.outcome == ImportOutcome::kRejected; });
    ASSERT_NE(rejected, report.entries.end());
    EXPECT_NE(rejected->reason, "");
  }
}

TEST_F(StorePack, ACacheFileCanBeImportedToo) {
  {
    auto store = world_.open(folder_ / "old.db");
    put(*store, 1, decision_of(State::kTuned));
    ASSERT_TRUE(store->put_object(object_key("c"), object_of("native")).ok());
  }
  auto to = world_.open(folder_ / "new.db");
  const auto report = to->import_from(folder_ / "old.db", {});
  ASSERT_TRUE(report.ok()) << report.error().text();
  EXPECT_EQ(report->added, 1);
  EXPECT_FALSE(to->get_object(object_key("c")).has_value());
  EXPECT_EQ(to->get_decision(matmul_key(1)).match, Match::kExact);
  // What can be read of a damaged one, up to the damage: its last pages are gone.
  {
    auto store = world_.open(folder_ / "old.db");
    for (int m = 2; m < 200; ++m) put(*store, m, decision_of(State::kTuned));
  }
  std::string bytes = file_bytes(folder_ / "old.db");
  for (size_t at = bytes.size() - 3 * 4096; at < bytes.size(); ++at) bytes[at] = '\x55';
  put_file(folder_ / "old.db.aside-1", bytes);
  const auto salvaged = to->import_from(folder_ / "old.db.aside-1", {});
  ASSERT_TRUE(salvaged.ok()) << salvaged.error().text();
  EXPECT_GT(salvaged->added, 0);
  EXPECT_LT(salvaged->added, 198);
  EXPECT_TRUE(to->verify().ok());
  put_file(folder_ / "x.db", bytes.substr(0, 5000));
  EXPECT_FALSE(to->import_from(folder_ / "x.db", {}).ok());
}

TEST_F(StorePack, AnImportGoesIntoTheFileOrNowhere) {
  auto from = memory();
  for (int m = 1; m < 60; ++m) put(*from, m, decision_of(State::kTuned));
  FaultVfs vfs("frit-fault-pack");
  StoreOptions options = World::options(folder_ / "cache.db");
  options.vfs = vfs.name();
  auto to = world_.open(options);
  put(*to, 1000, decision_of(State::kTuned));
  vfs.fail_from(2);
  const auto report = to->import_text(exported(*from), {});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, Code::kIo);
  vfs.fail_from(0);
  to.reset();
  to = world_.open(options);
  EXPECT_EQ(to->stats().decisions, 1);
  EXPECT_FALSE(from->export_to(folder_ / "no/such/folder/x.pack", {}).ok());
}

TEST(StoreBase64, ReadsBackAndIsStrict) {
  for (size_t length = 0; length < 70; ++length) {
    std::string bytes(length, '\0');
    for (size_t i = 0; i < length; ++i) bytes[i] = static_cast<char>(i * 37 + length);
    EXPECT_EQ(from_base64(base64(bytes)), bytes);
  }
  EXPECT_EQ(base64("Man"), "TWFu");
  EXPECT_EQ(base64("M"), "TQ==");
  for (const char* bad : {"T", "TQ=", "TQ=a", "=Q==", "TR==", "TWF=", "TQ==TQ==", "T Q=", "TWF\n"}) {
    EXPECT_FALSE(from_base64(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace frit::tuner
