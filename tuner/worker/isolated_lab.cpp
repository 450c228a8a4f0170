#include "tuner/worker/isolated_lab.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "device/target.h"

namespace frit::tuner::worker {

using Json = nlohmann::json;

namespace {

using Dropped = std::vector<int64_t>;

// Lives in a worker, under a number. When that worker has died of another variant, it is made again in the
// next one.
struct RemoteVariant final : Variant {
  int64_t id = 0, generation = 0;
  std::shared_ptr<Dropped> dropped;
  ~RemoteVariant() override { dropped->push_back(id); }
};

Outcome outcome_of(Ending ending) {
  switch (ending) {
    case Ending::kTimeout:
      return Outcome::kTimeout;
    case Ending::kMemory:
      return Outcome::kMemory;
    case Ending::kReply:
    case Ending::kReplyTooLarge:
      return Outcome::kRunError;
    case Ending::kCrash:
      break;
  }
  return Outcome::kCrash;
}

class IsolatedBench final : public Bench {
 public:
  IsolatedBench(const IsolatedLab::Options& options, const codegen::Family& family,
                const fusion::PlanGroup& group)
      : options_(options), family_(family), spec_(options.bench), dropped_(std::make_shared<Dropped>()) {
    spec_.group = group;
  }
  // The first worker, so that a worker that cannot work at all is no verdict on a variant.
  Status start(device::Target target) {
    target_ = std::move(target);
    space_ = family_.space(group(), {&target_, spec_.numerics, spec_.threads});
    const Verdict v = ensure_worker();
    if (!v.ok())
      return make_error(Code::kInternal, base::text_of("the worker ", options_.program, ": ", v.reason));
    return {};
  }

  const codegen::Family& family() const override { return family_; }
  const codegen::Group& group() const override { return spec_.group.group; }
  const codegen::Space& space() const override { return space_; }

  Verdict prepare(const codegen::Params& params, std::unique_ptr<Variant>* out) override {
    if (Verdict v = ensure_worker(); !v.ok()) return v;
    auto variant = std::make_unique<RemoteVariant>();
    variant->params = params;
    variant->id = ++last_id_;
    variant->generation = generation_;
    variant->dropped = dropped_;
    if (Verdict v = make(*variant); !v.ok()) return v;
    *out = std::move(variant);
    return {};
  }
  Verdict sample(Variant& variant) override {
    double ns = 0;
    Verdict v = use(variant, "sample", &ns);
    if (v.ok()) variant.samples_ns.push_back(ns);
    return v;
  }
  Verdict verify(Variant& variant) override { return use(variant, "verify", nullptr); }
  void trim() override { trim_ = true; }

 private:
  Verdict make(RemoteVariant& variant) {
    return ask({{"op", "prepare"}, {"id", variant.id}, {"params", variant.params.text()}},
               options_.prepare_ns, nullptr);
  }

  Verdict use(Variant& variant, const char* op, double* ns) {
    auto& own = static_cast<RemoteVariant&>(variant);
    if (Verdict v = ensure_worker(); !v.ok()) return v;
    if (own.generation != generation_) {
      own.generation = generation_;
      if (Verdict v = make(own); !v.ok()) return v;
    }
    return ask({{"op", op}, {"id", own.id}}, options_.run_ns, ns);
  }

  Verdict ensure_worker() {
    if (process_ && process_->is_alive()) return {};
    auto made = WorkerProcess::spawn(options_.program, options_.arguments, options_.limits, *options_.clock);
    if (!made.ok()) return {Outcome::kRunError, made.error().text()};
    process_ = *std::move(made);
    ++generation_;
    dropped_->clear();
    return read(process_->ask(spec_.to_json(), options_.prepare_ns), nullptr);
  }

  Verdict ask(Json question, int64_t timeout_ns, double* ns) {
    if (!dropped_->empty()) question["drop"] = std::exchange(*dropped_, {});
    if (std::exchange(trim_, false)) question["trim"] = true;
    return read(process_->ask(question.dump(), timeout_ns), ns);
  }

  Verdict read(const Reply& reply, double* ns) const {
    if (!reply.ok()) {
      options_.log.trace("tuner", "the worker ended: ", reply.reason);
      return {outcome_of(reply.ending), reply.reason};
    }
    const Json in = Json::parse(reply.bytes, nullptr, false);
    const auto outcome = in.is_object() ? in.value("outcome", -1) : -1;
    if (outcome < 0 || outcome > static_cast<int>(Outcome::kIllegal) ||
        (outcome == 0 && ns && !(in.contains("ns") && in["ns"].is_number())))
      return {Outcome::kRunError, "the worker's answer cannot be read"};
    if (outcome == 0 && ns) *ns = in["ns"];
    return {static_cast<Outcome>(outcome), in.value("reason", std::string())};
  }

  const IsolatedLab::Options& options_;
  const codegen::Family& family_;
  BenchSpec spec_;
  device::Target target_;
  codegen::Space space_;
  std::unique_ptr<WorkerProcess> process_;
  std::shared_ptr<Dropped> dropped_;
  int64_t generation_ = 0, last_id_ = 0;
  bool trim_ = false;
};

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace

Result<std::unique_ptr<Bench>> IsolatedLab::bench(const fusion::PlanGroup& group) {
  const codegen::Family* own = family(group.family);
  if (!own)
    return make_error(Code::kInternal, base::text_of("no kernel family is called '", group.family, "'"));
  FRIT_ASSIGN(device::Target target, device::parse_target(options_.bench.target));
  auto out = std::make_unique<IsolatedBench>(options_, *own, group);
  FRIT_TRY(out->start(std::move(target)));
  return std::unique_ptr<Bench>(std::move(out));
}

Result<std::string> find_worker(const std::string& option, base::Environment& environment,
                                base::FileSystem& files, base::Process& process) {
  std::vector<std::string> tried;
  const auto is_there = [&](const std::string& path) {
    tried.push_back(path);
    const auto stat = files.stat(path);
    return stat.ok() && stat->is_file;
  };
  // What is named is the only one that is looked for.
  if (!option.empty()) {
    if (is_there(option)) return option;
  } else if (const auto named = environment.get("FRIT_WORKER"); named && !named->empty()) {
    if (is_there(*named)) return *named;
  } else {
    FRIT_ASSIGN(const std::string program, process.executable_path());
    const std::string folder = folder_of(program);
    for (const std::string& path : {folder + "/frit-worker", folder_of(folder) + "/libexec/frit/frit-worker"})
      if (is_there(path)) return path;
  }
  std::string list;
  for (const std::string& path : tried) base::append(list, list.empty() ? "" : ", ", path);
  return make_error(Code::kNotFound, base::text_of("the worker program is not there; tried ", list))
      .hinted("set FRIT_WORKER to where frit-worker is");
}

}  // namespace frit::tuner::worker
