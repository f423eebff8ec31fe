// What other tools call the flags of shardc and of its trainers.
#ifndef SHARDC_RUNTIME_FLAGS_OTHERNAMES_H
#define SHARDC_RUNTIME_FLAGS_OTHERNAMES_H

#include <string>
#include <string_view>

namespace shardc::runtime::cli {

/// The two programs with flags of a training.
enum class Side { Compiler, Trainer };

/// "it is --lr here", of a flag like --learning-rate or --learning_rate that a
/// user of `side` knows from another tool, or that the other side has; empty
/// where none is known.
std::string otherName(Side side, std::string_view flag);

/// The same of a key of a configuration file: "it is lr here", "it is precision
/// of the section compile".
std::string otherKey(Side side, std::string_view key);

} // namespace shardc::runtime::cli

#endif
