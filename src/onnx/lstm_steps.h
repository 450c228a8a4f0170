// An LSTM spelled out step by step, for activations that the graph's Lstm does not have: about 20 nodes per
// step.
#pragma once

#include <string>
#include <vector>

#include "onnx/node_context.h"

namespace frit::onnx {

struct Activation {
  std::string name;  // lower-case
  float alpha = 0, beta = 0;
};
// The activations of the node, three per direction, with their defaults; fails on an unknown one.
std::vector<Activation> read_activations(NodeContext& c, size_t directions);

struct LstmSteps {
  graph::Direction direction;
  bool input_forget;
  float clip;  // 0: none
  std::vector<Activation> activations;
};
struct LstmOutputs {
  ValueId y, y_h, y_c;
};
// `inputs` are ONNX's eight, layout 0, kNoValue where absent. The number of steps must be known.
LstmOutputs spell_lstm(NodeContext& c, const LstmSteps& lstm, const std::vector<ValueId>& inputs);

}  // namespace frit::onnx
