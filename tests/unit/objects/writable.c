// Keeps state.
#include "args.h"

static int32_t calls = 41;

int32_t frit_test_writable(const KernelArgs* args) { return calls += (int32_t)args->first_tile; }
