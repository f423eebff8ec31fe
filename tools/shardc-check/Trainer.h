// A trainer as a file, read by the description of its format alone: an
// executable, then sections, their table and a footer, little-endian.
//
//   footer   u64 table, u64 checksum of it, u32 sections, u32 version, magic[8]
//   section  u32 kind, u32 target, u64 offset, u64 length, u64 checksum
#ifndef SHARDC_TOOLS_SHARDC_CHECK_TRAINER_H
#define SHARDC_TOOLS_SHARDC_CHECK_TRAINER_H

#include "runtime/plan.pb.h"

#include <stdexcept>
#include <string>
#include <vector>

namespace shardc::check {

/// What is wrong with what the user gave: one line, and exit code 2.
struct BadInput : std::runtime_error {
  using runtime_error::runtime_error;
};

/// Throws BadInput where the file cannot be read.
std::string readFile(const std::string &path);

struct Trainer {
  std::string path;
  std::vector<plan::Plan> plans;    // of each target
  std::vector<uint64_t> planHashes; // XXH3-64 of their bytes
  /// The same model's plans of one rank, where shardc --checkable was given.
  std::vector<plan::Plan> unsharded;
};

/// Reads a trainer, or a file that is a serialized Plan alone. Throws BadInput
/// for a file that is cut off, damaged, of another version, or neither.
Trainer readTrainer(const std::string &path);

/// Replaces the trainer's certificate: the file is written anew beside it and
/// renamed. Throws BadInput for a bare plan and where that fails.
void stamp(const std::string &path, const plan::Certificate &certificate);

} // namespace shardc::check

#endif
