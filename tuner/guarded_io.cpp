#include "tuner/guarded_io.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "base/try.h"

namespace frit::tuner {

namespace {

constexpr size_t kRoom = 4096;  // bytes of canaries on each side
constexpr uint8_t kOutputFill = 0xa5;
constexpr uint8_t kInputFill = 0xff;  // NaN

}  // namespace

Result<GuardedIo::Area> GuardedIo::make_area(size_t size_bytes, size_t alignment, Fence fence, uint8_t fill) {
  Area out;
  out.size_bytes = size_bytes;
  if (fence != Fence::kRoomy) {
    FRIT_ASSIGN(out.buffer, base::GuardedBuffer::make(
                                size_bytes, alignment,
                                fence == Fence::kFront ? base::GuardSide::kFront : base::GuardSide::kEnd));
    out.data = out.buffer.data();
    return out;
  }
  const size_t before = std::max(kRoom, alignment);
  FRIT_ASSIGN(out.buffer,
              base::GuardedBuffer::make(before + size_bytes + kRoom, alignment, base::GuardSide::kFront));
  out.data = out.buffer.data() + before;
  fill_fence(out, fill);
  return out;
}

void GuardedIo::fill_fence(const Area& area, uint8_t fill) {
  std::memset(area.buffer.data(), fill, static_cast<size_t>(area.data - area.buffer.data()));
  std::memset(area.data + area.size_bytes, fill, kRoom);
}

Result<GuardedIo> GuardedIo::make(const exec::ExecPlan& plan, const std::vector<graph::HostTensor>& inputs,
                                  Fence fence) {
  GuardedIo out;
  out.contents_ = inputs;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const auto alignment = static_cast<size_t>(std::max<int64_t>(plan.inputs()[k].align_bytes, 1));
    FRIT_ASSIGN(Area area, make_area(inputs[k].size_bytes(), alignment, fence, kInputFill));
    if (area.size_bytes > 0) std::memcpy(area.data, inputs[k].bytes(), area.size_bytes);
    out.in_.push_back(std::move(area));
  }
  for (const exec::BindingInfo& binding : plan.outputs()) {
    const auto alignment = static_cast<size_t>(std::max<int64_t>(binding.align_bytes, 1));
    FRIT_ASSIGN(Area area, make_area(static_cast<size_t>(binding.size_bytes), alignment, fence, kOutputFill));
    out.out_.push_back(std::move(area));
  }
  for (const Area& area : out.in_) out.inputs_.push_back(area.data);
  for (const Area& area : out.out_) out.outputs_.push_back(area.data);
  out.poison_outputs();
  return out;
}

void GuardedIo::poison_outputs() {
  for (const Area& area : out_)
    if (area.size_bytes > 0) std::memset(area.data, 0xff, area.size_bytes);
}

void GuardedIo::restore() {
  for (const Area& area : out_) {
    if (area.data != area.buffer.data()) fill_fence(area, kOutputFill);
  }
  for (size_t k = 0; k < in_.size(); ++k) {
    if (in_[k].data != in_[k].buffer.data()) fill_fence(in_[k], kInputFill);
    if (in_[k].size_bytes > 0) std::memcpy(in_[k].data, contents_[k].bytes(), in_[k].size_bytes);
  }
  poison_outputs();
}

Status GuardedIo::check_fence(const Area& area, uint8_t fill, const char* what, size_t number) {
  if (area.data == area.buffer.data()) return area.buffer.check().with(base::text_of(what, " ", number));
  const auto stray = [&](const char* side, const std::byte* from, const std::byte* to,
                         const std::byte* edge) -> Status {
    for (const std::byte* p = from; p < to; ++p) {
      if (static_cast<uint8_t>(*p) == fill) continue;
      return make_error(Code::kInternal,
                        base::text_of("a store ", p < edge ? edge - p : p - edge, " bytes ", side, " ", what,
                                      " ", number, " of ", area.size_bytes, " bytes"));
    }
    return {};
  };
  const std::byte* end = area.data + area.size_bytes;
  FRIT_TRY(stray("before", area.buffer.data(), area.data, area.data));
  return stray("past", end, end + kRoom, end);
}

Status GuardedIo::check() const {
  for (size_t k = 0; k < out_.size(); ++k) FRIT_TRY(check_fence(out_[k], kOutputFill, "output", k));
  for (size_t k = 0; k < in_.size(); ++k) {
    FRIT_TRY(check_fence(in_[k], kInputFill, "input", k));
    if (in_[k].size_bytes > 0 && std::memcmp(in_[k].data, contents_[k].bytes(), in_[k].size_bytes) != 0)
      return make_error(Code::kInternal, base::text_of("a store into input ", k));
  }
  return {};
}

}  // namespace frit::tuner
