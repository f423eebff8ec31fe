// Who reads each initializer, directly or through Identity nodes.
#ifndef SHARDC_FRONTEND_ONNX_GRAPH_READERS_H
#define SHARDC_FRONTEND_ONNX_GRAPH_READERS_H

#include "frontend/onnx/graph/FlatGraph.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace shardc::onnx {

/// A node input that reads an initializer.
struct Reader {
  /// Index in the flat graph.
  int node = 0;
  int input = 0;
  /// Name of the Identity's result through which the initializer is read;
  /// empty: read directly, or under a name that an exporter made up.
  std::string alias;
  /// Whether it is read through an Identity.
  bool isCopy = false;
};

class Readers {
public:
  Readers(const ModelFile &file, llvm::ArrayRef<Node> nodes);

  /// The initializers that are read, in order of their first use. An Identity's
  /// own read stands among them.
  const llvm::MapVector<const Initializer *, std::vector<Reader>> &all() const {
    return readersOf;
  }
  llvm::ArrayRef<Reader> of(const Initializer &initializer) const {
    auto entry = readersOf.find(&initializer);
    return entry == readersOf.end() ? llvm::ArrayRef<Reader>()
                                    : llvm::ArrayRef<Reader>(entry->second);
  }
  /// The initializer that an input reads; null where it reads none.
  const Initializer *at(int node, int input) const {
    return readAt.lookup({node, input});
  }
  /// Node and input of everything that reads a value.
  llvm::ArrayRef<std::pair<int, int>> consumers(llvm::StringRef value) const {
    auto entry = consumersOf.find(value);
    return entry == consumersOf.end()
               ? llvm::ArrayRef<std::pair<int, int>>()
               : llvm::ArrayRef<std::pair<int, int>>(entry->second);
  }

private:
  llvm::MapVector<const Initializer *, std::vector<Reader>> readersOf;
  llvm::DenseMap<std::pair<int, int>, const Initializer *> readAt;
  llvm::StringMap<std::vector<std::pair<int, int>>> consumersOf;
};

} // namespace shardc::onnx

#endif
