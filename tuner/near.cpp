#include "tuner/near.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"

namespace frit::tuner {
namespace {

double log_ratio(double a, double b) { return std::fabs(std::log2(a + 1) - std::log2(b + 1)); }

// The shapes of a group repeat in its text, so each pair counts once.
double size_distance(std::string_view ours, std::string_view theirs) {
  const std::vector<int64_t> a = sizes_in(ours), b = sizes_in(theirs);
  if (a.size() != b.size()) return 16;
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) pairs.push_back({a[i], b[i]});
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  double sum = 0;
  for (const auto& [x, y] : pairs) sum += log_ratio(static_cast<double>(x), static_cast<double>(y));
  return sum;
}

// Numbers are compared by ratio; a text that is no number costs as much as a doubling.
double count_distance(const std::string& ours, const std::string& theirs) {
  const auto a = base::parse_number<int64_t>(ours), b = base::parse_number<int64_t>(theirs);
  if (!a || !b || *a < 0 || *b < 0) return 1;
  return std::fabs(std::log2(static_cast<double>(std::max<int64_t>(*a, 1))) -
                   std::log2(static_cast<double>(std::max<int64_t>(*b, 1))));
}

struct Price {
  std::string_view name;
  double price;
};
constexpr Price kPrices[] = {{"features", 4},     {"cpu_vendor", 1.5}, {"cpu_family", 0.75},
                             {"cpu_model", 0.25}, {"objective", 1},    {"shared_cores", 0.5}};

double price_of(const Difference& it) {
  if (it.name == "group") return size_distance(it.ours, it.theirs);
  if (it.name == "threads" || it.name == "multiprocessors") return count_distance(it.ours, it.theirs);
  if (it.name == "instances") return 0.5 * count_distance(it.ours, it.theirs);
  for (const Price& row : kPrices) {
    if (row.name == it.name) return row.price;
  }
  return 1;
}

}  // namespace

double key_distance(const std::vector<Ingredient>& ours, const std::vector<Ingredient>& theirs) {
  double sum = 0;
  for (const Difference& it : diff(ours, theirs)) sum += price_of(it);
  return sum;
}

double provenance_distance(const Provenance& here, const Provenance& there) {
  if (here.empty()) return 0;
  size_t differing = 0;
  for (const Ingredient& it : here) differing += std::find(there.begin(), there.end(), it) == there.end();
  return 0.5 * static_cast<double>(differing) / static_cast<double>(here.size());
}

}  // namespace frit::tuner
