// From what the caller says about shapes to a shape per input and a size per named dimension.
//
// Every mistake here is the caller's: kInvalidArgument, naming input, expected and actual. It must not know
// what becomes of the shapes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "frit/result.h"
#include "frit/session.h"
#include "graph/ir.h"

namespace frit::runtime {

using InputShapes = std::vector<std::vector<int64_t>>;  // parallel to graph.inputs

// Each name is an input's, or with one number a dimension's. Inputs that are not named follow from the sizes
// of their dimensions.
Result<InputShapes> input_shapes(const graph::Graph& graph, std::span<const NamedShape> named);

// The sizes of the graph's named dimensions for these shapes. Errors: a shape that is not the input's.
Result<std::map<std::string, int64_t>> bind_inputs(const graph::Graph& graph, const InputShapes& shapes);

}  // namespace frit::runtime
