// What code says that is to fail.
#ifndef SHARDC_TEST_RUNTIME_ERRORTEXT_H
#define SHARDC_TEST_RUNTIME_ERRORTEXT_H

#include "runtime/base/Error.h"

#include <string>

namespace shardc::runtime {

/// The text of the Error that the body throws; empty where it throws none.
template <typename Body> std::string errorOf(Body body) {
  try {
    body();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

} // namespace shardc::runtime

#endif
