#include <new>
#include <stdexcept>

#include "graph/eval/call.h"

namespace frit::graph {
namespace eval {

Status Call::expect_inputs(size_t least, size_t most) const {
  if (inputs.size() < least || inputs.size() > most) {
    return bad(least == most ? text_of("has ", inputs.size(), " inputs, expected ", least)
                             : text_of("has ", inputs.size(), " inputs, expected ", least, " to ", most));
  }
  for (size_t i = 0; i < least; ++i) {
    if (inputs[i] == nullptr) return bad(text_of("input ", i, " is absent, but it is not optional"));
  }
  return {};
}

Status Call::expect_dtype(size_t i, DType dtype) const {
  if (in(i).dtype() == dtype) return {};
  return bad(text_of("input ", i, " is ", dtype_name(in(i).dtype()), ", expected ", dtype_name(dtype)));
}

Status Call::expect_same_dtype(size_t i, size_t j) const {
  if (in(i).dtype() == in(j).dtype()) return {};
  return bad(text_of("input ", j, " is ", dtype_name(in(j).dtype()), ", expected ", dtype_name(in(i).dtype()),
                     " as input ", i));
}

Status Call::expect_rank(size_t i, int64_t rank) const {
  if (in(i).rank() == rank) return {};
  return bad(text_of("input ", i, " is ", in(i).type_text(), ", expected rank ", rank));
}

Status Call::expect_integers(size_t i) const {
  if (in(i).dtype() == DType::kI64 || in(i).dtype() == DType::kI32) return {};
  return bad(text_of("input ", i, " is ", dtype_name(in(i).dtype()), ", expected i64 or i32"));
}

Status Call::expect_axis(int64_t axis, int64_t rank) const {
  if (axis >= 0 && axis < rank) return {};
  return bad(text_of("axis ", axis, " is out of range for rank ", rank));
}

Result<HostTensor> Call::allocate(DType dtype, Extents shape) const {
  FRIT_ASSIGN(const int64_t count, checked_element_count(shape));
  if (count > options.max_value_bytes / static_cast<int64_t>(dtype_bytes(dtype))) {
    return make_error(Code::kOutOfMemory,
                      text_of("a result of ", dtype_name(dtype), extents_text(shape),
                              " is larger than the limit of ", options.max_value_bytes, " bytes"));
  }
  return HostTensor::allocate(dtype, std::move(shape));
}

Result<int64_t> Call::resolve(const Dim& dim) const {
  if (auto value = dim.constant()) return *value;
  if (auto value = dim.bind(sizes).constant()) return *value;
  return bad(text_of("dimension ", dim.text(), " has no value"));
}

bool Call::has_output_extents(size_t i) const {
  if (i >= output_types.size()) return false;
  for (const Dim& dim : output_types[i].shape) {
    if (!resolve(dim).ok()) return false;
  }
  return true;
}

Result<Extents> Call::output_extents(size_t i) const {
  if (i >= output_types.size()) return bad(text_of("the type of output ", i, " is needed, but not given"));
  Extents out;
  for (const Dim& dim : output_types[i].shape) {
    FRIT_ASSIGN(const int64_t extent, resolve(dim));
    out.push_back(extent);
  }
  return out;
}

DType Call::output_dtype(size_t i, DType otherwise) const {
  return i < output_types.size() ? output_types[i].dtype : otherwise;
}

void Call::parallel(int64_t count, const std::function<void(int64_t)>& task) const {
  if (options.parallel_for && count > 1) {
    options.parallel_for(count, task);
  } else {
    for (int64_t i = 0; i < count; ++i) task(i);
  }
}

// The ops' scratch is std::vector: an exhausted memory must come out as an Error like every failure.
Result<Outputs> run_node(const Op& op, const Call& call) {
  try {
    return std::visit([&](const auto& typed) { return run(typed, call); }, op);
  } catch (const std::bad_alloc&) {
    return make_error(Code::kOutOfMemory, "no memory for the scratch of this node");
  } catch (const std::length_error&) {
    return make_error(Code::kOutOfMemory, "the scratch of this node would be too large");
  }
}

}  // namespace eval

Result<std::vector<HostTensor>> evaluate_node(const Op& op, std::span<const HostTensor* const> inputs,
                                              std::span<const TensorType> output_types,
                                              const EvalOptions& options) {
  const std::map<std::string, int64_t> sizes;
  return eval::run_node(op, eval::Call{inputs, output_types, sizes, options}).with(op_name(op));
}

}  // namespace frit::graph
