// No code at all.
const int frit_test_empty = 1;
