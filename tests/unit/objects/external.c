// Needs the math library.
#include "args.h"

extern float expf(float);

int32_t frit_test_external(const KernelArgs* args) {
  float* y = (float*)args->buffers[0];
  y[0] = expf(y[0]);
  return 0;
}
