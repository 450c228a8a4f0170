#include "support/guarded.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "base/text.h"
#include "base/try.h"
#include "exec/host_ops.h"
#include "loop/build.h"

namespace frit::testing {
namespace {

using base::GuardedBuffer;
using graph::HostTensor;
using graph::ValueId;

constexpr size_t kOverReadBytes = 64;

size_t at(int32_t id) { return static_cast<size_t>(id); }

class GuardedRun {
 public:
  GuardedRun(const exec::CompiledPlan& compiled, const GuardedOptions& options, GuardedCounts& counts)
      : compiled_(compiled),
        plan_(*compiled.plan),
        options_(options),
        counts_(counts),
        random_(options.seed),
        values_(plan_.graph.values.size()) {}

  Result<std::vector<HostTensor>> run(std::span<const HostTensor> inputs) {
    for (size_t k = 0; k < inputs.size(); ++k) values_[at(plan_.graph.inputs[k])] = inputs[k];
    for (size_t v = 0; v < values_.size(); ++v) {
      const auto& data = plan_.graph.values[v].constant;
      if (!data) continue;
      FRIT_ASSIGN(const HostTensor like, allocate(static_cast<ValueId>(v)));
      values_[v] = HostTensor::view(like.dtype(), like.shape(), data->bytes, data);
    }
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
      for (const ValueId v : plan_.groups[g].outputs) {
        FRIT_ASSIGN(values_[at(v)], allocate(v));
      }
      FRIT_TRY((compiled_.groups[g] ? run_program(g) : run_host_op(g)).with(exec::group_label(plan_, g)));
    }
    std::vector<HostTensor> out;
    for (const ValueId v : plan_.graph.outputs) out.push_back(values_[at(v)]);
    return out;
  }

 private:
  Result<HostTensor> allocate(ValueId v) const {
    const auto& type = plan_.graph.value(v).type;
    auto shape = graph::constant_shape(type.shape);
    if (!shape) return make_error(Code::kInternal, base::text_of("value ", v, " has no constant shape"));
    return HostTensor::allocate(type.dtype, *std::move(shape));
  }

  // What the program's signatures say about one of its buffers.
  struct Needs {
    size_t alignment = 1;
    size_t over_read = 0;
  };
  static std::vector<Needs> needs_of(const loop::Program& program) {
    std::vector<Needs> needs(program.buffers.size());
    for (const auto* phases : {&program.prepare, &program.phases}) {
      for (const loop::Phase& phase : *phases) {
        for (size_t k = 0; k < phase.args.size(); ++k) {
          const loop::Buffer& arg = phase.fn.buffers[k];
          Needs& n = needs[at(phase.args[k])];
          n.alignment = std::max(n.alignment, static_cast<size_t>(arg.align_bytes));
          if (arg.over_read) n.over_read = kOverReadBytes;
        }
      }
    }
    return needs;
  }

  Status run_program(size_t g) {
    const fusion::PlanGroup& group = plan_.groups[g];
    const loop::Program& program = compiled_.groups[g]->program;
    const std::vector<Needs> needs = needs_of(program);
    memory_.clear();
    memory_.resize(program.buffers.size());
    std::vector<size_t> bytes(program.buffers.size());
    std::vector<int32_t> place(program.buffers.size());  // the buffer whose memory is used
    std::vector<bool> overwritten(program.buffers.size(), false);
    for (size_t k = 0; k < program.buffers.size(); ++k) {
      const loop::ProgramBuffer& buffer = program.buffers[k];
      place[k] = static_cast<int32_t>(k);
      const bool own = buffer.role != loop::BufferRole::kInput && buffer.role != loop::BufferRole::kOutput;
      const auto& list = buffer.role == loop::BufferRole::kInput ? group.inputs : group.outputs;
      bytes[k] =
          own ? static_cast<size_t>(buffer.size_bytes) : values_[at(list[at(buffer.index)])].size_bytes();
    }
    for (size_t k = 0; k < program.buffers.size(); ++k) {
      const loop::ProgramBuffer& buffer = program.buffers[k];
      if (buffer.role == loop::BufferRole::kOutput) {
        const int32_t input = program.in_place[at(buffer.index)];
        if (input >= 0 && options_.in_place && random_() % 2 == 0) {
          for (size_t i = 0; i < program.buffers.size(); ++i) {
            if (program.buffers[i].role != loop::BufferRole::kInput || program.buffers[i].index != input)
              continue;
            if (bytes[i] != bytes[k]) return make_error(Code::kInternal, "in place of another size");
            place[k] = static_cast<int32_t>(i);
            overwritten[i] = true;
            ++counts_.in_place;
          }
          continue;
        }
      }
      FRIT_ASSIGN(memory_[k],
                  GuardedBuffer::make(bytes[k] + needs[k].over_read, needs[k].alignment, options_.side));
      if (buffer.role == loop::BufferRole::kInput && bytes[k] != 0)
        std::memcpy(memory_[k].data(), values_[at(group.inputs[at(buffer.index)])].bytes(), bytes[k]);
    }
    for (const loop::Phase& phase : program.prepare) FRIT_TRY(run_phase(phase, place, bytes));
    for (const loop::Phase& phase : program.phases) FRIT_TRY(run_phase(phase, place, bytes));

    for (size_t k = 0; k < program.buffers.size(); ++k) {
      const loop::ProgramBuffer& buffer = program.buffers[k];
      FRIT_TRY(memory_[k].check().with(base::text_of("program buffer ", k)));
      if (bytes[k] == 0) continue;
      if (buffer.role == loop::BufferRole::kInput && !overwritten[k] &&
          std::memcmp(memory_[k].data(), values_[at(group.inputs[at(buffer.index)])].bytes(), bytes[k]) != 0)
        return make_error(Code::kInternal, base::text_of("input ", buffer.index, " was overwritten"));
      if (buffer.role == loop::BufferRole::kOutput)
        std::memcpy(values_[at(group.outputs[at(buffer.index)])].mutable_bytes(),
                    memory_[at(place[k])].data(), bytes[k]);
    }
    return {};
  }

  Status run_phase(const loop::Phase& phase, const std::vector<int32_t>& place,
                   const std::vector<size_t>& bytes) {
    int64_t tiles = 1;
    for (const loop::TileDim& dim : phase.fn.tiles) {
      int64_t extent = 0;
      if (!loop::as_int(dim.extent, &extent))
        return make_error(Code::kInternal, "tiles depend on run-time sizes");
      tiles *= extent;
    }
    std::vector<void*> pointers;
    std::vector<size_t> sizes;
    for (const int32_t b : phase.args) {
      pointers.push_back(memory_[at(place[at(b)])].data());
      sizes.push_back(bytes[at(b)]);
    }
    // Cuts anywhere, also twice at one place.
    std::vector<int64_t> cuts{0, tiles};
    for (int n = static_cast<int>(random_() % static_cast<uint64_t>(std::max(options_.max_pieces, 1))); n > 0;
         --n)
      cuts.push_back(static_cast<int64_t>(random_() % static_cast<uint64_t>(tiles + 1)));
    std::sort(cuts.begin(), cuts.end());
    std::vector<size_t> order(cuts.size() - 1);
    for (size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::shuffle(order.begin(), order.end(), random_);
    for (const size_t k : order) {
      FRIT_ASSIGN(const GuardedBuffer scratch,
                  GuardedBuffer::make(static_cast<size_t>(phase.fn.scratch_bytes), device::kScratchAlignment,
                                      options_.side));
      int64_t error[device::kErrorWords] = {};
      const device::KernelArgs args{pointers.data(),
                                    nullptr,
                                    cuts[k],
                                    cuts[k + 1],
                                    phase.fn.scratch_bytes ? scratch.data() : nullptr,
                                    error};
      FRIT_ASSIGN(const int32_t status, options_.launch(phase.fn, args, sizes));
      ++counts_.kernels;
      if (status != 0) return make_error(Code::kInvalidArgument, device::describe_kernel_error(error));
      FRIT_TRY(scratch.check().with("scratch"));
    }
    return {};
  }

  Status run_host_op(size_t g) {
    const fusion::PlanGroup& group = plan_.groups[g];
    FRIT_ASSIGN(const exec::HostOp op, exec::HostOp::make(group));
    std::vector<void*> buffers;
    for (const ValueId v : group.inputs) buffers.push_back(values_[at(v)].mutable_bytes());
    for (const ValueId v : group.outputs) buffers.push_back(values_[at(v)].mutable_bytes());
    return op.run(buffers.data(), nullptr);
  }

  const exec::CompiledPlan& compiled_;
  const fusion::Plan& plan_;
  const GuardedOptions& options_;
  GuardedCounts& counts_;
  std::mt19937_64 random_;
  std::vector<HostTensor> values_;
  std::vector<GuardedBuffer> memory_;
};

const std::string* described = nullptr;

void on_fault(int number) {
  if (described) {
    for (size_t done = 0; done < described->size();) {
      const ssize_t n = write(STDERR_FILENO, described->data() + done, described->size() - done);
      if (n <= 0) break;
      done += static_cast<size_t>(n);
    }
  }
  signal(number, SIG_DFL);
  raise(number);
}

}  // namespace

Result<std::vector<HostTensor>> run_guarded(const exec::CompiledPlan& compiled,
                                            std::span<const HostTensor> inputs, const GuardedOptions& options,
                                            GuardedCounts* counts) {
  GuardedCounts unused;
  return GuardedRun(compiled, options, counts ? *counts : unused).run(inputs);
}

void describe_faults(const std::string* what) {
  described = what;
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) signal(number, on_fault);
}

}  // namespace frit::testing
