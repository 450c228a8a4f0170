#include "graph/passes/pass_functions.h"

namespace frit::graph {

// Adding a pass is one file, one declaration in pass_functions.h and one row here, with the reason for its
// place.
std::span<const PassRow> pass_table() {
  static constexpr PassRow kTable[] = {
      {"eliminate_dead", eliminate_dead,
       "drops what no output reads, so that no other pass spends time on it"},
      {"fold_constants", fold_constants,
       "computes small constants and shapes; first of all, since whole chains of shape arithmetic end here"},
      {"resolve_shapes", resolve_shapes,
       "drops operands that only carried shapes; needs their contents, so it follows the folding"},
      {"decompose", decompose, "takes composites apart, so that all later passes see one set of primitives"},
      {"simplify_views", simplify_views,
       "merges and drops index maps; before the arithmetic, whose rules look at direct operands"},
      {"simplify_algebra", simplify_algebra, "drops and merges arithmetic that does nothing"},
      {"unify_spellings", unify_spellings,
       "one spelling per meaning; after the simplifications, so that it finds its patterns bare"},
      {"fold_into_weights", fold_into_weights,
       "moves scales and shifts into weights; after spelling put constants on the right"},
      {"cancel_views", cancel_views,
       "cancels index maps across pointwise and row-wise work, once chains are short"},
      {"merge_common", merge_common,
       "computes equal things once; late, when equal things are spelled equally"},
      {"order_nodes", order_nodes, "the canonical order; last, as every other pass may disturb it"},
  };
  return kTable;
}

std::vector<RuleTable> rule_tables() {
  return {{"simplify_views", view_rules()},
          {"simplify_algebra", algebra_rules()},
          {"unify_spellings", spelling_rules()},
          {"fold_into_weights", weight_rules()}};
}

}  // namespace frit::graph
