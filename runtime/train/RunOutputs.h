// The files that a run writes.
#ifndef SHARDC_RUNTIME_TRAIN_RUNOUTPUTS_H
#define SHARDC_RUNTIME_TRAIN_RUNOUTPUTS_H

#include "runtime/train/InitialValues.h"
#include "runtime/train/Trainer.h"

#include <string>

namespace shardc::runtime {

/// The running program: what its user calls it, and where it is, also where
/// that name is another file's by now.
struct ProgramFile {
  std::string name, path;
};

/// Throws an Error where one of all files of the run is another as well.
/// Nothing has been written yet.
void checkFiles(const Run &run, const InitialValues &values,
                const ProgramFile &program);

/// To be called where the world leads. Throws an Error for a file that cannot
/// be written.
void openOutputs(Run &run);

} // namespace shardc::runtime

#endif
