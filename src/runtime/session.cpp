#include "frit/session.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/stop.h"
#include "base/text.h"
#include "base/try.h"
#include "runtime/headers.h"
#include "runtime/session_impl.h"
#include "runtime/strided.h"

namespace frit {
inline namespace FRIT_ABI {

using runtime::Prepared;

namespace {

// Between two looks at a stop token while another thread prepares.
constexpr std::chrono::milliseconds kStopPoll{5};

std::string label(const char* what, const TensorInfo& info) {
  return base::text_of(what, " ", base::quoted(info.name));
}

std::string type_text(DType dtype, std::span<const int64_t> shape) {
  return dtype_name(dtype) + shape_text(shape);
}

// No text is made while all is well.
Status check_tensor(const TensorView& view, const TensorInfo& info, bool is_output) {
  const char* const what = is_output ? "output" : "input";
  if (Status s = runtime::check_view(view, is_output, what); !s.ok()) {
    return runtime::check_view(view, is_output, label(what, info));
  }
  if (view.dtype == info.dtype) return {};
  return make_error(Code::kInvalidArgument,
                    base::text_of(label(what, info), " is ", type_text(view.dtype, view.shape),
                                  ", expected element type ", dtype_name(info.dtype)));
}

Status check_count(const char* what, size_t actual, const std::vector<TensorInfo>& expected) {
  if (actual == expected.size()) return {};
  return make_error(Code::kInvalidArgument,
                    base::text_of("run with ", actual, " ", what, ", expected ", expected.size()));
}

}  // namespace

// Finding and making sets of shapes.

std::shared_ptr<Prepared> Session::Impl::find(std::span<const TensorView> inputs) {
  const std::lock_guard lock(mutex);
  for (const auto& set : sets) {
    if (!set->matches(inputs)) continue;
    set->last_use = ++uses;
    return set;
  }
  return nullptr;
}

std::shared_ptr<Prepared> Session::Impl::find(const runtime::InputShapes& shapes) {
  const std::lock_guard lock(mutex);
  for (const auto& set : sets) {
    if (set->inputs() != shapes) continue;
    set->last_use = ++uses;
    return set;
  }
  return nullptr;
}

Result<std::shared_ptr<Prepared>> Session::Impl::prepare(runtime::InputShapes shapes, const StopToken& stop) {
  if (auto found = find(shapes)) return found;
  std::unique_lock lock(preparing, std::defer_lock);
  if (stop.stop_possible()) {
    // Not a timed lock: g++ 12's thread sanitizer does not know the call that it makes.
    while (!lock.try_lock()) {
      FRIT_TRY(base::check_stop(stop));
      std::this_thread::sleep_for(kStopPoll);
    }
  } else {
    lock.lock();
  }
  if (auto found = find(shapes)) return found;
  FRIT_ASSIGN(auto made, Prepared::make(*model.impl(), setup, std::move(shapes), stop));
  keep(made);
  return made;
}

void Session::Impl::keep(std::shared_ptr<Prepared> made) {
  std::shared_ptr<Prepared> dropped;  // goes after the lock
  const std::lock_guard lock(mutex);
  if (sets.size() >= static_cast<size_t>(setup.shape_sets)) {
    const auto oldest = std::min_element(sets.begin(), sets.end(), [](const auto& a, const auto& b) {
      return a->last_use.load() < b->last_use.load();
    });
    dropped = std::move(*oldest);
    sets.erase(oldest);
  }
  made->last_use = ++uses;
  for (const GroupInfo& group : made->groups()) {
    if (group.family.empty()) continue;
    (group.match == Match::kExact ? exact_hits : group.match == Match::kNear ? near_hits : misses) += 1;
  }
  trials += made->trials();
  latest = made;
  sets.push_back(std::move(made));
}

Result<std::shared_ptr<Prepared>> Session::Impl::prepare_for(std::span<const TensorView> inputs,
                                                             const StopToken& stop) {
  const std::vector<TensorInfo>& infos = model.inputs();
  FRIT_TRY(check_count("inputs", inputs.size(), infos));
  for (size_t k = 0; k < inputs.size(); ++k) FRIT_TRY(check_tensor(inputs[k], infos[k], false));
  if (auto found = find(inputs)) return found;
  runtime::InputShapes shapes;
  for (const TensorView& view : inputs) shapes.push_back(view.shape);
  return prepare(std::move(shapes), stop.stop_possible() ? stop : setup.stop);
}

Status Session::Impl::check_outputs(const Prepared& prepared, std::span<const TensorView> outputs) const {
  const std::vector<TensorInfo>& infos = model.outputs();
  FRIT_TRY(check_count("outputs", outputs.size(), infos));
  for (size_t k = 0; k < outputs.size(); ++k) {
    FRIT_TRY(check_tensor(outputs[k], infos[k], true));
    if (outputs[k].shape == prepared.outputs()[k]) continue;
    return make_error(Code::kInvalidArgument,
                      base::text_of(label("output", infos[k]), " has shape ", shape_text(outputs[k].shape),
                                    ", expected ", shape_text(prepared.outputs()[k])));
  }
  return {};
}

// The public face.

Session::Session(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::create(const Model& model, const SessionOptions& options) {
  FRIT_TRY(runtime::check_headers(options.header));
  runtime::Runtime& runtime = *model.impl()->runtime;
  FRIT_TRY(runtime.owner().check());
  // Not asked earlier: a model for another machine can be loaded, looked at and compiled, only not run.
  FRIT_TRY(device::can_run_on_host(runtime.target()));
  FRIT_ASSIGN(runtime::Setup setup, runtime::resolve(options, runtime));
  std::shared_ptr<Impl> impl(new Impl(model, std::move(setup)), [](Impl* p) {
    // A forked child does not touch what it inherited (Owner).
    if (p->runtime().owner().is_here()) delete p;
  });
  FRIT_ASSIGN(impl->pool, base::ThreadPool::open());
  FRIT_TRY(impl->pool.reserve(impl->setup.build.threads));
  return Session(std::move(impl));
}

Status Session::prepare(std::span<const NamedShape> shapes) {
  FRIT_TRY(impl_->runtime().owner().check());
  FRIT_ASSIGN(runtime::InputShapes all, runtime::input_shapes(impl_->model.impl()->graph, shapes));
  const auto prepared = impl_->prepare(std::move(all), impl_->setup.stop);
  if (!prepared.ok()) return prepared.error();
  return {};
}

bool Session::ready(std::span<const NamedShape> shapes) const {
  if (!impl_->runtime().owner().is_here()) return false;
  const auto all = runtime::input_shapes(impl_->model.impl()->graph, shapes);
  return all.ok() && impl_->find(*all) != nullptr;
}

Result<std::vector<std::vector<int64_t>>> Session::output_shapes(std::span<const NamedShape> shapes) {
  FRIT_TRY(impl_->runtime().owner().check());
  FRIT_ASSIGN(runtime::InputShapes all, runtime::input_shapes(impl_->model.impl()->graph, shapes));
  FRIT_ASSIGN(const auto prepared, impl_->prepare(std::move(all), impl_->setup.stop));
  return prepared->outputs();
}

Status Session::run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                    const RunOptions& options) {
  FRIT_TRY(runtime::check_headers(options.header));
  FRIT_TRY(impl_->runtime().owner().check());
  FRIT_ASSIGN(const std::shared_ptr<Prepared> prepared, impl_->prepare_for(inputs, options.stop));
  FRIT_TRY(impl_->check_outputs(*prepared, outputs));
  return prepared->run(impl_->pool, inputs, outputs, options.stop, {});
}

Result<std::vector<Tensor>> Session::run(std::span<const TensorView> inputs, const RunOptions& options) {
  FRIT_TRY(runtime::check_headers(options.header));
  FRIT_TRY(impl_->runtime().owner().check());
  FRIT_ASSIGN(const std::shared_ptr<Prepared> prepared, impl_->prepare_for(inputs, options.stop));
  std::vector<Tensor> out;
  std::vector<TensorView> views;
  for (size_t k = 0; k < prepared->outputs().size(); ++k) {
    FRIT_ASSIGN(Tensor tensor, Tensor::allocate(impl_->model.outputs()[k].dtype, prepared->outputs()[k]));
    views.push_back(tensor.view());
    out.push_back(std::move(tensor));
  }
  FRIT_TRY(prepared->run(impl_->pool, inputs, views, options.stop, {}));
  return out;
}

Result<std::vector<NamedTensor>> Session::run(std::span<const std::pair<std::string, TensorView>> inputs,
                                              const RunOptions& options) {
  const std::vector<TensorInfo>& infos = impl_->model.inputs();
  std::vector<TensorView> views(infos.size());
  std::vector<bool> given(infos.size(), false);
  for (const auto& [name, view] : inputs) {
    const auto k = impl_->model.input_index(name);
    if (!k || given[*k]) {
      return make_error(
          Code::kInvalidArgument,
          base::text_of(k ? "two values for input " : "there is no input ", base::quoted(name)));
    }
    given[*k] = true;
    views[*k] = view;
  }
  for (size_t k = 0; k < infos.size(); ++k) {
    if (!given[k]) return make_error(Code::kInvalidArgument, label("input", infos[k]) + " is not given");
  }
  FRIT_ASSIGN(std::vector<Tensor> outputs, run(views, options));
  std::vector<NamedTensor> out;
  for (size_t k = 0; k < outputs.size(); ++k) {
    out.push_back({impl_->model.outputs()[k].name, std::move(outputs[k])});
  }
  return out;
}

void Session::trim() {
  if (!impl_->runtime().owner().is_here()) return;
  std::vector<std::shared_ptr<Prepared>> sets;
  {
    const std::lock_guard lock(impl_->mutex);
    sets = impl_->sets;
  }
  for (const auto& set : sets) set->trim();
  impl_->model.impl()->constants.trim();
}

SessionStats Session::stats() const {
  const runtime::Runtime& runtime = impl_->runtime();
  SessionStats out;
  out.target = runtime.target().text();
  out.threads = impl_->setup.build.threads;
  out.load_ms = impl_->model.impl()->load_ms;
  const tuner::Store* const store = runtime.store();
  if (!runtime.owner().is_here()) return out;
  out.cache = !store                                              ? "off"
              : store->status().mode == tuner::StoreMode::kMemory ? "memory"
                                                                  : store->status().path;
  out.compiler_open = runtime.compiler_open();
  const exec::KernelCounters kernels = runtime.provider().counters();
  out.counters.compiles = kernels.compiles;
  out.counters.object_loads = kernels.object_loads;
  out.memory.packed_bytes = impl_->model.impl()->constants.size_bytes();
  const std::lock_guard lock(impl_->mutex);
  out.counters.exact_hits = impl_->exact_hits;
  out.counters.near_hits = impl_->near_hits;
  out.counters.misses = impl_->misses;
  out.counters.trials = impl_->trials;
  for (const auto& set : impl_->sets) out.memory.arena_bytes += set->arena_bytes();
  if (!impl_->latest) return out;
  const Prepared& latest = *impl_->latest;
  out.groups = latest.groups();
  out.counters.groups =
      std::count_if(out.groups.begin(), out.groups.end(), [](const auto& g) { return !g.load_time; });
  out.counters.kernels = latest.plan().kernels();
  out.counters.host_kernels = latest.plan().host_kernels();
  out.memory.weights_bytes = latest.plan().original_constant_bytes();
  out.prepare_ms = latest.prepare_ms();
  return out;
}

const Model& Session::model() const { return impl_->model; }

}  // namespace FRIT_ABI
}  // namespace frit
