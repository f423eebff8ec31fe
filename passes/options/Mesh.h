// The mesh and the strategy as the command line gives them, and what they mean:
// over which dimensions of the mesh parameters and optimizer state are cut.
#ifndef SHARDC_PASSES_OPTIONS_MESH_H
#define SHARDC_PASSES_OPTIONS_MESH_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace shardc {

/// More ranks than any run has; what is above is a typing error.
constexpr int64_t mostRanks = int64_t(1) << 20;

/// Ranks in one or two dimensions. Rank r of [d0, d1] has the coordinates
/// (r / d1, r % d1).
struct MeshShape {
  llvm::SmallVector<int64_t> dims;      // outermost first
  llvm::SmallVector<std::string> names; // replicate, shard
  bool named = false;                   // the text named them

  int64_t ranks() const;
};

/// "N", "RxS", or dimensions by name, "replicate=R,shard=S" (also with
/// PyTorch's names dp_replicate and dp_shard; one of them may be missing). The
/// error is one line that names the text given.
llvm::Expected<MeshShape> parseMesh(llvm::StringRef text);

/// What a strategy does on a mesh. "Over" lists dimensions, outermost first.
struct Sharding {
  std::string strategy;
  llvm::SmallVector<int64_t> parameters; // over which parameters are cut
  llvm::SmallVector<int64_t> optimizer;  // and master weights and their state;
                                         // begins with `parameters`
  bool keepsGathered = false; // parameters stay gathered until backward

  /// Products of the sizes of these dimensions.
  int64_t parameterShards(const MeshShape &mesh) const;
  int64_t optimizerShards(const MeshShape &mesh) const;
};

/// full, grad_op, hybrid, hybrid_grad_op, hybrid_opt, opt or none; empty:
/// hybrid on two dimensions, full on one (none where that one is named
/// replicate). The error is one line.
llvm::Expected<Sharding> resolveStrategy(llvm::StringRef strategy,
                                         const MeshShape &mesh);

/// What --reshard-after-forward, or the `reshard` of a --unit-option, says.
struct ReshardOption {
  enum Kind { Default, Always, Never, Groups };
  Kind kind = Default;
  int64_t group = 0; // of Groups: ranks that gather among themselves

  /// "default", "always", "never" or a number; the error is one line that
  /// begins with `flag`.
  static llvm::Expected<ReshardOption> parse(llvm::StringRef flag,
                                             llvm::StringRef text);
  /// Success where the option can be honoured: a number is a divisor of the
  /// shards other than 1 and all, and there is something to reshard.
  llvm::Error check(llvm::StringRef flag, const Sharding &sharding,
                    const MeshShape &mesh) const;
};

/// What --reshard-after-backward, or the `after-backward` of a --unit-option,
/// says: whether gathered parameters stay over the micro-batches of a step. The
/// error is one line that begins with `flag`.
llvm::Expected<bool> parseStays(llvm::StringRef flag, llvm::StringRef text);

/// --unit-option match=REGEX[,reshard=...][,after-backward=...][,precision=...].
struct UnitOption {
  std::string match;
  std::optional<ReshardOption> reshard;
  std::optional<bool> stays; // over micro-batches
  std::string precision;     // empty: not said

  /// The error is one line.
  static llvm::Expected<UnitOption> parse(llvm::StringRef text);
};

} // namespace shardc

#endif
