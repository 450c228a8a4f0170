#include "onnx/lstm_steps.h"

#include <algorithm>

#include "base/text.h"

namespace frit::onnx {
namespace {

using base::text_of;

struct Known {
  const char* name;
  bool has_alpha, has_beta;
  float alpha, beta;
};
constexpr Known kKnown[] = {
    {"sigmoid", false, false, 0, 0},
    {"tanh", false, false, 0, 0},
    {"relu", false, false, 0, 0},
    {"softsign", false, false, 0, 0},
    {"softplus", false, false, 0, 0},
    {"elu", true, false, 1, 0},
    {"leakyrelu", true, false, 0.01f, 0},
    {"thresholdedrelu", true, false, 1, 0},
    {"affine", true, true, 1, 0},
    {"scaledtanh", true, true, 1, 1},
    {"hardsigmoid", true, true, 0.2f, 0.5f},
};

std::string lower(Bytes text) {
  std::string out(text);
  for (char& ch : out)
    if (ch >= 'A' && ch <= 'Z') ch = static_cast<char>(ch - 'A' + 'a');
  return out;
}

ValueId activate(NodeContext& c, const Activation& a, ValueId x) {
  const auto number = [&](double v) { return c.scalar_like(x, v); };
  const auto below = [&](ValueId low, ValueId high) {  // x < 0 ? low : high
    return c.select(c.binary(BinaryOp::kLt, x, number(0)), low, high);
  };
  if (a.name == "sigmoid") return c.unary(UnaryOp::kSigmoid, x);
  if (a.name == "tanh") return c.unary(UnaryOp::kTanh, x);
  if (a.name == "relu") return c.unary(UnaryOp::kRelu, x);
  if (a.name == "affine") return c.add(c.mul(x, number(a.alpha)), number(a.beta));
  if (a.name == "scaledtanh")
    return c.mul(number(a.alpha), c.unary(UnaryOp::kTanh, c.mul(x, number(a.beta))));
  if (a.name == "hardsigmoid") return c.emit(graph::HardSigmoid{a.alpha, a.beta}, {x});
  if (a.name == "leakyrelu") return c.emit(graph::LeakyRelu{a.alpha}, {x});
  if (a.name == "thresholdedrelu") return c.select(c.binary(BinaryOp::kGt, x, number(a.alpha)), x, number(0));
  if (a.name == "softsign") return c.div(x, c.add(number(1), c.unary(UnaryOp::kAbs, x)));
  const ValueId tail = c.unary(UnaryOp::kExp, c.unary(UnaryOp::kNeg, c.unary(UnaryOp::kAbs, x)));
  if (a.name == "softplus")
    return c.add(c.unary(UnaryOp::kRelu, x), c.unary(UnaryOp::kLog, c.add(number(1), tail)));
  return below(c.mul(number(a.alpha), c.sub(tail, number(1))), x);  // elu; -|x| is x below zero
}

// One direction: its slices of the weights, and the state while steps are written.
class Cell {
 public:
  Cell(NodeContext& c, const LstmSteps& lstm, const std::vector<ValueId>& inputs, int64_t d)
      : c_(c), lstm_(lstm), inputs_(inputs), d_(d), hidden_(c.known_dim(inputs[2], 2, "the hidden size")) {}

  // Returns the hidden state of every step, [steps][batch, hidden] in order of time.
  std::vector<ValueId> run(int64_t steps);
  ValueId h() const { return h_; }
  ValueId c() const { return cell_; }

 private:
  // [direction, ...] -> [...]
  ValueId of_direction(size_t input) const { return c_.squeeze(c_.slice(inputs_[input], 0, d_, 1), {0}); }
  ValueId gate(ValueId x, int64_t k) const { return c_.slice(x, c_.rank(x) - 1, k * hidden_, hidden_); }
  ValueId clipped(ValueId x) const {
    if (!(lstm_.clip > 0)) return x;
    return c_.emit(graph::Clip{}, {x, c_.scalar_like(x, -lstm_.clip), c_.scalar_like(x, lstm_.clip)});
  }
  ValueId peep(ValueId x, int64_t k, ValueId cell) const {
    return peepholes_ == kNoValue ? x : c_.add(x, c_.mul(gate(peepholes_, k), cell));
  }
  const Activation& activation(size_t k) const { return lstm_.activations[static_cast<size_t>(d_) * 3 + k]; }
  void step(ValueId projected, ValueId recurrent);

  NodeContext& c_;
  const LstmSteps& lstm_;
  const std::vector<ValueId>& inputs_;
  int64_t d_, hidden_;
  ValueId peepholes_ = kNoValue, h_ = kNoValue, cell_ = kNoValue;
};

// Gates lie in the order input, output, forget, cell; peepholes input, output, forget.
void Cell::step(ValueId projected, ValueId recurrent) {
  const ValueId gates = c_.add(projected, c_.emit(graph::MatMul{}, {h_, recurrent}));
  const ValueId input = activate(c_, activation(0), clipped(peep(gate(gates, 0), 0, cell_)));
  const ValueId forget = lstm_.input_forget
                             ? c_.sub(c_.scalar_like(input, 1), input)
                             : activate(c_, activation(0), clipped(peep(gate(gates, 2), 2, cell_)));
  const ValueId candidate = activate(c_, activation(1), clipped(gate(gates, 3)));
  cell_ = c_.add(c_.mul(forget, cell_), c_.mul(input, candidate));
  const ValueId output = activate(c_, activation(0), clipped(peep(gate(gates, 1), 1, cell_)));
  h_ = c_.mul(output, activate(c_, activation(2), cell_));
}

std::vector<ValueId> Cell::run(int64_t steps) {
  const ValueId x = inputs_[0];
  const ValueId weights = c_.transpose(of_direction(1), {1, 0});  // [features, 4 hidden]
  const ValueId recurrent = c_.transpose(of_direction(2), {1, 0});
  ValueId projected = c_.emit(graph::MatMul{}, {x, weights});  // [steps, batch, 4 hidden]
  if (inputs_[3] != kNoValue) {
    const ValueId bias = of_direction(3);
    projected = c_.add(
        projected, c_.add(c_.slice(bias, 0, 0, 4 * hidden_), c_.slice(bias, 0, 4 * hidden_, 4 * hidden_)));
  }
  if (inputs_[7] != kNoValue) peepholes_ = of_direction(7);
  const TensorType state{c_.dtype(x), {c_.dim(x, 1), hidden_}, {}};
  const auto initial = [&](size_t input) {
    return inputs_[input] != kNoValue ? of_direction(input)
                                      : c_.emit_as(graph::Expand{}, {c_.scalar_like(x, 0)}, state);
  };
  h_ = initial(5);
  cell_ = initial(6);
  const bool backward = lstm_.direction == graph::Direction::kReverse || d_ == 1;
  std::vector<ValueId> states(static_cast<size_t>(steps), kNoValue);
  for (int64_t i = 0; i < steps && !c_.failed(); ++i) {
    const int64_t t = backward ? steps - 1 - i : i;
    const ValueId old_h = h_, old_cell = cell_;
    step(c_.squeeze(c_.slice(projected, 0, t, 1), {0}), recurrent);
    ValueId shown = h_;
    if (inputs_[4] != kNoValue) {  // past the end of a sequence its state rests, and the output is 0
      const ValueId lengths = c_.cast(inputs_[4], DType::kI64);
      const ValueId runs = c_.unsqueeze(
          c_.binary(BinaryOp::kGt, lengths, c_.scalar(DType::kI64, static_cast<double>(t))), {1});
      shown = c_.select(runs, h_, c_.scalar_like(h_, 0));
      h_ = c_.select(runs, h_, old_h);
      cell_ = c_.select(runs, cell_, old_cell);
    }
    states[static_cast<size_t>(t)] = shown;
  }
  return states;
}

// Stacks values along a new axis.
ValueId stack(NodeContext& c, const std::vector<ValueId>& parts, int64_t axis) {
  std::vector<ValueId> raised;
  for (ValueId part : parts) raised.push_back(c.unsqueeze(part, {axis}));
  return raised.size() == 1 ? raised[0] : c.emit(graph::Concat{axis}, raised);
}

}  // namespace

std::vector<Activation> read_activations(NodeContext& c, size_t directions) {
  std::vector<std::string> names;
  if (const AttributeView* given = c.attr("activations"))
    for (Bytes name : given->strings) names.push_back(lower(name));
  if (names.empty())
    for (size_t d = 0; d < directions; ++d) names.insert(names.end(), {"sigmoid", "tanh", "tanh"});
  if (names.size() != 3 * directions) {
    c.fail(text_of("activations has ", names.size(), " values, expected ", 3 * directions));
    return {};
  }
  // Parameters are taken in order by those that have one.
  std::vector<float> alphas, betas;
  if (const AttributeView* given = c.attr("activation_alpha")) alphas = given->floats;
  if (const AttributeView* given = c.attr("activation_beta")) betas = given->floats;
  std::vector<Activation> out;
  size_t alpha = 0, beta = 0;
  for (const std::string& name : names) {
    const Known* known =
        std::find_if(std::begin(kKnown), std::end(kKnown), [&](const Known& k) { return k.name == name; });
    if (known == std::end(kKnown)) {
      c.unsupported(text_of("activation ", base::quoted(name), " is not supported"));
      return {};
    }
    Activation a{name, known->alpha, known->beta};
    if (known->has_alpha && alpha < alphas.size()) a.alpha = alphas[alpha++];
    if (known->has_beta && beta < betas.size()) a.beta = betas[beta++];
    out.push_back(std::move(a));
  }
  return out;
}

LstmOutputs spell_lstm(NodeContext& c, const LstmSteps& lstm, const std::vector<ValueId>& inputs) {
  constexpr int64_t kMostSteps = 4096;
  const int64_t steps = c.known_dim(inputs[0], 0, "an LSTM with these activations");
  if (steps < 1 || steps > kMostSteps)
    c.unsupported(text_of("an LSTM with these activations and ", steps,
                          " steps is not supported, expected 1 to ", kMostSteps));
  if (c.failed()) return {kNoValue, kNoValue, kNoValue};
  const int64_t directions = lstm.direction == graph::Direction::kBidirectional ? 2 : 1;
  std::vector<std::vector<ValueId>> states;
  std::vector<ValueId> last_h, last_c;
  for (int64_t d = 0; d < directions; ++d) {
    Cell cell(c, lstm, inputs, d);
    states.push_back(cell.run(steps));
    last_h.push_back(cell.h());
    last_c.push_back(cell.c());
  }
  std::vector<ValueId> y;
  for (size_t t = 0; t < static_cast<size_t>(steps); ++t) {
    std::vector<ValueId> at;
    for (const auto& direction : states) at.push_back(direction[t]);
    y.push_back(stack(c, at, 0));  // [directions, batch, hidden]
  }
  return {stack(c, y, 0), stack(c, last_h, 0), stack(c, last_c, 0)};
}

}  // namespace frit::onnx
