#include "runtime/runtime.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "codegen/families/family.h"
#include "runtime/keys.h"

#ifndef FRIT_CODEGEN_VERSION
#error "FRIT_CODEGEN_VERSION names what makes this build's objects"
#endif

namespace frit::runtime {

namespace {

constexpr int kMostBuildThreads = 8;

std::vector<tuner::FamilyVersion> family_versions() {
  std::vector<tuner::FamilyVersion> out;
  for (const codegen::Family& family : codegen::family_table()) out.push_back({family.name, family.version});
  return out;
}

Status check(const ModelOptions& options) {
  if (options.compile_threads < 0 || options.compile_threads > 1024) {
    return make_error(Code::kInvalidArgument,
                      base::text_of("compile_threads is ", options.compile_threads, ", expected 0 to 1024"));
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<Runtime>> Runtime::make(const ModelOptions& options, base::TraceRecorder* trace) {
  auto system = std::make_shared<SystemSeams>();
  FRIT_ASSIGN(auto runtime, make(options, system->all(), trace));
  runtime->system_ = std::move(system);
  return runtime;
}

Result<std::shared_ptr<Runtime>> Runtime::make(const ModelOptions& options, const Seams& seams,
                                               base::TraceRecorder* trace) {
  FRIT_TRY(check_headers(options.header));
  FRIT_TRY(check(options));
  std::shared_ptr<Runtime> out(new Runtime(seams), [](Runtime* r) {
    // In a forked child locks may be held by threads that are not there, and the cache must not be closed.
    if (r->owner_.is_here()) delete r;
  });
  out->log_ = base::Logger(options.log);
  out->trace_ = trace;
  if (options.target.empty() || options.target == "cpu") {
    out->target_ = device::host_target(*seams.files, *seams.process);
  } else {
    FRIT_ASSIGN(out->target_, device::parse_target(options.target));
  }
  out->target_parts_ = runtime::target_parts(out->target_);
  out->provenance_ = provenance_of(out->target_);
  out->cpus_ = base::count_cpus(*seams.files, *seams.process);
  out->build_threads_ = options.compile_threads > 0 ? options.compile_threads
                                                    : std::clamp(out->cpus_.threads, 1, kMostBuildThreads);

  out->place_ = tuner::resolve_place(options.cache, *seams.environment, *seams.files, *seams.process);
  if (!out->place_.note.empty()) out->log_.info("runtime", out->place_.note);
  if (out->place_.kind != tuner::Place::Kind::kOff) {
    tuner::StoreOptions store;
    store.path = out->place_.path;
    store.families = family_versions();
    store.here = out->provenance_;
    out->store_ =
        tuner::Store::open(std::move(store), {*seams.clock, *seams.files, *seams.process, out->log_});
  }

  Runtime* const self = out.get();
  out->codegen_option_ = options.codegen_library;
  out->compile_ = options.compile;
  if (out->store_) {
    StoreObjectCache::Options objects;
    objects.store = out->store_.get();
    objects.target = out->target_parts_;
    objects.expected = FRIT_CODEGEN_VERSION;
    objects.compiler_version = [self] {
      const auto library = self->compiler();
      return library.ok() ? (*library)->version() : std::string();
    };
    objects.log = out->log_;
    out->objects_ = std::make_unique<StoreObjectCache>(std::move(objects));
  }
  FRIT_ASSIGN(out->pool_, base::ThreadPool::open());
  exec::CodegenProvider::Options provider;
  provider.target = out->target_;
  provider.open_library = [self] { return self->compiler(); };
  provider.cache = out->objects_.get();
  provider.loader.gdb = options.gdb;
  provider.loader.perf_dump_folder = options.perf_dump_folder;
  provider.log = out->log_;
  provider.trace = trace;
  FRIT_ASSIGN(out->provider_, exec::CodegenProvider::make(std::move(provider)));
  return out;
}

Result<std::shared_ptr<const device::CodegenLibrary>> Runtime::compiler() {
  if (!compile_) {
    return make_error(Code::kNotFound,
                      "the cache does not have a kernel's machine code, and compiling is switched off");
  }
  const std::lock_guard lock(compiler_mutex_);
  if (!compiler_) {
    FRIT_ASSIGN(compiler_, device::CodegenLibrary::open(codegen_option_, *seams_.environment));
    compiler_open_.store(true, std::memory_order_relaxed);
    log_.trace("runtime", "opened ", compiler_->path(), ", ", compiler_->version());
  }
  return compiler_;
}

Result<base::PoolLease> Runtime::build_workers() {
  {
    const std::lock_guard lock(reserve_mutex_);
    FRIT_TRY(pool_.reserve(build_threads_));
  }
  return pool_.acquire(build_threads_);
}

}  // namespace frit::runtime
