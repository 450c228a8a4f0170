#include <algorithm>
#include <cstring>
#include <random>

#include "base/text.h"
#include "base/try.h"
#include "loop/interp.h"
#include "loop/verify.h"

namespace frit::loop {

namespace {

// Cuts [0, count) into ranges at multiples of the grain.
std::vector<std::pair<int64_t, int64_t>> cut(int64_t count, int64_t grain, int pieces) {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  const int64_t grains = (count + grain - 1) / grain;
  for (int64_t i = 0; i < pieces; ++i) {
    const int64_t first = std::min(count, grains * i / pieces * grain);
    const int64_t last = std::min(count, grains * (i + 1) / pieces * grain);
    ranges.emplace_back(first, last);
  }
  return ranges;
}

}  // namespace

Result<InterpFailure> run_program(const Program& program, const ProgramRun& run) {
  FRIT_TRY(verify(program));
  std::vector<std::vector<uint8_t>> owned;
  std::vector<InterpBuffer> buffers;
  for (const ProgramBuffer& b : program.buffers) {
    const bool input = b.role == BufferRole::kInput, output = b.role == BufferRole::kOutput;
    if (input || output) {
      const auto bound = input ? run.inputs : run.outputs;
      if (static_cast<size_t>(b.index) >= bound.size()) {
        return make_error(Code::kInvalidArgument, base::text_of("program has ", input ? "input " : "output ",
                                                                b.index, ", got ", bound.size()));
      }
      buffers.push_back(bound[static_cast<size_t>(b.index)]);
    } else {
      owned.emplace_back(static_cast<size_t>(b.size_bytes), uint8_t{0xff});
      buffers.push_back({owned.back().data(), b.size_bytes});
    }
  }
  std::mt19937_64 random(run.seed);
  const auto run_phase = [&](const Phase& phase) -> Result<InterpFailure> {
    FRIT_ASSIGN(const Interpreter interpreter, Interpreter::make(phase.fn));
    std::vector<InterpBuffer> args;
    for (const int32_t i : phase.args) args.push_back(buffers[static_cast<size_t>(i)]);
    const std::span<const int64_t> sizes =
        run.sizes.first(std::min(run.sizes.size(), static_cast<size_t>(phase.fn.size_count)));
    FRIT_ASSIGN(const int64_t count, interpreter.tile_count(sizes));
    auto ranges = cut(count, phase.grain, std::max(run.pieces, 1));
    if (ranges.size() > 1) std::shuffle(ranges.begin(), ranges.end(), random);
    for (const auto& [first, last] : ranges) {
      FRIT_ASSIGN(const InterpFailure failure, interpreter.run(args, sizes, first, last, run.options));
      if (failure.code != 0) return failure;
    }
    return InterpFailure{};
  };
  const auto run_all = [&](const std::vector<Phase>& phases, const char* what) -> Result<InterpFailure> {
    for (size_t i = 0; i < phases.size(); ++i) {
      Result<InterpFailure> failure = run_phase(phases[i]);
      if (!failure.ok()) return std::move(failure).with(base::text_of(what, i));
      if (failure->code != 0) return failure;
    }
    return InterpFailure{};
  };
  FRIT_ASSIGN(const InterpFailure failure, run_all(program.prepare, "prepare "));
  if (failure.code != 0) return failure;
  return run_all(program.phases, "phase ");
}

}  // namespace frit::loop
