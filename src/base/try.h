// FRIT_TRY and FRIT_ASSIGN: pass an error on to the caller. Internal; the public headers have no macros but the version.
#pragma once

#include "frit/result.h"

#define FRIT_CONCAT_(a, b) a##b
#define FRIT_CONCAT(a, b) FRIT_CONCAT_(a, b)

// FRIT_TRY(call());  returns the error of a failed Result from the enclosing function. The names are counted, not
// numbered by line: a call may contain a lambda that uses the macros too.
#define FRIT_TRY(...) FRIT_TRY_(FRIT_CONCAT(frit_status_, __COUNTER__), __VA_ARGS__)
#define FRIT_TRY_(status, ...)                                               \
  do {                                                                       \
    if (auto status = (__VA_ARGS__); !status.ok())                           \
      return std::move(status).error();                                      \
  } while (0)

// FRIT_ASSIGN(auto x, call());  binds the value or returns the error.
#define FRIT_ASSIGN(decl, ...) FRIT_ASSIGN_(FRIT_CONCAT(frit_result_, __COUNTER__), decl, __VA_ARGS__)
#define FRIT_ASSIGN_(tmp, decl, ...)                  \
  auto tmp = (__VA_ARGS__);                           \
  if (!tmp.ok()) return std::move(tmp).error();       \
  decl = *std::move(tmp)
