#include "exec/constants.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "base/mapped_file.h"
#include "base/stop.h"
#include "base/text.h"
#include "base/try.h"
#include "exec/host_ops.h"
#include "exec/launch.h"
#include "exec/prepare_parts.h"
#include "exec/run_error.h"

namespace frit::exec {

namespace {

using graph::ValueId;

// The bytes of a constant never change, so where they came from says what they are; others are known by their
// contents.
base::Hash128 identity_of(const graph::ConstantData& data) {
  base::Hasher h;
  if (data.origin_file.empty()) {
    h.add(std::string_view("bytes")).update(data.bytes, data.size_bytes);
  } else {
    h.add(std::string_view("file")).add(std::string_view(data.origin_file)).add(data.origin_offset);
    h.add(reinterpret_cast<uintptr_t>(data.bytes));
  }
  return h.add(static_cast<uint64_t>(data.size_bytes)).finish();
}

class Preparer {
 public:
  Preparer(const CompiledPlan& compiled, const MemoryPlan& memory, ConstantStore& store,
           const PrepareOptions& options)
      : compiled_(compiled),
        plan_(*compiled.plan),
        memory_(memory),
        store_(store),
        options_(options),
        workers_(options.workers ? *options.workers : alone_),
        states_(at(workers_.workers())) {}

  Result<PreparedConstants> run() {
    const size_t groups = plan_.groups.size(), values = plan_.graph.values.size();
    maker_.assign(values, -1);
    output_.assign(values, 0);
    identity_.assign(values, std::nullopt);
    direct_.assign(values, false);
    loads_.resize(groups);
    parts_.resize(groups);
    blocks_.resize(groups);
    out_.values.assign(values, nullptr);
    out_.prepared.resize(groups);
    FRIT_TRY(identify());
    find_needs();
    for (size_t g = 0; g < groups; ++g) {
      if (loads_[g].must_run) FRIT_TRY(load_group(g).with(group_label(plan_, g)));
    }
    for (size_t g = 0; g < groups; ++g) {
      if (!plan_.groups[g].load_time) FRIT_TRY(pack_group(g).with(group_label(plan_, g)));
    }
    for (size_t v = 0; v < values; ++v) {
      if (direct_[v]) FRIT_TRY(keep_value(static_cast<ValueId>(v)));
    }
    store_.pin(out_.blocks);
    return std::move(out_);
  }

 private:
  struct LoadGroup {
    base::Hash128 key;
    SharedBlock outputs;
    int64_t uses = 0;  // readers that are still to come
    bool must_run = false;
  };

  Status identify() {
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
      const fusion::PlanGroup& group = plan_.groups[g];
      const BuiltGroup* built = compiled_.groups[g].get();
      if (group.load_time) {
        base::Hasher h;
        h.add(std::string_view("load")).add(options_.flush_denormals);
        const base::Hash128 how = built ? built->program_hash : base::hash128(group.group.text());
        h.add(how.hi).add(how.lo);
        for (const ValueId v : group.inputs) {
          if (!is_constant(v))
            return make_error(Code::kInternal,
                              base::text_of("load-time group reads value ", v, ", which is not constant"));
          const base::Hash128 id = identity(v);
          h.add(id.hi).add(id.lo);
        }
        loads_[g].key = h.finish();
        for (size_t o = 0; o < group.outputs.size(); ++o) {
          maker_[at(group.outputs[o])] = static_cast<int32_t>(g);
          output_[at(group.outputs[o])] = static_cast<int32_t>(o);
        }
      }
      if (!built) continue;
      for (const loop::Phase& phase : built->program.prepare) {
        for (const int32_t b : phase.args) {
          const loop::ProgramBuffer& buffer = built->program.buffers[at(b)];
          if (buffer.role != loop::BufferRole::kInput || is_constant(group.inputs[at(buffer.index)]))
            continue;
          return make_error(Code::kInternal, base::text_of("prepare phase of ", group.family, " reads input ",
                                                           buffer.index, ", which is not constant"));
        }
      }
      FRIT_ASSIGN(parts_[g], prepare_parts(built->program,
                                           [&](int32_t input) { return identity(group.inputs[at(input)]); }));
      for (PreparePart& part : parts_[g]) {
        part.key = base::Hasher().add(part.key.hi).add(part.key.lo).add(options_.flush_denormals).finish();
      }
      blocks_[g].resize(parts_[g].size());
    }
    return {};
  }

  bool is_constant(ValueId v) const { return plan_.graph.value(v).is_constant() || maker_[at(v)] >= 0; }

  base::Hash128 identity(ValueId v) {
    std::optional<base::Hash128>& id = identity_[at(v)];
    if (!id && maker_[at(v)] >= 0) {
      const base::Hash128& key = loads_[at(maker_[at(v)])].key;
      id = base::Hasher().add(key.hi).add(key.lo).add(output_[at(v)]).finish();
    } else if (!id) {
      id = identity_of(*plan_.graph.value(v).constant);
    }
    return *id;
  }

  void need(ValueId v) {
    if (maker_[at(v)] < 0) return;
    LoadGroup& group = loads_[at(maker_[at(v)])];
    if (group.uses++ > 0) return;
    group.outputs = store_.find(group.key);
    group.must_run = group.outputs == nullptr;
  }
  void done(ValueId v) {
    if (maker_[at(v)] < 0) return;
    LoadGroup& group = loads_[at(maker_[at(v)])];
    if (--group.uses == 0) group.outputs.reset();
  }

  void need_parts(size_t g) {
    for (size_t p = 0; p < parts_[g].size(); ++p) {
      blocks_[g][p] = store_.find(parts_[g][p].key);
      if (blocks_[g][p]) continue;
      for (const int32_t input : parts_[g][p].inputs) need(plan_.groups[g].inputs[at(input)]);
    }
  }

  // Inputs that a group reads by its phases, or as a host op.
  std::vector<ValueId> read_inputs(size_t g) const {
    const fusion::PlanGroup& group = plan_.groups[g];
    const BuiltGroup* built = compiled_.groups[g].get();
    if (!built) return group.inputs;
    std::vector<bool> read(group.inputs.size(), false);
    for (const loop::Phase& phase : built->program.phases) {
      for (const int32_t b : phase.args) {
        const loop::ProgramBuffer& buffer = built->program.buffers[at(b)];
        if (buffer.role == loop::BufferRole::kInput) read[at(buffer.index)] = true;
      }
    }
    std::vector<ValueId> out;
    for (size_t k = 0; k < read.size(); ++k) {
      if (read[k]) out.push_back(group.inputs[k]);
    }
    return out;
  }

  void find_needs() {
    const auto keep = [&](ValueId v) {
      if (!is_constant(v) || direct_[at(v)]) return;
      direct_[at(v)] = true;
      need(v);
    };
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
      if (plan_.groups[g].load_time) continue;
      need_parts(g);
      for (const ValueId v : read_inputs(g)) keep(v);
    }
    for (const OutputCopy& copy : memory_.copies) keep(copy.value);
    for (size_t g = plan_.groups.size(); g-- > 0;) {
      if (!loads_[g].must_run) continue;
      need_parts(g);
      for (const ValueId v : read_inputs(g)) need(v);
    }
  }

  Result<const std::byte*> raw(ValueId v) {
    if (maker_[at(v)] >= 0)
      return static_cast<const std::byte*>(loads_[at(maker_[at(v)])].outputs->data(at(output_[at(v)])));
    const graph::ConstantData& data = *plan_.graph.value(v).constant;
    if (static_cast<int64_t>(data.size_bytes) < memory_.value_bytes[at(v)]) {
      return make_error(Code::kBadModel,
                        base::text_of("constant ", base::quoted(data.name), " has ", data.size_bytes,
                                      " bytes, expected ", memory_.value_bytes[at(v)]));
    }
    return data.bytes;
  }

  static bool fits(const std::byte* p, int64_t align_bytes, bool over_read) {
    return p && !over_read && reinterpret_cast<uintptr_t>(p) % static_cast<uintptr_t>(align_bytes) == 0;
  }

  Result<SharedBlock> copy_of(ValueId v) {
    FRIT_ASSIGN(const std::byte* from, raw(v));
    const int64_t bytes = memory_.value_bytes[at(v)];
    FRIT_ASSIGN(auto block, ConstantBlock::make({&bytes, 1}));
    if (bytes > 0) std::memcpy(block->data(0), from, static_cast<size_t>(bytes));
    return SharedBlock(std::move(block));
  }

  // The constant for an argument at load: itself where it is aligned and need not be padded, else a passing
  // copy.
  Result<const std::byte*> readable(ValueId v, const loop::Buffer& arg) {
    FRIT_ASSIGN(const std::byte* p, raw(v));
    if (maker_[at(v)] >= 0 || fits(p, arg.align_bytes, arg.over_read)) return p;
    SharedBlock& copy = passing_[v];
    if (!copy) {
      FRIT_ASSIGN(copy, copy_of(v));
    }
    return static_cast<const std::byte*>(copy->data(0));
  }

  Status run_phase(size_t g, const loop::Phase& phase, const device::Kernel& kernel, void* const* buffers) {
    FRIT_TRY(base::check_stop(options_.stop));
    const int64_t tiles = kernel.shape().tiles;
    if (tiles <= 0) return {};
    const int count =
        static_cast<int>(std::clamp<int64_t>((tiles + phase.grain - 1) / phase.grain, 1, workers_.workers()));
    const int64_t stride =
        (phase.fn.scratch_bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    if (stride * count > static_cast<int64_t>(scratch_.size_bytes())) {
      FRIT_ASSIGN(scratch_, base::AlignedBuffer::make(static_cast<size_t>(stride * count)));
    }
    ++out_.launches;
    launch_split(workers_,
                 {kernel.entry(), buffers, tiles, phase.grain, scratch_.data(), stride, states_.data(),
                  options_.flush_denormals},
                 count);
    if (const WorkerState* failed = take_failure(states_.data(), count)) {
      return kernel_error(error_sites(plan_, g), group_label(plan_, g), failed->error);
    }
    return {};
  }

  Status pack_parts(size_t g) {
    const fusion::PlanGroup& group = plan_.groups[g];
    for (size_t k = 0; k < parts_[g].size(); ++k) {
      if (blocks_[g][k]) continue;
      const PreparePart& part = parts_[g][k];
      blocks_[g][k] = store_.find(part.key);  // an equal part may have been made meanwhile
      if (!blocks_[g][k]) {
        FRIT_ASSIGN(blocks_[g][k], pack(g, part));
      }
      for (const int32_t input : part.inputs) {
        done(group.inputs[at(input)]);
        drop_pages(group.inputs[at(input)]);
      }
    }
    return {};
  }

  // What was packed is not read again soon, so a mapped file's pages need not stay in memory beside the copy.
  void drop_pages(ValueId v) const {
    const graph::ConstantData* data = plan_.graph.value(v).constant.get();
    if (data && data->mapped && !direct_[at(v)]) data->mapped->drop_pages(data->origin_offset, data->size_bytes);
  }

  Result<SharedBlock> pack(size_t g, const PreparePart& part) {
    const BuiltGroup& built = *compiled_.groups[g];
    base::TraceSpan span(options_.trace, "exec", "pack ", [&] { return group_label(plan_, g); });
    std::vector<int64_t> sizes;
    for (const int32_t b : part.buffers) sizes.push_back(built.program.buffers[at(b)].size_bytes);
    FRIT_ASSIGN(auto block, ConstantBlock::make(sizes));
    for (const size_t p : part.phases) {
      const loop::Phase& phase = built.program.prepare[p];
      std::vector<void*> buffers;
      for (size_t a = 0; a < phase.args.size(); ++a) {
        const auto made = std::lower_bound(part.buffers.begin(), part.buffers.end(), phase.args[a]);
        if (made != part.buffers.end() && *made == phase.args[a]) {
          buffers.push_back(block->data(static_cast<size_t>(made - part.buffers.begin())));
          continue;
        }
        const ValueId v = plan_.groups[g].inputs[at(built.program.buffers[at(phase.args[a])].index)];
        FRIT_ASSIGN(const std::byte* p_in, readable(v, phase.fn.buffers[a]));
        buffers.push_back(const_cast<std::byte*>(p_in));
      }
      FRIT_TRY(run_phase(g, phase, *built.prepare[p], buffers.data()));
    }
    passing_.clear();
    return store_.add(part.key, std::move(block));
  }

  void prepared_addresses(size_t g, std::vector<std::byte*>& out) const {
    out.assign(compiled_.groups[g]->program.buffers.size(), nullptr);
    for (size_t k = 0; k < parts_[g].size(); ++k) {
      for (size_t b = 0; b < parts_[g][k].buffers.size(); ++b)
        out[at(parts_[g][k].buffers[b])] = blocks_[g][k]->data(b);
    }
  }

  Status pack_group(size_t g) {
    if (!compiled_.groups[g]) return {};
    FRIT_TRY(pack_parts(g));
    prepared_addresses(g, out_.prepared[g]);
    out_.blocks.insert(out_.blocks.end(), blocks_[g].begin(), blocks_[g].end());
    return {};
  }

  Status load_group(size_t g) {
    const fusion::PlanGroup& group = plan_.groups[g];
    base::TraceSpan span(options_.trace, "exec", "load ", [&] { return group_label(plan_, g); });
    std::vector<int64_t> sizes;
    for (const ValueId v : group.outputs) sizes.push_back(memory_.value_bytes[at(v)]);
    FRIT_ASSIGN(auto outputs, ConstantBlock::make(sizes));
    if (compiled_.groups[g]) {
      FRIT_TRY(pack_parts(g));
      FRIT_TRY(run_program(g, *outputs));
      blocks_[g].assign(parts_[g].size(), nullptr);
    } else {
      FRIT_TRY(run_host_op(g, *outputs));
    }
    passing_.clear();
    for (const ValueId v : read_inputs(g)) {
      done(v);
      drop_pages(v);
    }
    loads_[g].outputs = store_.add(loads_[g].key, std::move(outputs));
    return {};
  }

  Status run_program(size_t g, const ConstantBlock& outputs) {
    const fusion::PlanGroup& group = plan_.groups[g];
    const BuiltGroup& built = *compiled_.groups[g];
    std::vector<std::byte*> buffers;
    prepared_addresses(g, buffers);
    std::vector<int64_t> sizes;
    for (const loop::ProgramBuffer& b : built.program.buffers)
      sizes.push_back(b.role == loop::BufferRole::kScratch ? b.size_bytes : 0);
    FRIT_ASSIGN(auto scratch, ConstantBlock::make(sizes));
    for (size_t k = 0; k < buffers.size(); ++k) {
      const loop::ProgramBuffer& b = built.program.buffers[k];
      if (b.role == loop::BufferRole::kScratch) buffers[k] = scratch->data(k);
      if (b.role == loop::BufferRole::kOutput) buffers[k] = outputs.data(at(b.index));
    }
    for (size_t p = 0; p < built.program.phases.size(); ++p) {
      const loop::Phase& phase = built.program.phases[p];
      std::vector<void*> args;
      for (size_t a = 0; a < phase.args.size(); ++a) {
        const loop::ProgramBuffer& b = built.program.buffers[at(phase.args[a])];
        if (b.role == loop::BufferRole::kInput) {
          FRIT_ASSIGN(const std::byte* in, readable(group.inputs[at(b.index)], phase.fn.buffers[a]));
          args.push_back(const_cast<std::byte*>(in));
        } else {
          args.push_back(buffers[at(phase.args[a])]);
        }
      }
      FRIT_TRY(run_phase(g, phase, *built.phases[p], args.data()));
    }
    return {};
  }

  Status run_host_op(size_t g, const ConstantBlock& outputs) {
    FRIT_TRY(base::check_stop(options_.stop));
    const fusion::PlanGroup& group = plan_.groups[g];
    FRIT_ASSIGN(const HostOp op, HostOp::make(group));
    std::vector<void*> buffers;
    for (const ValueId v : group.inputs) {
      FRIT_ASSIGN(const std::byte* in, raw(v));
      buffers.push_back(const_cast<std::byte*>(in));
    }
    for (size_t o = 0; o < group.outputs.size(); ++o) buffers.push_back(outputs.data(o));
    ++out_.launches;
    return op.run(buffers.data(), &workers_);
  }

  Status keep_value(ValueId v) {
    if (maker_[at(v)] >= 0) {
      const LoadGroup& group = loads_[at(maker_[at(v)])];
      out_.values[at(v)] = group.outputs->data(at(output_[at(v)]));
      out_.blocks.push_back(group.outputs);
      return {};
    }
    FRIT_ASSIGN(const std::byte* p, raw(v));
    const Storage& storage = memory_.values[at(v)];
    if (fits(p, storage.align_bytes, storage.over_read)) {
      out_.values[at(v)] = p;
      out_.originals.push_back(plan_.graph.value(v).constant);
      out_.original_bytes += memory_.value_bytes[at(v)];
      return {};
    }
    const base::Hash128 id = identity(v);
    const base::Hash128 key = base::Hasher().add(std::string_view("copy")).add(id.hi).add(id.lo).finish();
    SharedBlock block = store_.find(key);
    if (!block) {
      FRIT_ASSIGN(block, copy_of(v));
      block = store_.add(key, std::move(block));
    }
    out_.values[at(v)] = block->data(0);
    out_.blocks.push_back(std::move(block));
    return {};
  }

  const CompiledPlan& compiled_;
  const fusion::Plan& plan_;
  const MemoryPlan& memory_;
  ConstantStore& store_;
  const PrepareOptions& options_;
  base::PoolLease alone_;
  base::PoolLease& workers_;
  std::vector<WorkerState> states_;
  base::AlignedBuffer scratch_;

  std::vector<int32_t> maker_,
      output_;  // per value: the load-time group that makes it and which output, -1: none
  std::vector<std::optional<base::Hash128>> identity_;
  std::vector<bool> direct_;  // per value: read in place during runs
  std::vector<LoadGroup> loads_;
  std::vector<std::vector<PreparePart>> parts_;   // per group
  std::vector<std::vector<SharedBlock>> blocks_;  // parallel to parts_
  std::map<ValueId, SharedBlock> passing_;        // aligned copies for the phase at hand
  PreparedConstants out_;
};

}  // namespace

Result<PreparedConstants> prepare_constants(const CompiledPlan& compiled, const MemoryPlan& memory,
                                            ConstantStore& store, const PrepareOptions& options) {
  return Preparer(compiled, memory, store, options).run();
}

}  // namespace frit::exec
