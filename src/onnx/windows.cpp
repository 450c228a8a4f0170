#include "onnx/windows.h"

#include <algorithm>

#include "base/text.h"

namespace frit::onnx {
namespace {

using base::text_of;

constexpr int64_t kLargest = int64_t{1} << 30;

Ints read_list(NodeContext& c, const char* name, size_t count, int64_t fallback, int64_t least) {
  if (!c.has_attr(name)) return Ints(count, fallback);
  Ints values = c.attr_ints(name);
  if (values.size() != count)
    c.fail(text_of(name, " has ", values.size(), " values, expected ", count, " for rank-", c.rank(c.in(0)),
                   " input"));
  for (int64_t v : values)
    if (v < least || v > kLargest) c.fail(text_of(name, " has ", v, ", expected ", least, " to ", kLargest));
  values.resize(count, fallback);
  return values;
}

// SAME: as many outputs as ceil(size / stride); the odd element of padding goes to the end (upper) or the
// start.
void pad_same(NodeContext& c, ValueId x, bool upper, Windows& w) {
  for (size_t i = 0; i < w.axes(); ++i) {
    int64_t total = w.extent(i) - 1;
    if (w.strides[i] != 1) {
      const int64_t size = c.known_dim(x, static_cast<int64_t>(i) + 2, "auto_pad");
      if (c.failed()) return;
      const int64_t count = (size + w.strides[i] - 1) / w.strides[i];
      total = std::max<int64_t>(0, (count - 1) * w.strides[i] + w.extent(i) - size);
    }
    w.pads[i] = upper ? total / 2 : total - total / 2;
    w.pads[i + w.axes()] = total - w.pads[i];
  }
}

}  // namespace

Windows read_windows(NodeContext& c, ValueId x, Ints kernel) {
  Windows w;
  const auto count = static_cast<size_t>(std::max<int64_t>(0, c.rank(x) - 2));
  if (kernel.size() != count)
    c.fail(text_of("kernel_shape has ", kernel.size(), " values, expected ", count, " for rank-", c.rank(x),
                   " input"));
  for (int64_t k : kernel)
    if (k < 1 || k > kLargest) c.fail(text_of("kernel_shape has ", k, ", expected 1 to ", kLargest));
  kernel.resize(count, 1);
  w.kernel = std::move(kernel);
  w.strides = read_list(c, "strides", count, 1, 1);
  w.dilations = read_list(c, "dilations", count, 1, 1);
  w.pads.assign(2 * count, 0);
  if (c.failed()) return w;
  const std::string mode = c.attr_string("auto_pad", "NOTSET");
  if (mode == "NOTSET" || mode.empty()) {
    w.pads = read_list(c, "pads", 2 * count, 0, 0);
  } else if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    pad_same(c, x, mode == "SAME_UPPER", w);
  } else if (mode != "VALID") {
    c.fail("auto_pad is " + base::quoted(mode) +
           ", expected \"NOTSET\", \"SAME_UPPER\", \"SAME_LOWER\" or \"VALID\"");
  }
  return w;
}

int64_t count_windows(const Windows& w, size_t i, int64_t size, bool ceil_mode) {
  const int64_t room = size + w.pads[i] + w.pads[i + w.axes()] - w.extent(i);
  if (room < 0) return 0;
  int64_t count = (ceil_mode ? (room + w.strides[i] - 1) / w.strides[i] : room / w.strides[i]) + 1;
  if (ceil_mode && (count - 1) * w.strides[i] >= size + w.pads[i]) --count;
  return count;
}

}  // namespace frit::onnx
