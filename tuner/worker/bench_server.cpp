#include "tuner/worker/bench_server.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "exec/launch.h"
#include "tuner/worker/bench_protocol.h"

namespace frit::tuner::worker {

using Json = nlohmann::json;

namespace {

std::string text_of(const Json& answer) {
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string refusal(Outcome outcome, const std::string& reason) {
  return text_of({{"outcome", static_cast<int>(outcome)}, {"reason", reason}});
}

}  // namespace

Status BenchServer::open(std::string_view request) {
  variants_.clear();
  bench_.reset();
  FRIT_ASSIGN(BenchSpec spec, BenchSpec::from_json(request));
  FRIT_ASSIGN(device::Target target, device::parse_target(spec.target));
  if (!provider_ || !target_ || target_->text() != target.text()) {
    FRIT_ASSIGN(provider_, make_provider_(target));
  }
  target_ = std::move(target);
  workers_.reset();
  if (spec.threads > 1) {
    FRIT_ASSIGN(pool_, base::ThreadPool::open());
    FRIT_TRY(pool_.reserve(spec.threads));
    FRIT_ASSIGN(base::PoolLease lease,
                pool_.acquire(spec.threads, exec::worker_hooks(spec.numerics != Numerics::kStrict)));
    workers_.emplace(std::move(lease));
  }
  Workbench::Options options;
  options.build = {&*target_, spec.numerics, spec.threads};
  options.provider = provider_.get();
  options.clock = spec.threads == 1 ? static_cast<base::Clock*>(&thread_clock_) : &clock_;
  options.workers = workers_ ? &*workers_ : nullptr;
  options.cold_weights = spec.cold_weights;
  options.closed_pages = true;
  options.seed = spec.seed;
  FRIT_ASSIGN(bench_, Workbench::make(spec.group, options));
  return {};
}

std::string BenchServer::answer(std::string_view request) {
  const Json in = Json::parse(request, nullptr, false);
  if (!in.is_object() || !in.contains("op") || !in["op"].is_string())
    return refusal(Outcome::kRunError, "the question is no object with an op");
  const std::string op = in["op"];
  if (op == "open") {
    if (Status s = open(request); !s.ok()) return refusal(Outcome::kRunError, s.error().text());
    return text_of({{"outcome", 0}});
  }
  if (!bench_) return refusal(Outcome::kRunError, "no bench is open");
  if (const auto drop = in.find("drop"); drop != in.end() && drop->is_array())
    for (const Json& id : *drop)
      if (id.is_number_integer()) variants_.erase(id.get<int64_t>());
  if (in.value("trim", false)) bench_->trim();
  const int64_t id = in.value("id", int64_t{-1});
  Json out{{"outcome", 0}};
  Verdict verdict;
  if (op == "prepare") {
    const auto params = codegen::Params::parse(in.value("params", std::string()));
    if (!params.ok()) return refusal(Outcome::kIllegal, params.error().text());
    std::unique_ptr<Variant> variant;
    verdict = bench_->prepare(*params, &variant);
    if (verdict.ok()) variants_[id] = std::move(variant);
  } else {
    const auto at = variants_.find(id);
    if (at == variants_.end())
      return refusal(Outcome::kRunError, base::text_of("variant ", id, " is not prepared"));
    if (op == "sample") {
      verdict = bench_->sample(*at->second);
      if (verdict.ok()) out["ns"] = at->second->samples_ns.back();
    } else if (op == "verify") {
      verdict = bench_->verify(*at->second);
    } else {
      return refusal(Outcome::kRunError, base::text_of("no such question: ", op));
    }
  }
  return verdict.ok() ? text_of(out) : refusal(verdict.outcome, verdict.reason);
}

}  // namespace frit::tuner::worker
