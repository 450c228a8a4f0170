#include "onnx/import.h"

#include <map>
#include <new>
#include <set>
#include <string_view>
#include <tuple>

#include "base/text.h"
#include "base/try.h"
#include "onnx/constants.h"
#include "onnx/dtypes.h"
#include "onnx/node_context.h"
#include "onnx/ops_table.h"
#include "onnx/wire.h"

namespace frit::onnx {
namespace {

using base::quoted;
using base::text_of;

constexpr int kMostFunctionLevels = 32;
constexpr int64_t kMostNodes =
    2'000'000;  // after functions are written out: a small file can call its way to billions

bool is_default_domain(Bytes domain) { return domain.empty() || domain == "ai.onnx"; }

char letter_of(AttributeType type) {
  switch (type) {
    case AttributeType::kFloat:
      return 'f';
    case AttributeType::kInt:
      return 'i';
    case AttributeType::kString:
      return 's';
    case AttributeType::kTensor:
      return 't';
    case AttributeType::kFloats:
      return 'F';
    case AttributeType::kInts:
      return 'I';
    case AttributeType::kStrings:
      return 'S';
    case AttributeType::kSparseTensor:
      return 'p';
    default:
      return '?';
  }
}
const char* letter_name(char letter) {
  switch (letter) {
    case 'f':
      return "a float";
    case 'i':
      return "an int";
    case 's':
      return "a string";
    case 't':
      return "a tensor";
    case 'F':
      return "floats";
    case 'I':
      return "ints";
    case 'S':
      return "strings";
    default:
      return "a sparse tensor";
  }
}

// An operator's name as messages show it: escaped, without quotes.
std::string printable(Bytes name) {
  const std::string text = quoted(name);
  return text.substr(1, text.size() - 2);
}

Status check_arity(const NodeView& node, const OpRow& row) {
  const auto check = [&](const char* what, const std::vector<Bytes>& names, int least, int most) -> Status {
    const auto count = static_cast<int>(names.size());
    if (count < least || count > most)
      return make_error(Code::kBadModel, text_of("the node has ", count, " ", what, "s, expected ", least,
                                                 most == least  ? ""
                                                 : most == kAny ? " or more"
                                                                : text_of(" to ", most)));
    for (int i = 0; i < least; ++i)
      if (names[static_cast<size_t>(i)].empty())
        return make_error(Code::kBadModel, text_of(what, " ", i, " is absent, but not optional"));
    return {};
  };
  FRIT_TRY(check("input", node.inputs, row.min_inputs, row.max_inputs));
  // A list of any length has no absent elements.
  if (row.max_inputs == kAny)
    for (Bytes name : node.inputs)
      if (name.empty()) return make_error(Code::kBadModel, "an input is absent, but not optional");
  return check("output", node.outputs, row.min_outputs, row.max_outputs);
}

Status check_attributes(const NodeView& node, const OpRow& row) {
  for (size_t i = 0; i < node.attributes.size(); ++i) {
    const AttributeView& a = node.attributes[i];
    const char letter = attribute_letter(row, a.name);
    if (letter == 0)
      return make_error(Code::kUnsupported, text_of("attribute ", quoted(a.name), " is unknown"));
    if (!a.ref_attr_name.empty())
      return make_error(Code::kBadModel,
                        text_of("attribute ", quoted(a.name), " refers to one of a function"));
    if (letter_of(a.type) != letter)
      return make_error(Code::kBadModel,
                        text_of("attribute ", quoted(a.name), " has type ", attribute_type_name(a.type),
                                ", expected ", letter_name(letter)));
    for (size_t k = 0; k < i; ++k)
      if (node.attributes[k].name == a.name)
        return make_error(Code::kBadModel, text_of("attribute ", quoted(a.name), " is there twice"));
  }
  for (std::string_view name : required_attributes(row)) {
    bool given = false;
    for (const AttributeView& a : node.attributes) given |= a.name == name;
    if (!given) return make_error(Code::kBadModel, text_of("attribute ", quoted(name), " is missing"));
  }
  return {};
}

using FunctionKey = std::tuple<Bytes, Bytes, Bytes>;  // domain, name, overload

// Names of one graph or function body, and what they stand for.
using Scope = std::map<Bytes, ValueId>;

class Importer {
 public:
  Importer(const ModelView& model, Source source, ExternalFiles external)
      : model_(model), source_(std::move(source)), external_(std::move(external)) {
    for (const FunctionView& f : model.functions)
      functions_.emplace(FunctionKey(f.domain, f.name, f.overload), &f);
  }

  Result<graph::Graph> run();

 private:
  Result<int64_t> find_opset(const std::vector<OpsetView>& opsets) const;
  Status add_initializers();
  Status add_inputs();
  Status add_outputs();
  Result<Dim> input_dim(const ValueInfoView& input, size_t axis);
  Status import_nodes(const std::vector<NodeView>& nodes, Scope& scope, int64_t opset, int level);
  Status import_node(const NodeView& node, Scope& scope, int64_t opset, int level);
  Status call_function(const FunctionView& function, const NodeView& node, Scope& scope, int level);
  Result<ValueId> find_value(Bytes name, Scope& scope);
  Status define(Bytes name, ValueId value, Scope& scope);

  const ModelView& model_;
  Source source_;
  ExternalFiles external_;
  graph::Graph graph_;
  Scope main_;
  std::map<Bytes, const TensorView*> initializers_;  // those that nothing has used yet stay out of the graph
  std::map<FunctionKey, const FunctionView*> functions_;
  std::set<std::string> plain_dims_;  // dimension names that some input has as they are
  int64_t node_count_ = 0;
};

Result<int64_t> Importer::find_opset(const std::vector<OpsetView>& opsets) const {
  for (const OpsetView& opset : opsets) {
    if (!is_default_domain(opset.domain)) continue;
    if (opset.version < kOldestOpset || opset.version > kNewestOpset)
      return make_error(Code::kUnsupported, text_of("the model uses opset ", opset.version, ", expected ",
                                                    kOldestOpset, " to ", kNewestOpset));
    return opset.version;
  }
  return make_error(Code::kBadModel, "the model names no opset of ai.onnx");
}

Status Importer::add_initializers() {
  if (model_.graph.has_sparse_initializer)
    return make_error(Code::kUnsupported, "sparse initializers are not supported");
  for (const TensorView& tensor : model_.graph.initializers) {
    if (tensor.name.empty()) return make_error(Code::kBadModel, "an initializer has no name");
    if (!initializers_.emplace(tensor.name, &tensor).second)
      return make_error(Code::kBadModel, text_of("initializer ", quoted(tensor.name), " is there twice"));
  }
  return {};
}

// A named dimension is a symbol. A name such as "past + 1" is taken as the expression it spells when its
// parts are dimensions themselves; else it is just a name.
Result<Dim> Importer::input_dim(const ValueInfoView& input, size_t axis) {
  const DimView& dim = input.type.dims[axis];
  if (dim.has_value && dim.value >= 0) return Dim(dim.value);
  if (!dim.param.empty()) {
    const std::string name(dim.param);
    if (!plain_dims_.contains(name)) {
      if (auto parsed = Dim::parse(name); parsed.ok()) {
        std::vector<std::string> symbols;
        parsed->collect_symbols(symbols);
        bool known = !symbols.empty();
        for (const std::string& s : symbols) known &= plain_dims_.contains(s);
        if (known) return *parsed;
      }
    }
    return Dim::symbol(name);
  }
  std::string fresh = text_of(input.name, ".", axis);
  while (!plain_dims_.insert(fresh).second) fresh += '_';
  return Dim::symbol(fresh);
}

bool is_word(Bytes name) {
  for (char c : name)
    if (!(c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
      return false;
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9');
}

Status Importer::add_inputs() {
  for (const ValueInfoView& input : model_.graph.inputs)
    for (const DimView& dim : input.type.dims)
      if (is_word(dim.param)) plain_dims_.insert(std::string(dim.param));
  for (const ValueInfoView& input : model_.graph.inputs) {
    if (initializers_.contains(input.name)) continue;  // a default value, which frit takes as fixed
    const auto wrong = [&](Code code, const std::string& what) {
      return make_error(code, text_of("input ", quoted(input.name), " ", what));
    };
    if (input.name.empty()) return make_error(Code::kBadModel, "an input has no name");
    switch (input.type.kind) {
      case TypeView::Kind::kTensor:
        break;
      case TypeView::Kind::kNone:
        return wrong(Code::kBadModel, "has no type");
      default:
        return wrong(Code::kUnsupported, "is not a tensor");
    }
    const auto dtype = dtype_from_onnx(input.type.elem_type);
    if (!dtype.ok()) return wrong(dtype.error().code, "has " + dtype.error().message);
    if (!input.type.has_shape) return wrong(Code::kUnsupported, "has no shape, expected at least its rank");
    TensorType type{*dtype, {}, {}};
    for (size_t a = 0; a < input.type.dims.size(); ++a) {
      FRIT_ASSIGN(Dim dim, input_dim(input, a));
      type.shape.push_back(std::move(dim));
    }
    if (!has_sane_size(type)) return wrong(Code::kBadModel, "is too large: " + graph::type_text(type));
    FRIT_TRY(define(input.name, graph_.add_input(std::move(type), std::string(input.name)), main_));
  }
  return {};
}

Status Importer::define(Bytes name, ValueId value, Scope& scope) {
  const bool shadows = &scope == &main_ && initializers_.contains(name);
  if (shadows || !scope.emplace(name, value).second)
    return make_error(Code::kBadModel, text_of("value ", quoted(name), " is defined twice"));
  graph::Value& v = graph_.value(value);
  if (v.name.empty() && &scope == &main_) v.name = std::string(name);
  return {};
}

Result<ValueId> Importer::find_value(Bytes name, Scope& scope) {
  if (name.empty()) return kNoValue;
  if (const auto found = scope.find(name); found != scope.end()) return found->second;
  const auto initializer = &scope == &main_ ? initializers_.find(name) : initializers_.end();
  if (initializer == initializers_.end())
    return make_error(Code::kBadModel, text_of("value ", quoted(name),
                                               " is not defined by an input, an initializer or"
                                               " an earlier node"));
  auto read =
      read_constant(*initializer->second, source_, external_).with(text_of("initializer ", quoted(name)));
  if (!read.ok()) return std::move(read).error();
  const ValueId id = graph_.add_constant(std::move(read->type), std::move(read->data), std::string(name));
  scope.emplace(name, id);
  return id;
}

Status Importer::import_node(const NodeView& node, Scope& scope, int64_t opset, int level) {
  if (++node_count_ > kMostNodes)
    return make_error(Code::kUnsupported, text_of("the model has more than ", kMostNodes, " nodes"));
  if (const auto f = functions_.find({node.domain, node.op_type, node.overload}); f != functions_.end())
    return call_function(*f->second, node, scope, level);
  if (!is_default_domain(node.domain))
    return make_error(Code::kUnsupported, text_of("operator ", node.op_type, " of domain ",
                                                  quoted(node.domain), " is not supported"));
  const OpRow* row = find_op(node.op_type, opset);
  if (row == nullptr && first_opset(node.op_type) != 0)
    return make_error(Code::kBadModel,
                      text_of("the operator does not exist before opset ", first_opset(node.op_type)));
  if (row == nullptr)
    return make_error(Code::kUnsupported, text_of("operator ", quoted(node.op_type), " is not supported"));
  if (row->import == nullptr)
    return make_error(Code::kBadModel, text_of("the operator does not exist from opset ", row->since, " on"));
  FRIT_TRY(check_arity(node, *row));
  FRIT_TRY(check_attributes(node, *row));

  std::vector<ValueId> inputs;
  for (Bytes name : node.inputs) {
    FRIT_ASSIGN(const ValueId id, find_value(name, scope));
    inputs.push_back(id);
  }
  NodeContext context({graph_, source_, external_}, node, *row, std::move(inputs));
  row->import(context);
  if (context.failed()) return context.take_error();
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    const ValueId value = context.outputs()[i];
    if (value == kNoValue) return make_error(Code::kUnsupported, text_of("output ", i, " is not supported"));
    FRIT_TRY(define(node.outputs[i], value, scope));
  }
  return {};
}

// A call is replaced by the function's body, with attribute references resolved.
Status Importer::call_function(const FunctionView& f, const NodeView& node, Scope& scope, int level) {
  if (level >= kMostFunctionLevels)
    return make_error(Code::kUnsupported,
                      text_of("functions call each other more than ", kMostFunctionLevels, " deep"));
  FRIT_ASSIGN(const int64_t opset, find_opset(f.opsets.empty() ? model_.opsets : f.opsets));
  if (node.inputs.size() > f.inputs.size() || node.outputs.size() > f.outputs.size())
    return make_error(Code::kBadModel,
                      text_of("the call has ", node.inputs.size(), " inputs and ", node.outputs.size(),
                              " outputs, the function ", f.inputs.size(), " and ", f.outputs.size()));
  Scope body;
  for (size_t i = 0; i < f.inputs.size(); ++i) {
    FRIT_ASSIGN(const ValueId value, find_value(i < node.inputs.size() ? node.inputs[i] : Bytes(), scope));
    body.emplace(f.inputs[i], value);
  }
  const auto find_attribute = [&](Bytes name) -> const AttributeView* {
    for (const AttributeView& a : node.attributes)
      if (a.name == name) return &a;
    for (const AttributeView& a : f.default_attributes)
      if (a.name == name) return &a;
    return nullptr;
  };
  std::vector<NodeView> nodes = f.nodes;
  for (NodeView& n : nodes) {
    std::vector<AttributeView> resolved;
    for (AttributeView& a : n.attributes) {
      if (a.ref_attr_name.empty()) {
        resolved.push_back(std::move(a));
      } else if (const AttributeView* given = find_attribute(a.ref_attr_name)) {
        resolved.push_back(*given);
        resolved.back().name = a.name;
      }
    }
    n.attributes = std::move(resolved);
  }
  FRIT_TRY(import_nodes(nodes, body, opset, level + 1).with("function " + quoted(f.name)));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    FRIT_ASSIGN(const ValueId value, find_value(f.outputs[i], body));
    if (value == kNoValue)
      return make_error(Code::kBadModel, text_of("output ", i, " of the function is not defined"));
    FRIT_TRY(define(node.outputs[i], value, scope));
  }
  return {};
}

Status Importer::import_nodes(const std::vector<NodeView>& nodes, Scope& scope, int64_t opset, int level) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    Status done = import_node(nodes[i], scope, opset, level);
    if (done.ok()) continue;
    const std::string name = nodes[i].name.empty() ? text_of(i) : quoted(nodes[i].name);
    return std::move(done).with(
        text_of("node ", name, " (", printable(nodes[i].op_type), ", opset ", opset, ")"));
  }
  return {};
}

Status Importer::add_outputs() {
  if (model_.graph.outputs.empty()) return make_error(Code::kBadModel, "the graph has no outputs");
  for (const ValueInfoView& output : model_.graph.outputs) {
    const std::string where = text_of("output ", quoted(output.name));
    if (output.name.empty()) return make_error(Code::kBadModel, "an output has no name");
    auto value = find_value(output.name, main_).with(where);
    if (!value.ok()) return std::move(value).error();
    const DType have = graph_.value(*value).type.dtype;
    if (output.type.kind == TypeView::Kind::kTensor && output.type.elem_type != 0) {
      auto declared = dtype_from_onnx(output.type.elem_type);
      if (!declared.ok()) return std::move(declared).with(where).error();
      if (*declared != have)
        return make_error(Code::kBadModel, text_of(where, " is declared as ", dtype_name(*declared),
                                                   ", but computes ", dtype_name(have)));
    }
    graph_.outputs.push_back(*value);
    graph_.output_names.emplace_back(output.name);
  }
  return {};
}

Result<graph::Graph> Importer::run() {
  FRIT_ASSIGN(const int64_t opset, find_opset(model_.opsets));
  graph_.name = std::string(model_.graph.name);
  FRIT_TRY(add_initializers());
  FRIT_TRY(add_inputs());
  FRIT_TRY(import_nodes(model_.graph.nodes, main_, opset, 0));
  FRIT_TRY(add_outputs());
  return std::move(graph_);
}

Result<graph::Graph> import_source(Source source, ExternalFiles external) {
  if (source.bytes.empty()) return make_error(Code::kBadModel, "the file is empty, expected an ONNX model");
  FRIT_ASSIGN(const ModelView model, parse_model(source.bytes));
  if (!model.has_graph) return make_error(Code::kBadModel, "not an ONNX model: it has no graph");
  try {
    return Importer(model, std::move(source), std::move(external)).run();
  } catch (const std::bad_alloc&) {
    return make_error(Code::kOutOfMemory, "out of memory while importing the model");
  }
}

}  // namespace

namespace {

// Names come from the file and may hold anything; a message goes to terminals and logs.
Result<graph::Graph> with_printable_error(Result<graph::Graph> result) {
  if (result.ok()) return result;
  Error error = std::move(result).error();
  auto clean = [](std::string& text) {
    for (char& c : text)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  };
  clean(error.message);
  for (std::string& context : error.context) clean(context);
  return error;
}

}  // namespace

Result<graph::Graph> import_model(base::FileSystem& files, const std::string& path) {
  FRIT_ASSIGN(base::MappedFile file, files.map(path));
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  auto mapped = std::make_shared<const base::MappedFile>(std::move(file));
  auto origin = files.canonical(path);
  return with_printable_error(import_source(source_of(std::move(mapped), origin.ok() ? *std::move(origin) : path),
                                            ExternalFiles(files, folder)))
      .with(path);
}

Result<graph::Graph> import_bytes(const Buffer& model, const std::string& name,
                                  const ExternalResolver& resolver) {
  return with_printable_error(import_source(source_of(model), ExternalFiles(resolver))).with(name);
}

Result<ImportedTensor> import_tensor(const Buffer& bytes) {
  const Source source = source_of(bytes);
  FRIT_ASSIGN(const TensorView view, parse_tensor(source.bytes));
  ExternalFiles none;
  FRIT_ASSIGN(Constant constant, read_constant(view, source, none));
  return ImportedTensor{std::move(constant.type), std::move(constant.data), std::string(view.name)};
}

}  // namespace frit::onnx
