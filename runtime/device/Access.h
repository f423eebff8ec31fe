// What an entry does with the bytes of its operands.
#ifndef SHARDC_RUNTIME_DEVICE_ACCESS_H
#define SHARDC_RUNTIME_DEVICE_ACCESS_H

namespace shardc::runtime::entry {

/// What becomes of an operand.
enum class Access {
  Read,
  Write,  // all of it, and nothing is read
  Update, // read and written
  /// Bytes that hold nothing before and after.
  Scratch,
  /// What an entry may leave as it is.
  MayWrite,
};

} // namespace shardc::runtime::entry

#endif
