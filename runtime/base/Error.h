// What goes wrong while training: one exception type whose text is the one line
// that the user reads. Thrown anywhere in the runtime, caught in main and at
// the end of a rank's thread, which hands it on.
#ifndef SHARDC_RUNTIME_BASE_ERROR_H
#define SHARDC_RUNTIME_BASE_ERROR_H

#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace shardc::runtime {

/// Lower case, no full stop, both values, what to do next.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// A number without the sign that a NaN has by chance.
template <typename Part> const Part &withoutNanSign(const Part &part) {
  if constexpr (std::is_floating_point_v<Part>) {
    static constexpr Part plain = std::numeric_limits<Part>::quiet_NaN();
    if (std::isnan(part))
      return plain;
  }
  return part;
}

/// The parts as one text, each as operator<< prints it.
template <typename... Parts> std::string concat(const Parts &...parts) {
  std::ostringstream text;
  (text << ... << withoutNanSign(parts));
  return text.str();
}

template <typename... Parts> [[noreturn]] void fail(const Parts &...parts) {
  throw Error(concat(parts...));
}

/// fail() for a system call: adds what errno says.
template <typename... Parts>
[[noreturn]] void failErrno(const Parts &...parts) {
  int code = errno;
  throw Error(concat(parts..., ": ", std::strerror(code)));
}

} // namespace shardc::runtime

#endif
