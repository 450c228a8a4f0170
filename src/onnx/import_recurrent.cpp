// Recurrent layers.
#include <algorithm>

#include "base/text.h"
#include "onnx/importers.h"
#include "onnx/lstm_steps.h"

namespace frit::onnx {
namespace {

using base::quoted;
using base::text_of;

std::optional<graph::Direction> read_direction(NodeContext& c) {
  const std::string direction = c.attr_string("direction", "forward");
  if (direction == "forward") return graph::Direction::kForward;
  if (direction == "reverse") return graph::Direction::kReverse;
  if (direction == "bidirectional") return graph::Direction::kBidirectional;
  c.fail("direction is " + quoted(direction) + ", expected \"forward\", \"reverse\" or \"bidirectional\"");
  return std::nullopt;
}

bool are_default(const std::vector<Activation>& activations) {
  for (size_t i = 0; i < activations.size(); ++i)
    if (activations[i].name != (i % 3 == 0 ? "sigmoid" : "tanh")) return false;
  return true;
}

}  // namespace

void import_lstm(NodeContext& c) {
  const auto direction = read_direction(c);
  if (!direction) return;
  const size_t directions = *direction == graph::Direction::kBidirectional ? 2 : 1;
  const std::vector<Activation> activations = read_activations(c, directions);
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
  const bool input_forget = c.attr_int("input_forget", 0) != 0;
  const float clip = c.attr_float("clip", 0);
  std::vector<ValueId> outs;
  if (are_default(activations)) {
    while (inputs.back() == kNoValue) inputs.pop_back();
    outs = c.emit_many(graph::Lstm{hidden, *direction, input_forget, clip}, inputs, 3);
  } else {
    inputs.resize(8, kNoValue);
    const LstmOutputs o = spell_lstm(c, {*direction, input_forget, clip, activations}, inputs);
    outs = {o.y, o.y_h, o.y_c};
  }
  for (size_t i = 0; i < 3; ++i) {
    if (!c.wants(i)) continue;
    const bool batch_first = layout == 1 && !c.failed();
    c.out(i, !batch_first ? outs[i] : c.transpose(outs[i], i == 0 ? Ints{2, 0, 1, 3} : Ints{1, 0, 2}));
  }
}

}  // namespace frit::onnx
