// What goes wrong while training: one exception type whose text is the one line
// that the user reads. Thrown anywhere in the runtime, caught in main and at
// the end of a rank's thread, which hands it on.
#ifndef SHARDC_RUNTIME_ERROR_H
#define SHARDC_RUNTIME_ERROR_H

#include <cerrno>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>

namespace shardc::runtime {

/// Lower case, no full stop, both values, what to do next.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The parts as one text, each as operator<< prints it.
template <typename... Parts> std::string concat(const Parts &...parts) {
  std::ostringstream text;
  (text << ... << parts);
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
