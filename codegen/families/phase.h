// The frame around a family's loop nest: which program buffers a phase reads and writes, as arguments of its LoopFn and
// as bound values of a Dag, with alias facts filled in.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/families/dag.h"
#include "codegen/families/family.h"
#include "codegen/families/group.h"
#include "loop/program.h"

namespace frit::codegen {

class PhaseBuilder;

class ProgramBuilder {
 public:
  // What the program's functions are for: a GPU's have block and thread loops, and tensors that frit aligned.
  enum class Device : uint8_t { kCpu, kGpu };

  // Inputs and outputs of the group become the first buffers of the program.
  explicit ProgramBuilder(const Group& group, Device device = Device::kCpu);
  Device device() const { return device_; }
  int32_t add_buffer(loop::BufferRole role, int64_t size_bytes);
  // Ends the phase and appends it; `grain`: tiles are handed out in multiples of it.
  void add_phase(PhaseBuilder& phase, bool prepare, int64_t grain = 1);
  // Says which outputs may share an input's memory (in_place_candidates); before the phases are added.
  void allow_in_place(std::vector<int32_t> inputs) { program_.in_place = std::move(inputs); }
  loop::Program take() { return std::move(program_); }
  const Group& group() const { return group_; }
  const loop::Program& program() const { return program_; }

 private:
  const Group& group_;
  const Device device_;
  loop::Program program_;
};

class PhaseBuilder {
 public:
  // reads: group inputs (positions); reads_buffers: other program buffers; outputs: group outputs it writes;
  // writes_buffers: other program buffers it writes. Group inputs and outputs are bound in the Dag.
  PhaseBuilder(ProgramBuilder& program, std::string family, int32_t lanes, const std::vector<int32_t>& reads,
               const std::vector<int32_t>& reads_buffers, const std::vector<graph::ValueId>& outputs,
               const std::vector<int32_t>& writes_buffers);

  loop::Builder& builder() { return builder_; }
  Dag& dag() { return dag_; }
  // A program buffer that the constructor was given.
  const loop::Buffer& program_buffer(int32_t id) const { return extra_.at(id); }

  // Binds the anchor's result to `value` and stores every output of the group at the element that `index` (of the
  // result) becomes.
  void finish(graph::ValueId result, const Index& index, loop::Expr value);
  // Stores one output of the group at its own index.
  void store_output(graph::ValueId output, const Index& index, loop::Expr value) { dag_.store_to(outputs_.at(output), output, index, value); }
  // Dag::at with an index whose leading axes may be longer than the value's shape or broadcast in it.
  loop::Expr broadcast(graph::ValueId value, const Index& index, loop::Expr guard = {});
  // lanes wide: n + lane < limit. One per n expression.
  loop::Expr tail_mask(loop::Expr n, int64_t limit);

 private:
  friend class ProgramBuilder;
  ProgramBuilder& program_;
  std::shared_ptr<loop::LoopFn> fn_;
  loop::Builder builder_;
  std::vector<int32_t> args_;
  std::map<int32_t, loop::Buffer> extra_;
  std::map<graph::ValueId, loop::Buffer> outputs_;
  Dag dag_;
};

// Whether something reads `input` other than by way of `value`, which the anchor reads once.
bool read_outside_of(const graph::Graph& graph, graph::ValueId value, graph::ValueId input);

// Row-major or laid-out elements a value takes.
int64_t value_elements(const graph::Graph& graph, graph::ValueId value);
double value_bytes(const graph::Graph& graph, graph::ValueId value);

// Roofline of a group that reads and writes each of its values once: its FLOPs at the machine's peak divided by
// `peak_share`, against its traffic.
Cost group_cost(const Group& group, const BuildContext& context, double peak_share);

}  // namespace frit::codegen
