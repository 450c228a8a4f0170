#include "base/text.h"
#include "loop/verify.h"

namespace frit::loop {

namespace {

Status check_phase(const Program& p, const Phase& phase, bool prepares) {
  const LoopFn& fn = phase.fn;
  const auto wrong = [](auto... parts) { return make_error(Code::kInternal, base::text_of(parts...)); };
  if (Status s = verify(fn); !s.ok()) return s;
  if (phase.args.size() != static_cast<size_t>(fn.arg_count)) {
    return wrong("has ", phase.args.size(), " buffers for ", fn.arg_count, " arguments");
  }
  if (phase.threads < 0) return wrong("threads is ", phase.threads);
  if (phase.grain < 1) return wrong("grain is ", phase.grain);
  for (size_t i = 0; i < phase.args.size(); ++i) {
    const int32_t index = phase.args[i];
    if (index < 0 || index >= static_cast<int32_t>(p.buffers.size())) {
      return wrong("argument ", i, " is buffer ", index, " of ", p.buffers.size());
    }
    const ProgramBuffer& b = p.buffers[static_cast<size_t>(index)];
    const bool writes = fn.buffers[i].access != Access::kRead;
    if (prepares && (b.role == BufferRole::kOutput || b.role == BufferRole::kScratch)) {
      return wrong("argument ", i, " is an output or scratch, which does not exist at load");
    }
    if (writes && (b.role == BufferRole::kInput || (b.role == BufferRole::kPrepared && !prepares))) {
      return wrong("argument ", i, " writes an input or prepared buffer");
    }
    for (size_t j = 0; j < i; ++j) {
      if (phase.args[j] != index) continue;
      const bool other_writes = fn.buffers[j].access != Access::kRead;
      bool stated = false;
      for (const int32_t alias : fn.buffers[i].may_alias) stated = stated || alias == static_cast<int32_t>(j);
      for (const int32_t alias : fn.buffers[j].may_alias) stated = stated || alias == static_cast<int32_t>(i);
      if ((writes || other_writes) && !stated) {
        return wrong("arguments ", j, " and ", i, " are one buffer, are written and not said to alias");
      }
    }
  }
  return {};
}

}  // namespace

Status verify(const Program& program) {
  const auto wrong = [](auto... parts) { return make_error(Code::kInternal, base::text_of(parts...)); };
  size_t outputs = 0;
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const ProgramBuffer& b = program.buffers[i];
    const bool owned = b.role == BufferRole::kPrepared || b.role == BufferRole::kScratch;
    if (b.size_bytes < 0 || b.index < 0)
      return wrong("program buffer ", i, " has index ", b.index, " and ", b.size_bytes, " bytes");
    for (size_t j = 0; j < i; ++j) {
      if (!owned && program.buffers[j].role == b.role && program.buffers[j].index == b.index) {
        return wrong("program buffers ", j, " and ", i, " are the same input or output");
      }
    }
    outputs += b.role == BufferRole::kOutput;
  }
  if (program.in_place.size() > outputs) {
    return wrong("in_place has ", program.in_place.size(), " entries for ", outputs, " outputs");
  }
  for (const int32_t input : program.in_place) {
    if (input < -1) return wrong("in_place names input ", input);
  }
  for (size_t i = 0; i < program.prepare.size(); ++i) {
    Status s = check_phase(program, program.prepare[i], true);
    if (!s.ok()) return std::move(s).with(base::text_of("prepare ", i));
  }
  for (size_t i = 0; i < program.phases.size(); ++i) {
    Status s = check_phase(program, program.phases[i], false);
    if (!s.ok()) return std::move(s).with(base::text_of("phase ", i));
  }
  return {};
}

}  // namespace frit::loop
