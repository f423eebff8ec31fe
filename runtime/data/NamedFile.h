// What a flag gives for an input: a path, and how its samples are taken.
#ifndef SHARDC_RUNTIME_DATA_NAMEDFILE_H
#define SHARDC_RUNTIME_DATA_NAMEDFILE_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shardc::runtime {

/// How a token file stores an id.
enum class TokenType { UInt8, Int8, UInt16, Int16, UInt32, Int32, Int64 };

/// KEY=VALUE and KEY behind a path. What is absent was not given.
struct SourceKeys {
  std::optional<TokenType> dtype; // of raw token files
  std::optional<std::string> column;
  std::optional<int64_t> window, stride, pad;
  std::optional<int64_t> documents; // the id that ends one
  bool storedDocuments = false;     // documents=stored: as the file has them
  std::optional<int64_t> ignore;
  std::optional<double> weight; // in a mixture
  // Of masks.
  bool causal = false;
  std::optional<int64_t> padding;

  bool cutsWindows() const {
    return window || stride || pad || documents || storedDocuments;
  }
  bool makesMask() const { return causal || padding || documents; }
  /// The keys, in the order of the command line.
  std::vector<std::string> given;

  /// Throws where a key was given that is not among `known`: it would change
  /// nothing. `what`: what there is instead, as in "x.npy is a .npy file".
  void refuseBut(std::initializer_list<const char *> known,
                 const std::string &what) const;
};

/// NAME=PATH,KEY=VALUE, or synthetic:SEED.
struct NamedFile {
  std::string name; // of the input; empty: of all that are not named
  std::string path; // of a file, a folder or a glob; @NAME: another input
  SourceKeys keys = {};
  std::optional<uint64_t> syntheticSeed = {};

  bool isReference() const { return path.starts_with('@'); }
};

} // namespace shardc::runtime

#endif
