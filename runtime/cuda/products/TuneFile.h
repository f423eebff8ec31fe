// The file of --tune: which algorithm each product runs, as it was timed once.
#ifndef SHARDC_RUNTIME_CUDA_PRODUCTS_TUNEFILE_H
#define SHARDC_RUNTIME_CUDA_PRODUCTS_TUNEFILE_H

#include "runtime/cuda/Context.h"
#include "runtime/files/OutputFile.h"

#include <map>
#include <memory>
#include <string>

namespace shardc::runtime::cuda {

/// Where times and algorithms are worth anything.
struct TunePlace {
  std::string device; // "NVIDIA H200"
  int capability = 0; // see capabilityOf
  size_t blasLt = 0;  // cublasLtGetVersion()

  static TunePlace of(const Libraries &libraries, CUdevice device);
  /// "NVIDIA H200 of compute capability 9.0 with cuBLASLt 130100".
  std::string text() const;
  bool operator==(const TunePlace &) const = default;
};

class TuneFile {
public:
  struct Choice {
    /// The library's bytes, which it takes again in the same version.
    cublasLtMatmulAlgo_t algorithm = {};
    /// Of the choice, and of what the heuristic names first.
    double microseconds = 0, firstMicroseconds = 0;
    int timed = 0; // algorithms
  };

  /// Reads what is there; without a file it makes sure that there can be one.
  /// Throws an Error, and leaves the file as it is, where that is no such file,
  /// or one of another place.
  TuneFile(std::string path, TunePlace here);

  const std::string &path() const { return name; }
  /// Null: the file lacks the product.
  const Choice *find(const std::string &product) const;
  void add(const std::string &product, const Choice &choice);
  /// Replaces the file where something was added.
  void keep();

private:
  void read();
  std::string text() const;

  std::string name;
  TunePlace here;
  std::map<std::string, Choice> products;
  /// Of what was added: a folder that cannot be written to is found before
  /// anything is trained.
  std::unique_ptr<OutputFile> output;
};

} // namespace shardc::runtime::cuda

#endif
