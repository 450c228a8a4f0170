// StopSource and StopToken: how the application asks a load, prepare, tune or run to end early.
//
// The work polls its token between pieces and answers Code::kCancelled; what was committed until then is
// kept. Copies of a source and its tokens share one flag. All members may be called from any thread;
// StopSource::request_stop() is also safe in a signal handler.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "frit/version.h"

namespace frit {
inline namespace FRIT_ABI {

class StopToken {
 public:
  StopToken() = default;  // never asks to stop

  bool stop_requested() const { return flag_ && flag_->load(std::memory_order_relaxed); }

  // False when no stop can ever be requested through this token.
  bool stop_possible() const { return flag_ != nullptr; }

 private:
  friend class StopSource;
  explicit StopToken(std::shared_ptr<const std::atomic<bool>> flag) : flag_(std::move(flag)) {}
  std::shared_ptr<const std::atomic<bool>> flag_;
};

class StopSource {
 public:
  StopSource() : flag_(std::make_shared<std::atomic<bool>>(false)) {}

  void request_stop() const { flag_->store(true, std::memory_order_relaxed); }
  bool stop_requested() const { return flag_->load(std::memory_order_relaxed); }
  StopToken token() const { return StopToken(flag_); }

 private:
  std::shared_ptr<std::atomic<bool>> flag_;
};

}  // namespace FRIT_ABI
}  // namespace frit
