#include "frit/tensor.h"

#include <cstring>
#include <new>

#include "base/memory.h"
#include "base/text.h"
#include "base/try.h"
#include "graph/tensor.h"
#include "runtime/strided.h"

namespace frit {
inline namespace FRIT_ABI {

namespace {

// Below it the allocator is quicker than a mapping of its own, and wastes less.
constexpr size_t kMappedFromBytes = size_t{1} << 20;

Result<std::shared_ptr<void>> allocate_zeroed(size_t size_bytes) {
  if (size_bytes >= kMappedFromBytes) {
    FRIT_ASSIGN(base::AlignedBuffer buffer,
                base::AlignedBuffer::make(size_bytes, {base::kCacheLineBytes, true}));
    void* data = buffer.data();
    auto owner = std::make_shared<base::AlignedBuffer>(std::move(buffer));
    return std::shared_ptr<void>(std::move(owner), data);
  }
  constexpr std::align_val_t kAlign{base::kCacheLineBytes};
  void* data = ::operator new(size_bytes > 0 ? size_bytes : 1, kAlign, std::nothrow);
  if (!data) return make_error(Code::kOutOfMemory, base::text_of("no memory for ", size_bytes, " bytes"));
  std::memset(data, 0, size_bytes);
  return std::shared_ptr<void>(
      data, [](void* p) { ::operator delete (p, std::align_val_t{base::kCacheLineBytes}); });
}

}  // namespace

std::string shape_text(std::span<const int64_t> shape) {
  return base::text_of("[", base::join(shape, ","), "]");
}

Result<int64_t> element_count(std::span<const int64_t> shape) {
  auto count = graph::checked_element_count({shape.begin(), shape.end()});
  if (!count.ok()) return make_error(Code::kInvalidArgument, count.error().message);
  return count;
}

Result<Tensor> Tensor::allocate(DType dtype, std::vector<int64_t> shape) {
  Tensor out;
  FRIT_ASSIGN(out.elements_, element_count(shape));
  out.dtype_ = dtype;
  out.shape_ = std::move(shape);
  FRIT_ASSIGN(out.memory_, allocate_zeroed(out.size_bytes()));
  return out;
}

Result<Tensor> Tensor::copy_of(const TensorView& view) {
  FRIT_TRY(runtime::check_view(view, false, "the view"));
  FRIT_ASSIGN(Tensor out, allocate(view.dtype, view.shape));
  runtime::copy_strided(out.bytes(), {}, static_cast<const std::byte*>(view.data), view.strides, view.shape,
                        dtype_bytes(view.dtype));
  return out;
}

Result<Tensor> Tensor::copy_of_values(DType dtype, const void* values, size_t count,
                                      std::vector<int64_t> shape) {
  FRIT_ASSIGN(const int64_t elements, element_count(shape));
  if (static_cast<size_t>(elements) != count) {
    return make_error(Code::kInvalidArgument,
                      base::text_of(count, " values for shape ", shape_text(shape), ", expected ", elements));
  }
  FRIT_ASSIGN(Tensor out, allocate(dtype, std::move(shape)));
  if (count > 0) std::memcpy(out.bytes(), values, out.size_bytes());
  return out;
}

}  // namespace FRIT_ABI
}  // namespace frit
