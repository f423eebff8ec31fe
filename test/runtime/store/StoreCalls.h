// One of each call that a client of the store has: what test/tools/torch_store.py
// lets torch's server answer, and what its recorded answers are compared with.
#ifndef SHARDC_TEST_RUNTIME_STORE_STORECALLS_H
#define SHARDC_TEST_RUNTIME_STORE_STORECALLS_H

#include "runtime/store/Store.h"

namespace shardc::runtime {

/// What each call returned, in a line.
inline std::string callAll(Store &store) {
  Deadline deadline = after(std::chrono::seconds(20));
  std::string text = concat("has ", store.has("a", deadline));
  store.set("a", "hello", deadline);
  text += concat(", has ", store.has("a", deadline));
  text += ", get " + store.get("a", deadline);
  text += concat(", add ", store.add("n", 5, deadline));
  text += concat(", add ", store.add("n", -7, deadline));
  text += ", get " + store.get("n", deadline);
  text += ", first " + store.compareSet("who", "", "3", deadline);
  text += ", first " + store.compareSet("who", "", "5", deadline);
  text += ", then " + store.compareSet("who", "3", "6", deadline);
  store.wait({"a", "n", "who"}, deadline);
  store.set("empty", "", deadline);
  text += ", get '" + store.get("empty", deadline) + "'";
  return text;
}

inline constexpr const char *allCalls =
    "has 0, has 1, get hello, add 5, add -2, get -2, first 3, first 3, "
    "then 6, get ''";

} // namespace shardc::runtime

#endif
