#include "exec/context.h"

#include <chrono>

#include "base/stop.h"
#include "base/try.h"

namespace frit::exec {

namespace {

// Between two looks at a stop token while all contexts are in use.
constexpr std::chrono::milliseconds kStopPoll{5};

}  // namespace

Result<std::unique_ptr<ExecContext>> ExecContext::make(std::shared_ptr<const ExecPlan> plan) {
  auto out = std::make_unique<ExecContext>();
  FRIT_ASSIGN(out->arena_,
              base::AlignedBuffer::make(static_cast<size_t>(plan->arena_bytes()), {kBufferAlignment, true}));
  out->table_.resize(plan->pointers().size(), nullptr);
  for (size_t k = 0; k < out->table_.size(); ++k) {
    const PointerSource& from = plan->pointers()[k];
    if (from.kind == StorageKind::kConstant) out->table_[k] = const_cast<std::byte*>(from.fixed);
    if (from.kind == StorageKind::kArena) out->table_[k] = out->arena_.data() + from.offset;
  }
  out->workers_.resize(static_cast<size_t>(plan->threads()));
  out->inputs_.resize(plan->inputs().size());
  out->outputs_.resize(plan->outputs().size());
  out->results_.resize(plan->outputs().size(), nullptr);
  out->plan_ = std::move(plan);
  return out;
}

int64_t ExecContext::size_bytes() const {
  size_t total = arena_.size_bytes();
  for (const auto* bindings : {&inputs_, &outputs_}) {
    for (const Binding& b : *bindings) total += b.staging.size_bytes();
  }
  return static_cast<int64_t>(total);
}

ContextPool::Lease::~Lease() {
  if (pool_) pool_->give_back(std::move(context_));
}

Result<ContextPool::Lease> ContextPool::acquire(const StopToken& stop) {
  {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (!free_.empty()) {
        auto context = std::move(free_.back());
        free_.pop_back();
        size_bytes_ -= context->size_bytes();  // a run may let it grow
        return Lease(this, std::move(context));
      }
      if (made_ < most_) break;
      if (stop.stop_possible()) {
        FRIT_TRY(base::check_stop(stop));
        freed_.wait_for(lock, kStopPoll);
      } else {
        freed_.wait(lock);
      }
    }
    ++made_;
    free_.reserve(static_cast<size_t>(most_));
  }
  auto context = ExecContext::make(plan_);
  if (context.ok()) return Lease(this, *std::move(context));
  {
    const std::lock_guard lock(mutex_);
    --made_;
  }
  freed_.notify_one();
  return std::move(context).error();
}

Status ContextPool::warm() {
  auto lease = acquire();
  if (!lease.ok()) return std::move(lease).error();
  return {};
}

void ContextPool::give_back(std::unique_ptr<ExecContext> context) {
  {
    const std::lock_guard lock(mutex_);
    size_bytes_ += context->size_bytes();
    free_.push_back(std::move(context));
  }
  freed_.notify_one();
}

void ContextPool::trim() {
  std::vector<std::unique_ptr<ExecContext>> dropped;
  dropped.reserve(static_cast<size_t>(most_));
  const std::lock_guard lock(mutex_);
  free_.swap(dropped);
  free_.reserve(static_cast<size_t>(most_));
  made_ -= static_cast<int>(dropped.size());
  size_bytes_ = 0;
}

int64_t ContextPool::size_bytes() const {
  const std::lock_guard lock(mutex_);
  return size_bytes_ + (made_ - static_cast<int>(free_.size())) * plan_->arena_bytes();
}

}  // namespace frit::exec
