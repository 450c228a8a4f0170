// The same elements under another shape, and shapes as data.
#include <algorithm>
#include <limits>
#include <numeric>

#include "base/text.h"
#include "onnx/importers.h"

namespace frit::onnx {
namespace {

using base::text_of;

Dim product(const Shape& shape, int64_t begin, int64_t end) {
  return graph::element_count(Shape(shape.begin() + begin, shape.begin() + end));
}

// The axes of Squeeze and Unsqueeze: an attribute before opset 13, an input since.
Ints squeeze_axes(NodeContext& c) { return c.since() < 13 ? c.attr_ints("axes") : c.known_ints(1, "axes"); }

struct Blocks {
  Dim n, c, h, w;
  int64_t size = 0;
  bool depth_first = true;  // mode DCR
};

Blocks read_blocks(NodeContext& c) {
  Blocks b;
  if (!c.expect_rank(c.in(0), 4, 4, "input")) return b;
  const Shape& shape = c.shape(c.in(0));
  const std::string mode = c.attr_string("mode", "DCR");
  b = {shape[0], shape[1], shape[2], shape[3], c.attr_int("blocksize", 0), mode == "DCR"};
  if (mode != "DCR" && mode != "CRD")
    c.fail("mode is " + base::quoted(mode) + ", expected \"DCR\" or \"CRD\"");
  if (b.size < 1 || b.size > 1 << 15) c.fail(text_of("blocksize is ", b.size, ", expected 1 to 32768"));
  return b;
}

void expect_multiple(NodeContext& c, const Dim& dim, int64_t factor, const char* what) {
  if (dim.is_constant() && dim.value() % factor != 0)
    c.fail(text_of(what, " is ", dim.value(), ", expected a multiple of ", factor));
}

}  // namespace

void import_identity(NodeContext& c) { c.out(0, c.in(0)); }

// Inference: the input passes, the mask is all true.
void import_dropout(NodeContext& c) {
  if (c.has(2)) {
    const auto training = c.ints(c.in(2));
    const auto ratio = c.numbers(c.in(1));
    const bool off = training && training->size() == 1 && training->front() == 0;
    if (!off && !(ratio && ratio->size() == 1 && ratio->front() == 0))
      return c.unsupported("training_mode is not known to be false; frit runs inference only");
  }
  c.out(0, c.in(0));
  if (!c.wants(1)) return;
  const DType mask = c.since() < 10 ? c.dtype(c.in(0)) : DType::kBool;
  c.out(1, c.emit_as(graph::Expand{}, {c.scalar(mask, 1)}, {mask, c.shape(c.in(0)), {}}));
}

void import_reshape(NodeContext& c) {
  c.out(0, c.emit(graph::Reshape{c.attr_int("allowzero", 0) != 0}, {c.in(0), c.in(1)}));
}

void import_flatten(NodeContext& c) {
  const int64_t rank = c.rank(c.in(0));
  int64_t axis = c.attr_int("axis", 1);
  if (axis < -rank || axis > rank)
    return c.fail(text_of("axis is ", axis, ", expected ", -rank, " to ", rank));
  if (axis < 0) axis += rank;
  const Shape shape = c.shape(c.in(0));
  c.out(0, c.reshape(c.in(0), {product(shape, 0, axis), product(shape, axis, rank)}));
}

void import_squeeze(NodeContext& c) {
  const ValueId x = c.in(0);
  const Shape shape = c.shape(x);
  Ints axes;
  if (c.since() < 13 ? c.has_attr("axes") : c.has(1)) {
    axes = c.axes(squeeze_axes(c), c.rank(x));
    if (c.failed()) return;
    for (int64_t a : axes) {
      const Dim& d = shape[static_cast<size_t>(a)];
      if (d.is_constant() && d.value() != 1)
        return c.fail(
            text_of("dimension ", a, " of ", graph::type_text(c.type(x)), " is squeezed, expected 1"));
    }
  } else {
    for (size_t a = 0; a < shape.size(); ++a) {
      if (!shape[a].is_constant())
        return c.unsupported(text_of("no axes are given and dimension ", a, " of ",
                                     graph::type_text(c.type(x)),
                                     " is not known, so the rank of the result is not known"));
      if (shape[a].value() == 1) axes.push_back(static_cast<int64_t>(a));
    }
  }
  c.out(0, c.squeeze(x, axes));
}

void import_unsqueeze(NodeContext& c) {
  const Ints given = squeeze_axes(c);
  const auto rank = c.rank(c.in(0)) + static_cast<int64_t>(given.size());
  const Ints axes = c.axes(given, rank);
  if (c.failed()) return;
  if (axes.size() != given.size()) return c.fail("axes has an axis twice");
  c.out(0, c.unsqueeze(c.in(0), axes));
}

void import_shape(NodeContext& c) {
  const int64_t rank = c.rank(c.in(0));
  const auto clamp = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
  const int64_t start = clamp(c.attr_int("start", 0));
  const int64_t end = std::max(start, clamp(c.attr_int("end", rank)));
  c.out(0, c.emit(graph::ShapeOf{start, end}, {c.in(0)}));
}

void import_size(NodeContext& c) {
  const ValueId shape = c.emit(graph::ShapeOf{0, c.rank(c.in(0))}, {c.in(0)});
  c.out(0, c.reduce(ReduceOp::kProd, shape, {0}, false));
}

void import_transpose(NodeContext& c) {
  const int64_t rank = c.rank(c.in(0));
  Ints perm = c.attr_ints("perm");
  if (!c.has_attr("perm")) {
    perm.resize(static_cast<size_t>(rank));
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  Ints sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  bool valid = static_cast<int64_t>(sorted.size()) == rank;
  for (int64_t i = 0; valid && i < rank; ++i) valid = sorted[static_cast<size_t>(i)] == i;
  if (!valid)
    return c.fail(
        text_of("perm is [", base::join(perm, ","), "], expected a permutation of ", rank, " axes"));
  c.out(0, c.transpose(c.in(0), perm));
}

void import_depth_to_space(NodeContext& c) {
  const Blocks b = read_blocks(c);
  if (c.failed()) return;
  expect_multiple(c, b.c, b.size * b.size, "channel count");
  const Dim depth = floor_div(b.c, Dim(b.size * b.size));
  const ValueId split = c.reshape(c.in(0), b.depth_first ? Shape{b.n, b.size, b.size, depth, b.h, b.w}
                                                         : Shape{b.n, depth, b.size, b.size, b.h, b.w});
  const ValueId moved = c.transpose(split, b.depth_first ? Ints{0, 3, 4, 1, 5, 2} : Ints{0, 1, 4, 2, 5, 3});
  c.out(0, c.reshape(moved, {b.n, depth, b.h * Dim(b.size), b.w * Dim(b.size)}));
}

void import_space_to_depth(NodeContext& c) {
  const Blocks b = read_blocks(c);
  if (c.failed()) return;
  expect_multiple(c, b.h, b.size, "height");
  expect_multiple(c, b.w, b.size, "width");
  const Dim h = floor_div(b.h, Dim(b.size)), w = floor_div(b.w, Dim(b.size));
  const ValueId split = c.reshape(c.in(0), {b.n, b.c, h, b.size, w, b.size});
  const ValueId moved = c.transpose(split, b.depth_first ? Ints{0, 3, 5, 1, 2, 4} : Ints{0, 1, 3, 5, 2, 4});
  c.out(0, c.reshape(moved, {b.n, b.c * Dim(b.size * b.size), h, w}));
}

}  // namespace frit::onnx
