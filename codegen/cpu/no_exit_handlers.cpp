// libfrit-codegen registers nothing that runs at exit: LLVM's static objects stay as they are until the process is gone,
// since a thread may still be compiling while another one calls exit(). The library is never unloaded (RTLD_NODELETE), so
// nothing is lost. The definition below, hidden like everything here, takes the place of libc's for this library alone.

extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
