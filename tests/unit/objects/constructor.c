// Wants to run before anybody calls it.
#include "args.h"

static void early(void) {}
__attribute__((section(".init_array"), used)) static void (*const run_early)(void) = early;

int32_t frit_test_constructor(const KernelArgs* args) { return (int32_t)args->first_tile; }
