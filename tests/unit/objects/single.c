// One kernel and nothing else, as frit's own compiler makes objects.
#include "args.h"

int32_t frit_test_single(const KernelArgs* args) { return (int32_t)args->first_tile + 1; }
