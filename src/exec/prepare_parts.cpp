#include "exec/prepare_parts.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "loop/text.h"

namespace frit::exec {

namespace {

void insert_sorted(std::vector<int32_t>& into, int32_t value) {
  const auto at = std::lower_bound(into.begin(), into.end(), value);
  if (at == into.end() || *at != value) into.insert(at, value);
}

base::Hash128 key_of(const loop::Program& program, const PreparePart& part,
                     const std::function<base::Hash128(int32_t)>& identity) {
  base::Hasher h;
  h.add(std::string_view("prepare"));
  for (const int32_t b : part.buffers) h.add(program.buffers[static_cast<size_t>(b)].size_bytes);
  for (const size_t p : part.phases) {
    const loop::Phase& phase = program.prepare[p];
    const base::Hash128 text = loop::text_hash(phase.fn);
    h.add(text.hi).add(text.lo);
    for (const int32_t b : phase.args) {
      const loop::ProgramBuffer& buffer = program.buffers[static_cast<size_t>(b)];
      if (buffer.role == loop::BufferRole::kInput) {
        const base::Hash128 id = identity(buffer.index);
        h.add(int64_t{-1}).add(id.hi).add(id.lo);
      } else {
        h.add(static_cast<int64_t>(std::lower_bound(part.buffers.begin(), part.buffers.end(), b) -
                                   part.buffers.begin()));
      }
    }
  }
  return h.finish();
}

}  // namespace

Result<std::vector<PreparePart>> prepare_parts(const loop::Program& program,
                                               const std::function<base::Hash128(int32_t)>& identity) {
  const auto is_prepared = [&](int32_t b) {
    return program.buffers[static_cast<size_t>(b)].role == loop::BufferRole::kPrepared;
  };
  // Buffers that meet in a phase belong together.
  std::vector<size_t> root(program.buffers.size());
  std::iota(root.begin(), root.end(), size_t{0});
  const auto find = [&](int32_t b) {
    size_t r = static_cast<size_t>(b);
    while (root[r] != r) r = root[r] = root[root[r]];
    return r;
  };
  std::vector<bool> made(program.buffers.size(), false);
  for (const loop::Phase& phase : program.prepare) {
    int32_t first = -1;
    for (size_t a = 0; a < phase.args.size(); ++a) {
      const int32_t b = phase.args[a];
      if (!is_prepared(b)) continue;
      if (phase.fn.buffers[a].access != loop::Access::kRead) made[static_cast<size_t>(b)] = true;
      if (first >= 0) root[find(b)] = find(first);
      first = b;
    }
  }
  for (const auto* phases : {&program.prepare, &program.phases}) {
    for (const loop::Phase& phase : *phases) {
      for (const int32_t b : phase.args) {
        if (is_prepared(b) && !made[static_cast<size_t>(b)]) {
          return make_error(Code::kInternal, base::text_of("program buffer ", b, " is prepared by no phase"));
        }
      }
    }
  }
  std::vector<PreparePart> out;
  std::vector<int64_t> part_of(program.buffers.size(), -1);
  for (size_t p = 0; p < program.prepare.size(); ++p) {
    const loop::Phase& phase = program.prepare[p];
    PreparePart* part = nullptr;
    for (const int32_t b : phase.args) {
      if (!is_prepared(b) || part) continue;
      int64_t& number = part_of[find(b)];
      if (number < 0) {
        number = static_cast<int64_t>(out.size());
        out.emplace_back();
      }
      part = &out[static_cast<size_t>(number)];
    }
    if (!part) continue;  // it writes nothing
    part->phases.push_back(p);
    for (const int32_t b : phase.args) {
      if (is_prepared(b)) {
        insert_sorted(part->buffers, b);
      } else if (program.buffers[static_cast<size_t>(b)].role == loop::BufferRole::kInput) {
        insert_sorted(part->inputs, program.buffers[static_cast<size_t>(b)].index);
      }
    }
  }
  for (PreparePart& part : out) part.key = key_of(program, part, identity);
  return out;
}

}  // namespace frit::exec
