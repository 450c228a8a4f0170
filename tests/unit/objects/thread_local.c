// Keeps state per thread.
#include "args.h"

static __thread int32_t calls = 1;

int32_t frit_test_thread_local(const KernelArgs* args) { return calls += (int32_t)args->first_tile; }
