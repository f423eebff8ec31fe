// How the runtime says that something went wrong: a one-line message, carried
// by value across threads. No exceptions. What ends the program (printing, exit
// codes) lives in the trainer's main.
#ifndef SHARDC_RUNTIME_STATUS_H
#define SHARDC_RUNTIME_STATUS_H

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace shardc::runtime {

/// Success, or one line saying what failed: lower case, no full stop, with both
/// values and what to do next.
class [[nodiscard]] Status {
public:
  static Status success() { return Status(); }
  static Status error(std::string message) {
    Status status;
    status.text = std::move(message);
    return status;
  }

  bool ok() const { return !text; }
  explicit operator bool() const { return ok(); }
  const std::string &message() const {
    assert(text && "a success has no message");
    return *text;
  }
  /// The same failure with `context` and ": " before it; a success stays one.
  Status in(const std::string &context) && {
    if (text)
      text = context + ": " + *text;
    return std::move(*this);
  }

private:
  Status() = default;
  std::optional<std::string> text;
};

/// A value or the reason why there is none.
template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : stored(std::move(value)), failure(Status::success()) {}
  Expected(Status status) : failure(std::move(status)) {
    assert(!failure.ok() && "a success needs a value");
  }

  explicit operator bool() const { return stored.has_value(); }
  T &operator*() { return *stored; }
  const T &operator*() const { return *stored; }
  T *operator->() { return &*stored; }
  const T *operator->() const { return &*stored; }
  /// The failure; success when there is a value.
  const Status &status() const { return failure; }
  Status takeStatus() { return std::move(failure); }

private:
  std::optional<T> stored;
  Status failure;
};

/// Leaves the function with the failure, if `expression` is one.
#define SHARDC_RETURN_IF_ERROR(expression)                                     \
  do {                                                                         \
    if (::shardc::runtime::Status statusOfExpression = (expression);           \
        !statusOfExpression.ok())                                              \
      return statusOfExpression;                                               \
  } while (false)

} // namespace shardc::runtime

#endif
