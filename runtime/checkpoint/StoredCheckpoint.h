// A checkpoint as it is read: any rows of any tensor, for ranks that cut them
// otherwise than those that wrote it.
#ifndef SHARDC_RUNTIME_CHECKPOINT_STOREDCHECKPOINT_H
#define SHARDC_RUNTIME_CHECKPOINT_STOREDCHECKPOINT_H

#include "runtime/checkpoint/Manifest.h"
#include "runtime/weights/ParameterSource.h"
#include "runtime/weights/StoredTensors.h"

#include <memory>
#include <string>

namespace shardc::runtime {

class StoredCheckpoint {
public:
  /// Ours has a manifest, which all files are compared with. Torch's has
  /// folders model/ and optim/ as HuggingFaceStorageWriter leaves them with
  /// save_distributed=True.
  enum class Writer { Shardc, Torch };
  /// Throws an Error with the path and what is wrong.
  explicit StoredCheckpoint(const std::string &path,
                            Writer writer = Writer::Shardc);

  const std::string &where() const { return path; }
  const Manifest &manifest() const { return read; }

  /// Each trained parameter, and its states.
  const StoredTensors &model() const { return *modelTensors; }
  const StoredTensors &optim() const { return *optimTensors; }

  /// Whether it has the values of a parameter, trained or not: what a run has
  /// trained may be frozen by the next. Buffers of another shape do not count.
  bool has(const plan::Parameter &parameter) const;
  /// Throws an Error unless it has each trained parameter in its shape.
  void checkParameters(const plan::Plan &plan) const;
  /// Throws an Error unless it has what a run of this plan goes on with: each
  /// trained parameter in its shape, and its optimizer's states.
  void check(const plan::Plan &plan) const;
  /// The parameters that it has, as master weights; the rest are `others`'s.
  /// All must live as long as the result.
  std::unique_ptr<ParameterSource>
  parameters(const plan::Plan &plan, const ParameterSource &others) const;
  /// The state of that name.
  std::unique_ptr<ParameterSource> states(const plan::Plan &plan,
                                          const std::string &state) const;

private:
  void openManifest();
  void openFolders();

  std::string path;
  Manifest read;
  std::unique_ptr<StoredTensors> modelTensors, optimTensors;
};

/// What a checkpoint's folder says of itself; its files are not looked at.
/// Throws an Error where there is no manifest, or it is damaged.
Manifest readManifest(const std::string &checkpoint);

} // namespace shardc::runtime

#endif
