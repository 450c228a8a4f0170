// Stand-ins for the two CUDA libraries, as far as asking their version goes.
extern "C" {
__attribute__((visibility("default"))) int cuDriverGetVersion(int* version) {
  *version = 12080;
  return 0;
}
__attribute__((visibility("default"))) int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 1;
  return 0;
}
}
