#include "exec/memory_plan.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "exec/steps.h"
#include "loop/build.h"

namespace frit::exec {

namespace {

using graph::ValueId;

// Whether every phase that has both buffers says that they may be the same memory.
bool aliasing_is_stated(const loop::Program& program, int32_t a, int32_t b) {
  for (const loop::Phase& phase : program.phases) {
    for (size_t i = 0; i < phase.args.size(); ++i) {
      for (size_t j = 0; j < phase.args.size(); ++j) {
        if (phase.args[i] != a || phase.args[j] != b) continue;
        const auto names = [&](size_t x, size_t y) {
          const loop::Buffer& buffer = phase.fn.buffers[x];
          return buffer.in_place && std::find(buffer.may_alias.begin(), buffer.may_alias.end(),
                                              static_cast<int32_t>(y)) != buffer.may_alias.end();
        };
        if (!names(i, j) && !names(j, i)) return false;
      }
    }
  }
  return true;
}

int32_t buffer_of(const loop::Program& program, loop::BufferRole role, int32_t index) {
  for (size_t k = 0; k < program.buffers.size(); ++k) {
    if (program.buffers[k].role == role && program.buffers[k].index == index) return static_cast<int32_t>(k);
  }
  return -1;
}

class Planner {
 public:
  Planner(const CompiledPlan& compiled, const MemoryOptions& options)
      : compiled_(compiled), plan_(*compiled.plan), graph_(plan_.graph), options_(options) {}

  Result<MemoryPlan> run() {
    out_.steps = assign_steps(compiled_, options_.threads);
    for (const int32_t step : out_.steps) out_.step_count = std::max(out_.step_count, step + 1);
    const size_t n = graph_.values.size();
    out_.value_bytes.assign(n, 0);
    out_.values.assign(n, {});
    out_.scratch.resize(plan_.groups.size());
    last_use_.assign(n, -1);
    last_user_.assign(n, -1);
    piece_.assign(n, -1);
    output_index_.assign(n, -1);
    for (size_t k = graph_.outputs.size(); k-- > 0;)
      output_index_[at(graph_.outputs[k])] = static_cast<int32_t>(k);
    FRIT_TRY(place_given());
    for (size_t g = 0; g < plan_.groups.size(); ++g) FRIT_TRY(note_uses(g).with(group_label(plan_, g)));
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
      if (out_.steps[g] >= 0) FRIT_TRY(place_outputs(g).with(group_label(plan_, g)));
    }
    FRIT_TRY(place_results());
    finish();
    return std::move(out_);
  }

 private:
  // Graph inputs, constants and what is made at load.
  Status place_given() {
    for (size_t k = 0; k < graph_.inputs.size(); ++k) {
      Storage& s = out_.values[at(graph_.inputs[k])];
      s.kind = StorageKind::kInput;
      s.index = static_cast<int32_t>(k);
    }
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      if (graph_.values[v].is_constant()) out_.values[v].kind = StorageKind::kConstant;
    }
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const auto shape = graph::constant_shape(graph_.values[v].type.shape);
      if (!shape) continue;  // an error where a group uses it
      int64_t bytes = static_cast<int64_t>(dtype_bytes(graph_.values[v].type.dtype));
      for (const int64_t extent : *shape) bytes *= extent;
      out_.value_bytes[v] = bytes;
    }
    for (const fusion::PlanGroup& group : plan_.groups) {
      if (!group.load_time) continue;
      for (const ValueId v : group.outputs) out_.values[at(v)].kind = StorageKind::kConstant;
    }
    return {};
  }

  Status note_uses(size_t g) {
    const fusion::PlanGroup& group = plan_.groups[g];
    if (group.inputs.size() != group.group.graph.inputs.size() ||
        group.outputs.size() != group.group.graph.outputs.size()) {
      return make_error(Code::kInternal, "group and plan disagree about the number of inputs or outputs");
    }
    for (const auto* values : {&group.inputs, &group.outputs}) {
      for (const ValueId v : *values) {
        if (v < 0 || at(v) >= graph_.values.size())
          return make_error(Code::kInternal, base::text_of("no value ", v));
        if (!graph::constant_shape(graph_.value(v).type.shape)) {
          return make_error(
              Code::kInternal,
              base::text_of("value ", v, " has no constant shape: ", graph::type_text(graph_.value(v).type)));
        }
      }
    }
    const int32_t step = out_.steps[g];
    if (step >= 0) {
      for (const ValueId v : group.inputs) {
        int32_t &use = last_use_[at(v)], &user = last_user_[at(v)];
        if (use < step) {
          use = step;
          user = static_cast<int32_t>(g);
        } else if (user != static_cast<int32_t>(g)) {
          user = kSeveral;
        }
      }
    }
    const BuiltGroup* built = compiled_.groups[g].get();
    if (!built) return {};
    out_.scratch[g].assign(built->program.buffers.size(), -1);
    for (const auto* phases : {&built->program.prepare, &built->program.phases}) {
      for (const loop::Phase& phase : *phases)
        FRIT_TRY(note_phase(g, *built, phase, phases == &built->program.phases));
    }
    return {};
  }

  Status note_phase(size_t g, const BuiltGroup& built, const loop::Phase& phase, bool at_run_time) {
    const fusion::PlanGroup& group = plan_.groups[g];
    for (size_t a = 0; a < phase.args.size(); ++a) {
      const loop::Buffer& arg = phase.fn.buffers[a];
      const loop::ProgramBuffer& buffer = built.program.buffers[at(phase.args[a])];
      int64_t has = buffer.size_bytes;
      ValueId v = graph::kNoValue;
      if (buffer.role == loop::BufferRole::kInput || buffer.role == loop::BufferRole::kOutput) {
        const auto& values = buffer.role == loop::BufferRole::kInput ? group.inputs : group.outputs;
        if (at(buffer.index) >= values.size()) {
          return make_error(Code::kInternal, base::text_of("program has input or output ", buffer.index,
                                                           ", the group has ", values.size()));
        }
        v = values[at(buffer.index)];
        has = out_.value_bytes[at(v)];
      }
      int64_t elements = 0;
      if (loop::as_int(arg.size, &elements) &&
          elements * static_cast<int64_t>(dtype_bytes(arg.dtype)) > has) {
        return make_error(Code::kInternal,
                          base::text_of("argument ", a, " of ", phase.fn.family, " touches ", elements, " ",
                                        dtype_name(arg.dtype), " of a buffer of ", has, " bytes"));
      }
      if (arg.align_bytes > kBufferAlignment) {
        return make_error(Code::kUnsupported,
                          base::text_of("argument ", a, " wants alignment ", arg.align_bytes, ", at most ",
                                        kBufferAlignment, " is given"));
      }
      if (v == graph::kNoValue || !at_run_time || out_.steps[g] < 0) continue;
      Storage& s = out_.values[at(v)];
      s.align_bytes = std::max<int64_t>(s.align_bytes, arg.align_bytes);
      s.over_read |= arg.over_read;
    }
    if (at_run_time && out_.steps[g] >= 0) {
      out_.worker_scratch_bytes = std::max(out_.worker_scratch_bytes, phase.fn.scratch_bytes);
    }
    return {};
  }

  Status place_outputs(size_t g) {
    const fusion::PlanGroup& group = plan_.groups[g];
    const int32_t step = out_.steps[g];
    std::vector<bool> taken(group.inputs.size(), false);
    for (size_t o = 0; o < group.outputs.size(); ++o) {
      const ValueId v = group.outputs[o];
      Storage& s = out_.values[at(v)];
      if (s.kind != StorageKind::kUnused) {
        return make_error(Code::kInternal,
                          base::text_of("value ", v, " is made twice, or is an input or constant"));
      }
      // Directly into the caller's memory, which has no room behind it to read.
      if (output_index_[at(v)] >= 0 && !s.over_read) {
        s.kind = StorageKind::kOutput;
        s.index = output_index_[at(v)];
        continue;
      }
      if (take_over_input(g, static_cast<int32_t>(o), taken)) {
        ++out_.in_place;
        continue;
      }
      s.kind = StorageKind::kArena;
      piece_[at(v)] = static_cast<int32_t>(pieces_.size());
      pieces_.push_back({out_.value_bytes[at(v)] + kOverReadBytes, step, std::max(step, last_use_[at(v)])});
    }
    // Scratch of the program: one step long.
    if (const BuiltGroup* built = compiled_.groups[g].get()) {
      for (size_t k = 0; k < built->program.buffers.size(); ++k) {
        const loop::ProgramBuffer& buffer = built->program.buffers[k];
        if (buffer.role != loop::BufferRole::kScratch) continue;
        scratch_pieces_.push_back({g, k, pieces_.size()});
        pieces_.push_back({buffer.size_bytes + kOverReadBytes, step, step});
      }
    }
    return {};
  }

  // Gives output `o` the memory of the input that the program allows, where nobody needs that any more.
  bool take_over_input(size_t g, int32_t o, std::vector<bool>& taken) {
    const BuiltGroup* built = compiled_.groups[g].get();
    if (!built || at(o) >= built->program.in_place.size()) return false;
    const fusion::PlanGroup& group = plan_.groups[g];
    const int32_t i = built->program.in_place[at(o)];
    if (i < 0 || at(i) >= group.inputs.size() || taken[at(i)]) return false;
    const ValueId from = group.inputs[at(i)], to = group.outputs[at(o)];
    if (std::count(group.inputs.begin(), group.inputs.end(), from) != 1) return false;
    if (output_index_[at(from)] >= 0 || last_user_[at(from)] != static_cast<int32_t>(g)) return false;
    if (out_.value_bytes[at(from)] < out_.value_bytes[at(to)]) return false;
    const int32_t in_buffer = buffer_of(built->program, loop::BufferRole::kInput, i);
    const int32_t out_buffer = buffer_of(built->program, loop::BufferRole::kOutput, o);
    if (in_buffer < 0 || out_buffer < 0 || !aliasing_is_stated(built->program, in_buffer, out_buffer))
      return false;
    const Storage source = out_.values[at(from)];
    Storage& target = out_.values[at(to)];
    if (source.kind == StorageKind::kArena) {
      piece_[at(to)] = piece_[at(from)];
      Lifetime& piece = pieces_[at(piece_[at(to)])];
      piece.last = std::max({piece.last, out_.steps[g], last_use_[at(to)]});
    } else if (source.kind == StorageKind::kInput && is_donated(source.index)) {
      target.index = source.index;
    } else {
      return false;
    }
    target.kind = source.kind;
    taken[at(i)] = true;
    return true;
  }

  bool is_donated(int32_t input) const {
    return at(input) < options_.donated.size() && options_.donated[at(input)];
  }

  Status place_results() {
    for (size_t k = 0; k < graph_.outputs.size(); ++k) {
      const ValueId v = graph_.outputs[k];
      const Storage& s = out_.values[at(v)];
      if (!options_.physical_io && !graph_.value(v).type.layout.is_plain()) {
        return make_error(Code::kInternal,
                          base::text_of("output ", k, " has type ", graph::type_text(graph_.value(v).type),
                                        ", expected row-major"));
      }
      if (s.kind == StorageKind::kUnused)
        return make_error(Code::kInternal, base::text_of("no group makes output ", k));
      if (s.kind == StorageKind::kOutput && s.index == static_cast<int32_t>(k)) continue;
      out_.copies.push_back({static_cast<int32_t>(k), v});
      if (s.kind == StorageKind::kArena) pieces_[at(piece_[at(v)])].last = out_.step_count;
    }
    return {};
  }

  void finish() {
    const Placement placement = place(pieces_);
    for (size_t v = 0; v < out_.values.size(); ++v) {
      if (out_.values[v].kind == StorageKind::kArena)
        out_.values[v].offset = placement.offsets[at(piece_[v])];
    }
    for (const ScratchPiece& s : scratch_pieces_)
      out_.scratch[s.group][s.buffer] = placement.offsets[s.piece];
    out_.worker_scratch_offset = placement.size_bytes;
    out_.worker_scratch_bytes =
        (out_.worker_scratch_bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    out_.arena_bytes = placement.size_bytes + out_.worker_scratch_bytes * std::max(options_.threads, 1);
  }

  struct ScratchPiece {
    size_t group, buffer, piece;
  };
  static constexpr int32_t kSeveral = -2;

  const CompiledPlan& compiled_;
  const fusion::Plan& plan_;
  const graph::Graph& graph_;
  const MemoryOptions& options_;
  MemoryPlan out_;
  std::vector<int32_t> last_use_;      // per value: the last step that reads it, -1: none
  std::vector<int32_t> last_user_;     // the group that does, or kSeveral
  std::vector<int32_t> piece_;         // per value in the arena
  std::vector<int32_t> output_index_;  // per value: the first graph output that it is, -1: none
  std::vector<Lifetime> pieces_;
  std::vector<ScratchPiece> scratch_pieces_;
};

}  // namespace

Result<MemoryPlan> plan_memory(const CompiledPlan& compiled, const MemoryOptions& options) {
  return Planner(compiled, options).run();
}

}  // namespace frit::exec
