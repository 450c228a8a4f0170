// A kernel with what compilers make of ordinary code: constants, tables of values and of addresses, local calls.
#include "args.h"

static const float kTable[7] = {0.5f, -1.0f, 2.0f, 0.25f, 8.0f, -3.0f, 1.5f};
static const uint8_t kBytes[5] = {3, 1, 4, 1, 5};
static const uint16_t kHalves[3] = {1000, 2000, 3000};
static const double kDoubles[3] = {1e3, 2e3, 3e3};
static const char kWords[4][6] = {"zero", "one", "two", "three"};
static const char* const kPointers[4] = {kWords[0], kWords[1], kWords[2], kWords[3]};

// One constant of each access size, read directly; weak, or the compiler would know the values.
#define CONSTANT __attribute__((weak, visibility("hidden"))) const
typedef float Vector __attribute__((vector_size(16)));
CONSTANT uint8_t test_byte = 2;
CONSTANT uint16_t test_half = 300;
CONSTANT float test_float = 0.125f;
CONSTANT double test_double = 0.75;
CONSTANT Vector test_vector = {1, 2, 3, 4};

__attribute__((noinline)) float frit_test_constants(int64_t i) {
  Vector v = test_vector;
  return test_byte + test_half + test_float + (float)test_double + v[i & 3];
}

__attribute__((noinline)) static float weight(int64_t i) {
  return kTable[i % 7] + (float)kBytes[i % 5] + (float)kHalves[i % 3] + (float)kDoubles[i % 3];
}

// buffers: x [n] f32 read, y [n] f32 written; a tile is one element.
int32_t frit_test_kernel(const KernelArgs* args) {
  const float* x = (const float*)args->buffers[0];
  float* y = (float*)args->buffers[1];
  for (int64_t i = args->first_tile; i < args->last_tile; ++i) {
    if (x[i] != x[i]) {
      args->error[0] = 3;
      args->error[1] = i;
      args->error[2] = 0;
      return 3;
    }
    y[i] = x[i] * weight(i) + frit_test_constants(i) + (float)kPointers[i & 3][0];
  }
  return 0;
}

int32_t frit_test_choose(const KernelArgs* args) {
  switch (args->first_tile) {
    case 0: return 11;
    case 1: return (int32_t)args->last_tile * 3;
    case 2: return (int32_t)args->last_tile - 7;
    case 3: return (int32_t)args->last_tile ^ 0x55;
    case 4: return (int32_t)args->last_tile << 2;
    case 5: return -(int32_t)args->last_tile;
    case 6: return (int32_t)(args->last_tile * args->last_tile);
    default: return -1;
  }
}

// Ends in a jump to another function.
int32_t frit_test_forward(const KernelArgs* args) { return frit_test_kernel(args); }
