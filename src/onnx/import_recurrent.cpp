// Recurrent layers.
#include <algorithm>

#include "base/text.h"
#include "onnx/importers.h"

namespace frit::onnx {
namespace {

using base::quoted;
using base::text_of;

std::string lower(Bytes text) {
  std::string out(text);
  for (char& ch : out)
    if (ch >= 'A' && ch <= 'Z') ch = static_cast<char>(ch - 'A' + 'a');
  return out;
}

std::optional<graph::Direction> read_direction(NodeContext& c) {
  const std::string direction = c.attr_string("direction", "forward");
  if (direction == "forward") return graph::Direction::kForward;
  if (direction == "reverse") return graph::Direction::kReverse;
  if (direction == "bidirectional") return graph::Direction::kBidirectional;
  c.fail("direction is " + quoted(direction) + ", expected \"forward\", \"reverse\" or \"bidirectional\"");
  return std::nullopt;
}

// Only the default activations have a graph op; they may be spelled out in the model.
void expect_default_activations(NodeContext& c, size_t directions) {
  const AttributeView* given = c.attr("activations");
  if (given == nullptr || given->strings.empty()) return;
  if (given->strings.size() != 3 * directions)
    return c.fail(text_of("activations has ", given->strings.size(), " values, expected ", 3 * directions));
  constexpr std::string_view kDefault[] = {"sigmoid", "tanh", "tanh"};
  for (size_t i = 0; i < given->strings.size(); ++i)
    if (lower(given->strings[i]) != kDefault[i % 3])
      return c.unsupported(text_of("activation ", quoted(given->strings[i]), " is not supported, expected ",
                                   quoted(kDefault[i % 3])));
}

}  // namespace

void import_lstm(NodeContext& c) {
  const auto direction = read_direction(c);
  if (!direction) return;
  const size_t directions = *direction == graph::Direction::kBidirectional ? 2 : 1;
  expect_default_activations(c, directions);
  if (!c.expect_rank(c.in(0), 3, 3, "X") || !c.expect_rank(c.in(1), 3, 3, "W") ||
      !c.expect_rank(c.in(2), 3, 3, "R"))
    return;
  const int64_t hidden = c.known_dim(c.in(2), 2, "the hidden size");
  if (c.attr_int("hidden_size", hidden) != hidden)
    return c.fail(text_of("hidden_size is ", c.attr_int("hidden_size", 0), ", but R is ",
                          graph::type_text(c.type(c.in(2)))));
  const int64_t layout = c.attr_int("layout", 0);
  if (layout != 0 && layout != 1) return c.fail(text_of("layout is ", layout, ", expected 0 or 1"));

  std::vector<ValueId> inputs;
  for (size_t i = 0; i < c.input_count(); ++i) inputs.push_back(c.in(i));
  if (layout == 1) {  // batch first
    for (size_t i : {size_t{0}, size_t{5}, size_t{6}})
      if (i < inputs.size() && inputs[i] != kNoValue && c.expect_rank(inputs[i], 3, 3, "input"))
        inputs[i] = c.transpose(inputs[i], {1, 0, 2});
  }
  while (inputs.back() == kNoValue) inputs.pop_back();
  const graph::Lstm op{hidden, *direction, c.attr_int("input_forget", 0) != 0, c.attr_float("clip", 0)};
  const auto outs = c.emit_many(op, inputs, 3);
  for (size_t i = 0; i < 3; ++i) {
    if (!c.wants(i)) continue;
    const bool batch_first = layout == 1 && !c.failed();
    c.out(i, !batch_first ? outs[i] : c.transpose(outs[i], i == 0 ? Ints{2, 0, 1, 3} : Ints{1, 0, 2}));
  }
}

}  // namespace frit::onnx
