// FRIT_TRY and FRIT_ASSIGN: pass an error on to the caller. Internal; the public headers have no macros but the version.
#pragma once

#include "frit/result.h"

#define FRIT_CONCAT_(a, b) a##b
#define FRIT_CONCAT(a, b) FRIT_CONCAT_(a, b)

// FRIT_TRY(call());  returns the error of a failed Result from the enclosing function.
#define FRIT_TRY(...)                                                        \
  do {                                                                       \
    if (auto frit_status_ = (__VA_ARGS__); !frit_status_.ok())               \
      return std::move(frit_status_).error();                                \
  } while (0)

// FRIT_ASSIGN(auto x, call());  binds the value or returns the error.
#define FRIT_ASSIGN(decl, ...) FRIT_ASSIGN_(FRIT_CONCAT(frit_result_, __LINE__), decl, __VA_ARGS__)
#define FRIT_ASSIGN_(tmp, decl, ...)                  \
  auto tmp = (__VA_ARGS__);                           \
  if (!tmp.ok()) return std::move(tmp).error();       \
  decl = *std::move(tmp)
