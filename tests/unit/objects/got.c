// Reads a constant that another library might replace, so by way of a global offset table.
#include "args.h"

__attribute__((visibility("default"))) extern const int32_t frit_test_constant[4];
const int32_t frit_test_constant[4] = {1, 2, 3, 4};

int32_t frit_test_got(const KernelArgs* args) { return frit_test_constant[args->first_tile]; }
