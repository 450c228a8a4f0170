// Steps that move: reshape, slice, gather, resize, and generators.
#include <numeric>

#include "support/random_graph_builder.h"

namespace frit::testing {

void Builder::reshape() {
  const ValueId x = pick_any();
  if (x == kNoValue) return;
  const auto dims = constant_shape(type(x).shape);
  std::vector<int64_t> wanted;
  if (dims && random_.one_in(2)) {
    // Factors of the element count in another order.
    wanted = *dims;
    for (size_t k = wanted.size(); k > 1; --k)
      std::swap(wanted[k - 1], wanted[static_cast<size_t>(random_.below(static_cast<int64_t>(k)))]);
    if (wanted.size() >= 2 && random_.one_in(2)) {
      wanted[0] *= wanted[1];
      wanted.erase(wanted.begin() + 1);
    }
    if (random_.one_in(2))
      wanted.insert(wanted.begin() + random_.below(static_cast<int64_t>(wanted.size()) + 1), 1);
  } else {
    for (size_t k = 0; k < rank(x) && random_.one_in(2); ++k) wanted.push_back(0);
    wanted.push_back(-1);
  }
  put(Reshape{std::find(wanted.begin(), wanted.end(), -1) == wanted.end()}, {x, ints(wanted)});
}

void Builder::transpose() {
  const ValueId x = pick_ranked(2);
  if (x == kNoValue) return;
  std::vector<int64_t> perm(rank(x));
  std::iota(perm.begin(), perm.end(), 0);
  for (size_t k = perm.size(); k > 1; --k)
    std::swap(perm[k - 1], perm[static_cast<size_t>(random_.below(static_cast<int64_t>(k)))]);
  put(Transpose{perm}, {x});
}

void Builder::slice() {
  const ValueId x = pick_ranked(1);
  if (x == kNoValue) return;
  if (options_.dynamic && random_.one_in(3)) {
    put(DynamicSlice{}, {x, ints({random_.between(-4, 4)}), ints({random_.between(-4, 9)}),
                         ints({axis_of(x)}), ints({random_.one_in(3) ? -1 : random_.between(1, 2)})});
    return;
  }
  Slice op;
  Shape out = type(x).shape;
  for (Dim& d : out) {
    op.starts.emplace_back(0);
    op.steps.push_back(1);
    if (!d.is_constant() || d.value() == 0 || random_.one_in(2)) continue;
    const int64_t size = d.value(), start = random_.below(size);
    const bool backwards = random_.one_in(3);
    const int64_t step = random_.between(1, 2), room = backwards ? start : size - 1 - start;
    op.starts.back() = start;
    op.steps.back() = backwards ? -step : step;
    d = random_.between(options_.empty && random_.one_in(20) ? 0 : 1, room / step + 1);
  }
  const DType t = type(x).dtype;
  put(std::move(op), {x}, {TensorType{t, std::move(out), {}}});
}

void Builder::concat() {
  const ValueId x = pick_ranked(1);
  if (x == kNoValue) return;
  const int64_t axis = axis_of(x);
  Ids inputs{x};
  for (int64_t i = random_.between(0, 2); i > 0; --i) {
    const ValueId same = pick_if([&](const TensorType& t) {
      if (t.dtype != type(x).dtype || t.shape.size() != rank(x)) return false;
      for (size_t k = 0; k < t.shape.size(); ++k) {
        if (static_cast<int64_t>(k) != axis && t.shape[k] != type(x).shape[k]) return false;
      }
      return true;
    });
    inputs.push_back(same);
  }
  put(Concat{axis}, inputs);
}

void Builder::pad() {
  const ValueId x = pick_ranked(1);
  if (x == kNoValue) return;
  const auto mode = static_cast<PadMode>(random_.one_in(2) ? 0 : random_.below(4));
  std::vector<int64_t> before(rank(x), 0), after(rank(x), 0);
  for (size_t k = 0; k < rank(x); ++k) {
    // Symbolic axes may turn out too small for anything but constants.
    if (mode != PadMode::kConstant && !type(x).shape[k].is_constant()) continue;
    before[k] = random_.between(
        mode == PadMode::kConstant && type(x).shape[k].constant().value_or(0) > 1 ? -1 : 0, 2);
    after[k] = random_.between(0, 2);
  }
  const ValueId value =
      mode == PadMode::kConstant && random_.one_in(2) ? constant(type(x).dtype, {}) : kNoValue;
  if (options_.dynamic && random_.one_in(3)) {
    std::vector<int64_t> both = before;
    both.insert(both.end(), after.begin(), after.end());
    put(DynamicPad{mode}, {x, ints(both), value});
  } else {
    put(Pad{mode, before, after}, {x, value});
  }
}

void Builder::expand_or_tile() {
  const ValueId x = pick_any();
  if (x == kNoValue) return;
  if (random_.one_in(2) && rank(x) > 0) {
    std::vector<int64_t> repeats;
    for (size_t k = 0; k < rank(x); ++k) repeats.push_back(random_.between(1, 2));
    put(Tile{}, {x, ints(repeats)});
    return;
  }
  std::vector<int64_t> wanted(static_cast<size_t>(random_.below(2)), random_.between(1, 3));
  for (const Dim& d : type(x).shape) wanted.push_back(d == Dim(1) ? random_.between(1, 3) : 1);
  put(Expand{}, {x, ints(wanted)});
}

void Builder::gather() {
  const ValueId x = pick_ranked(1);
  if (x == kNoValue) return;
  const int64_t axis = filled_axis(x);
  if (axis < 0) return;
  const int64_t size = dim_of(x, axis).value();
  auto indices = [&](const Shape& s) {
    int64_t count = 1;
    for (const Dim& d : s) count *= d.value();
    std::vector<int64_t> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(random_.between(-size, size - 1));
    return g_.add_constant({DType::kI64, s, {}}, make_constant_of(values));
  };
  const auto dims = constant_shape(type(x).shape);
  if (!dims || random_.one_in(2)) {
    put(Gather{axis}, {x, indices(random_.one_in(3) ? Shape{} : Shape{random_.between(0, 4)})});
    return;
  }
  Shape part;
  for (int64_t d : *dims) part.emplace_back(d == 0 ? 0 : random_.between(1, d));
  switch (random_.below(3)) {
    case 0:
      put(GatherElements{axis}, {x, indices(part)});
      break;
    case 1: {
      // Different indices, so that the order of writing does not matter.
      std::vector<int64_t> values;
      int64_t inner = 1, count = element_count(part).value();
      for (size_t k = static_cast<size_t>(axis) + 1; k < part.size(); ++k) inner *= part[k].value();
      for (int64_t i = 0; i < count; ++i)
        values.push_back(i / std::max<int64_t>(inner, 1) % part[static_cast<size_t>(axis)].value());
      const ValueId where = g_.add_constant({DType::kI64, part, {}}, make_constant_of(values));
      const auto reduction =
          type(x).dtype == DType::kBool ? ScatterOp::kNone : static_cast<ScatterOp>(random_.below(5));
      put(ScatterElements{axis, reduction}, {x, where, constant(type(x).dtype, part)});
      break;
    }
    default: {
      if ((*dims)[0] == 0) return;
      const ValueId where =
          g_.add_constant({DType::kI64, {1, 1}, {}}, make_constant_of<int64_t>({random_.below((*dims)[0])}));
      Shape updates = type(x).shape;
      updates[0] = 1;
      if (random_.one_in(2)) {
        put(ScatterND{ScatterOp::kNone}, {x, where, constant(type(x).dtype, updates)});
      } else {
        put(GatherND{0}, {x, where});
      }
    }
  }
}

void Builder::resize() {
  const ValueId x =
      pick_if([](const TensorType& t) { return t.dtype == DType::kF32 && t.shape.size() == 4; });
  if (x == kNoValue) return;
  Resize op{random_.one_in(2) ? ResizeMode::kNearest : ResizeMode::kLinear,
            ResizeCoord::kHalfPixel,
            ResizeNearest::kRoundPreferFloor,
            -0.75f,
            false,
            false,
            {}};
  if (random_.one_in(2)) op.coord = random_.one_in(2) ? ResizeCoord::kAsymmetric : ResizeCoord::kAlignCorners;
  if (random_.one_in(2)) op.nearest = ResizeNearest::kFloor;
  if (dim_of(x, 2) == Dim(0) || dim_of(x, 3) == Dim(0)) return;
  if (random_.one_in(2)) {
    op.by_scales = true;
    put(op, {x, g_.add_constant({DType::kF32, {4}, {}},
                                make_constant_of<float>({1, 1, 2, random_.one_in(2) ? 2.f : 1.f}))});
  } else if (dim_of(x, 0).is_constant() && dim_of(x, 1).is_constant()) {
    put(op, {x, ints({dim_of(x, 0).value(), dim_of(x, 1).value(), random_.between(1, 6),
                      random_.between(1, 6)})});
  }
}

void Builder::generate() {
  const ValueId x = pick_any();
  if (x == kNoValue) return;
  const int64_t what = random_.below(4);
  if (what == 0) {
    put(Range{}, {int_scalar(random_.between(-3, 3)), int_scalar(random_.between(-3, 6)),
                  int_scalar(random_.one_in(3) ? -1 : random_.between(1, 2))});
  } else if (what == 1 && rank(x) > 0 && constant_shape(type(x).shape)) {
    put(Iota{axis_of(x)}, {}, {TensorType{DType::kI64, type(x).shape, {}}});
  } else if (what == 2) {
    put(ShapeOf{0, static_cast<int64_t>(rank(x))}, {x});
  } else if (what == 3) {
    const ValueId dims = put_one(ShapeOf{0, static_cast<int64_t>(rank(x))}, {x});
    if (dims != kNoValue) put(Fill{0x3f800000}, {dims}, {TensorType{DType::kF32, {}, {}}});
  }
}

// Reshape as exporters write it: the batch from ShapeOf, the rest inferred.
void Builder::computed_reshape() {
  const ValueId x = pick_ranked(2);
  if (x == kNoValue || type(x).shape[0] == Dim(0)) return;
  const ValueId dims = put_one(ShapeOf{0, static_cast<int64_t>(rank(x))}, {x});
  const ValueId batch = put_one(Gather{0}, {dims, ints({0})});
  if (batch == kNoValue) return;
  const ValueId target = put_one(Concat{0}, {batch, ints({-1})});
  put(Reshape{}, {x, target});
}

void Builder::nonzero() {
  const ValueId x = pick_ranked(1);
  // Its result has a size that depends on data; nothing else may use it.
  if (x == kNoValue) return;
  auto id = add_inferred(g_, NonZero{}, {x});
  (void)id.ok();
}

}  // namespace frit::testing
