// Result<T>: a value, or an Error with a code, a message and the chain of contexts it passed through.
//
// frit reports every failure through Result; no function of the library throws (except those whose names end in
// _or_throw) and none prints, exits or aborts. Shaped like std::expected, so that it can be replaced by it.
#pragma once

#include <cassert>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "frit/version.h"

namespace frit {
inline namespace FRIT_ABI {

enum class Code {
  kBadModel,         // the model file or graph is malformed
  kUnsupported,      // well-formed, but frit has no implementation for it
  kInvalidArgument,  // the caller gave a wrong name, shape, type, flag or option
  kIo,               // a file could not be read or written
  kCorrupt,          // a cache or pack does not verify
  kDevice,           // a device, driver or executable-memory failure
  kOutOfMemory,
  kCancelled,        // a stop token was triggered; everything committed is kept
  kNotFound,         // the answer is "no such thing" (for example a cache miss under on_miss = error)
  kBusy,             // try again later
  kInternal,         // a bug in frit
};

// The name of a code as users see it, e.g. "bad_model".
const char* code_name(Code code);

struct Error {
  Code code = Code::kInternal;
  std::string message;               // lower-case, no final period, names expected and actual
  std::vector<std::string> context;  // innermost first: node, then file ...
  std::string hint;                  // one sentence about what to do, or empty

  // "outer: inner: message"
  std::string text() const {
    std::string out;
    for (auto it = context.rbegin(); it != context.rend(); ++it) out += *it + ": ";
    return out + message;
  }
  Error with(std::string where) && {
    context.push_back(std::move(where));
    return std::move(*this);
  }
  Error hinted(std::string sentence) && {
    hint = std::move(sentence);
    return std::move(*this);
  }
};

inline Error make_error(Code code, std::string message) { return Error{code, std::move(message), {}, {}}; }

// Thrown only by the _or_throw functions.
class Exception : public std::runtime_error {
 public:
  explicit Exception(Error error) : std::runtime_error(error.text()), error_(std::move(error)) {}
  const Error& error() const { return error_; }

 private:
  Error error_;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit like std::expected
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { assert(ok()); return std::get<0>(state_); }
  const T& value() const& { assert(ok()); return std::get<0>(state_); }
  T&& value() && { assert(ok()); return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { assert(!ok()); return std::get<1>(state_); }
  Error&& error() && { assert(!ok()); return std::get<1>(std::move(state_)); }

  // Adds a line of context to an error, leaves a value alone.
  Result with(std::string where) && {
    if (!ok()) std::get<1>(state_).context.push_back(std::move(where));
    return std::move(*this);
  }
  T value_or_throw() && {
    if (!ok()) throw Exception(std::move(*this).error());
    return std::move(*this).value();
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { assert(!ok()); return *error_; }
  Error&& error() && { assert(!ok()); return *std::move(error_); }
  Result with(std::string where) && {
    if (error_) error_->context.push_back(std::move(where));
    return std::move(*this);
  }
  void value_or_throw() && {
    if (error_) throw Exception(*std::move(error_));
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace FRIT_ABI
}  // namespace frit
