// The names of a file's tensors, where a module around the exported one, or one
// inside it, was saved.
#ifndef SHARDC_RUNTIME_WEIGHTS_WRAPPEDNAMES_H
#define SHARDC_RUNTIME_WEIGHTS_WRAPPEDNAMES_H

#include <string>
#include <vector>

namespace shardc::runtime {

/// A prefix that the file's names have and the parameters' have not, as DDP's
/// "module." or torch.compile's "_orig_mod.", or one that the parameters' names
/// have and the file's have not.
struct WrappedNames {
  std::string inFile, inModel; // one is empty; both: the names are the same

  /// What the file calls a parameter; empty: it is not in it.
  std::string operator()(const std::string &parameter) const;

  /// The one prefix with which the file has all `parameters`; none where they
  /// are there as they are, or where no prefix or several would do.
  static WrappedNames find(const std::vector<std::string> &parameters,
                           const std::vector<std::string> &tensors);
};

} // namespace shardc::runtime

#endif
