#include "explain_cuda.h"

#include <cstdio>
#include <memory>

#include "base/seams.h"
#include "base/text.h"
#include "codegen/cuda/emit.h"
#include "codegen/cuda/nvrtc.h"
#include "device/shared_libraries.h"
#include "loop/build.h"
#include "report.h"

namespace frit::tools {

using base::text_of;

namespace {

std::string grid_text(const loop::GpuLaunch& launch) {
  std::string out;
  for (const loop::Expr& axis : launch.grid) {
    int64_t n = 1;
    if (axis) loop::as_int(axis, &n);
    base::append(out, out.empty() ? "" : "x", n);
  }
  return out;
}

}  // namespace

int print_cuda(const loop::Program& program, const codegen::BuildContext& context, const std::string& emit,
               const std::string& nvrtc_file) {
  std::shared_ptr<const codegen::Nvrtc> nvrtc;
  if (emit == "ptx") {
    base::SystemEnvironment environment;
    base::SystemFileSystem files;
    std::vector<std::string> candidates = device::nvrtc_candidates(environment, files);
    if (!nvrtc_file.empty()) candidates.insert(candidates.begin(), nvrtc_file);
    auto opened = codegen::Nvrtc::open(candidates);
    if (!opened.ok()) return fail(opened.error());
    nvrtc = *std::move(opened);
  }
  const device::GpuArch& arch = context.target->gpu();
  for (const auto* phases : {&program.prepare, &program.phases})
    for (const loop::Phase& phase : *phases) {
      const auto kernel = codegen::emit_cuda(phase.fn);
      if (!kernel.ok()) return fail(kernel.error());
      std::fprintf(stderr, "frit: %s: grid %s, block %lldx%lldx%lld, %lld bytes of shared memory\n",
                   kernel->symbol.c_str(), grid_text(kernel->launch).c_str(),
                   static_cast<long long>(kernel->launch.block[0]),
                   static_cast<long long>(kernel->launch.block[1]),
                   static_cast<long long>(kernel->launch.block[2]),
                   static_cast<long long>(kernel->launch.shared_bytes));
      if (!nvrtc) {
        std::printf("%s", kernel->source.c_str());
        continue;
      }
      const auto ptx =
          nvrtc->compile(kernel->source, kernel->symbol, arch, context.numerics, codegen::NvrtcOutput::kPtx);
      if (!ptx.ok()) return fail(ptx.error());
      std::printf("%s", ptx->bytes.c_str());
    }
  return kDone;
}

Error no_gpu_schedule(const codegen::Group& group, int number) {
  const device::Target cpu;
  codegen::BuildContext context;
  context.target = &cpu;
  const codegen::Family* family = codegen::find_family(group, context, nullptr);
  const std::string subject =
      text_of("group ", number,
              family ? text_of(" is for the family ", family->name, ", which has no GPU schedule")
                     : std::string(" is a host op and has no kernel"));
  return make_error(Code::kUnsupported, subject)
      .hinted("pointwise, reduce, normalize and matmul have one; --emit graph shows the group");
}

}  // namespace frit::tools
