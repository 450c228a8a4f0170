// Einsum: operands are folded from the left; a pair with common summed labels is a matrix product, any other
// an elementwise one. Labels are letters, and numbers from kEllipsis on for the dimensions under an ellipsis.
#include <algorithm>

#include "base/text.h"
#include "onnx/importers.h"

namespace frit::onnx {
namespace {

using Labels = std::vector<int>;
constexpr int kEllipsis = 256;

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

struct Operand {
  ValueId value;
  Labels labels;
  int64_t axis_of(int label) const { return std::find(labels.begin(), labels.end(), label) - labels.begin(); }
};

struct Equation {
  std::vector<std::string> terms;
  std::optional<std::string> output;
};

Equation parse_equation(NodeContext& c) {
  std::string text;
  for (char ch : c.attr_string("equation", ""))
    if (ch != ' ') text += ch;
  Equation e;
  if (const size_t arrow = text.find("->"); arrow != std::string::npos) {
    e.output = text.substr(arrow + 2);
    text.resize(arrow);
  }
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    e.terms.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return e;
}

// The labels of a term; "..." stands for `under` dimensions, of which the last is the last of `most`.
Labels read_term(NodeContext& c, const std::string& term, int64_t under, int64_t most) {
  Labels labels;
  for (size_t i = 0; i < term.size(); ++i) {
    const char ch = term[i];
    if (term.compare(i, 3, "...") == 0) {
      for (int64_t k = most - under; k < most; ++k) labels.push_back(kEllipsis + static_cast<int>(k));
      i += 2;
    } else if ((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z')) {
      labels.push_back(ch);
    } else {
      c.fail("equation has the term " + base::quoted(term) + ", expected letters and at most one \"...\"");
      return {};
    }
  }
  return labels;
}

// Dimensions under the ellipsis of a term: what its letters leave of the operand's rank.
int64_t ellipsis_rank(NodeContext& c, const std::string& term, int64_t rank) {
  const size_t dots = term.find("...");
  const auto letters = static_cast<int64_t>(term.size()) - (dots == std::string::npos ? 0 : 3);
  const bool again = dots != std::string::npos && term.find("...", dots + 3) != std::string::npos;
  if (again || letters > rank || (dots == std::string::npos && letters != rank))
    c.fail(base::text_of("equation has the term ", base::quoted(term), " for an operand of rank ", rank));
  return dots == std::string::npos ? 0 : rank - letters;
}

// A label that an operand has twice means its diagonal: everything off it becomes 0 and is summed away.
void take_diagonals(NodeContext& c, Operand& x) {
  for (size_t second = 1; second < x.labels.size();) {
    const int64_t first = x.axis_of(x.labels[second]);
    if (first == static_cast<int64_t>(second)) {
      ++second;
      continue;
    }
    const Shape shape = c.shape(x.value);
    const auto along = [&](int64_t axis) {
      Shape line(shape.size(), Dim(1));
      line[static_cast<size_t>(axis)] = shape[static_cast<size_t>(axis)];
      return c.emit_as(graph::Iota{axis}, {}, {DType::kI64, line, {}});
    };
    const auto axis = static_cast<int64_t>(second);
    const ValueId on = c.binary(BinaryOp::kEq, along(first), along(axis));
    const ValueId kept = c.select(on, x.value, c.scalar_like(x.value, 0));
    x.value = c.reduce(ReduceOp::kSum, kept, {axis}, false);
    x.labels.erase(x.labels.begin() + axis);
  }
}

void sum_away(NodeContext& c, Operand& x, const Labels& keep, const Labels& other) {
  Ints axes;
  Labels rest;
  for (size_t i = 0; i < x.labels.size(); ++i) {
    const bool stays = contains(keep, x.labels[i]) || contains(other, x.labels[i]);
    if (stays) rest.push_back(x.labels[i]);
    if (!stays) axes.push_back(static_cast<int64_t>(i));
  }
  x.value = c.reduce(ReduceOp::kSum, x.value, axes, false);
  x.labels = rest;
}

// Brings x to the order of `labels`, with a dimension of 1 for each that it does not have.
ValueId arrange(NodeContext& c, const Operand& x, const Labels& labels) {
  Ints perm, missing;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (contains(x.labels, labels[i])) {
      perm.push_back(x.axis_of(labels[i]));
    } else {
      missing.push_back(static_cast<int64_t>(i));
    }
  }
  return c.unsqueeze(c.transpose(x.value, perm), missing);
}

Labels joined(std::initializer_list<const Labels*> parts) {
  Labels all;
  for (const Labels* part : parts) all.insert(all.end(), part->begin(), part->end());
  return all;
}

Dim product(NodeContext& c, const Operand& x, const Labels& labels) {
  Dim size = 1;
  for (int label : labels) size = size * c.dim(x.value, x.axis_of(label));
  return size;
}

Operand contract(NodeContext& c, Operand a, Operand b, const Labels& keep) {
  sum_away(c, a, keep, b.labels);
  sum_away(c, b, keep, a.labels);
  Labels batch, summed, left, right;
  for (int label : a.labels)
    (!contains(b.labels, label) ? left : contains(keep, label) ? batch : summed).push_back(label);
  for (int label : b.labels)
    if (!contains(a.labels, label)) right.push_back(label);
  const Labels result = joined({&batch, &left, &right});
  if (summed.empty()) return {c.mul(arrange(c, a, result), arrange(c, b, result)), result};

  const auto matrix = [&](const Operand& x, const Labels& rows, const Labels& columns) {
    Shape shape;
    for (int label : batch) shape.push_back(c.dim(x.value, x.axis_of(label)));
    shape.push_back(product(c, x, rows));
    shape.push_back(product(c, x, columns));
    return c.reshape(arrange(c, x, joined({&batch, &rows, &columns})), shape);
  };
  const ValueId y = c.emit(graph::MatMul{}, {matrix(a, left, summed), matrix(b, summed, right)});
  Shape shape;
  for (size_t i = 0; i < batch.size(); ++i) shape.push_back(c.dim(y, static_cast<int64_t>(i)));
  for (int label : left) shape.push_back(c.dim(a.value, a.axis_of(label)));
  for (int label : right) shape.push_back(c.dim(b.value, b.axis_of(label)));
  return {c.reshape(y, shape), result};
}

// Without "->": the ellipsis, then the letters that appear once, in alphabetic order.
Labels implicit_output(const std::vector<Operand>& operands, int64_t most) {
  Labels letters, out;
  for (const Operand& x : operands)
    for (int label : x.labels)
      if (label < kEllipsis) letters.push_back(label);
  for (int64_t k = 0; k < most; ++k) out.push_back(kEllipsis + static_cast<int>(k));
  std::sort(letters.begin(), letters.end());
  for (int label : letters)
    if (std::count(letters.begin(), letters.end(), label) == 1) out.push_back(label);
  return out;
}

}  // namespace

void import_einsum(NodeContext& c) {
  const Equation equation = parse_equation(c);
  if (equation.terms.size() != c.input_count())
    return c.fail(
        base::text_of("equation has ", equation.terms.size(), " terms for ", c.input_count(), " inputs"));
  Ints under;
  for (size_t i = 0; i < c.input_count(); ++i)
    under.push_back(ellipsis_rank(c, equation.terms[i], c.rank(c.in(i))));
  if (c.failed()) return;
  const int64_t most = *std::max_element(under.begin(), under.end());
  std::vector<Operand> operands;
  for (size_t i = 0; i < c.input_count(); ++i)
    operands.push_back({c.in(i), read_term(c, equation.terms[i], under[i], most)});
  const Labels output =
      equation.output ? read_term(c, *equation.output, most, most) : implicit_output(operands, most);
  if (c.failed()) return;
  for (size_t i = 0; i < output.size(); ++i) {
    const bool known = std::any_of(operands.begin(), operands.end(),
                                   [&](const Operand& x) { return contains(x.labels, output[i]); });
    if (!known || std::count(output.begin(), output.end(), output[i]) != 1)
      return c.fail("equation's output " + base::quoted(*equation.output) +
                    " has a label twice or one that no input has");
  }
  for (Operand& x : operands) take_diagonals(c, x);
  Operand result = operands[0];
  for (size_t i = 1; i < operands.size() && !c.failed(); ++i) {
    Labels keep = output;
    for (size_t later = i + 1; later < operands.size(); ++later)
      keep.insert(keep.end(), operands[later].labels.begin(), operands[later].labels.end());
    result = contract(c, result, operands[i], keep);
  }
  if (c.failed()) return;
  sum_away(c, result, output, {});
  c.out(0, arrange(c, result, output));
}

}  // namespace frit::onnx
