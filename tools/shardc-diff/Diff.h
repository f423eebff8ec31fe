// `shardc diff A B`: what two trainers, or two runs, differ in.
#ifndef SHARDC_TOOLS_SHARDCDIFF_DIFF_H
#define SHARDC_TOOLS_SHARDCDIFF_DIFF_H

#include "runtime/plan.pb.h"

#include <string>

namespace shardc {

/// What is printed, and whether there is a difference.
struct Difference {
  std::string text;
  bool isThere = false;
};

/// Of what two plans are, of the bytes that a rank needs for them, and whether
/// they train to the same bits. `first`, `second`: what they are called.
Difference diffPlans(const plan::Plan &a, const std::string &first,
                     const plan::Plan &b, const std::string &second);

/// Of two folders of a trainer's --hash-entries (EntryHashes.h): the first plan
/// entry that has not made the same. Throws an Error where there are none.
Difference diffHashes(const std::string &first, const std::string &second);

/// The command. The exit code is that of diff: 0 where nothing differs, 1 where
/// something does, 2 with a line on stderr where that cannot be said.
int diff(int argc, char **argv);

} // namespace shardc

#endif
