// The one place that knows which formats of samples there are.
#ifndef SHARDC_RUNTIME_DATA_OPENSOURCE_H
#define SHARDC_RUNTIME_DATA_OPENSOURCE_H

#include "runtime/data/NamedFile.h"
#include "runtime/data/Source.h"

#include <memory>

namespace shardc::runtime {

/// Opens what a flag gives for an input; what a file holds says its content,
/// not its name. Throws where it does not fit the input.
std::unique_ptr<Source> openSource(const plan::Input &input,
                                   const NamedFile &file);

/// Makes the source of an input whose values come from those of another one,
/// `source`, which must outlive it.
std::unique_ptr<Source> openReference(const plan::Plan &plan,
                                      const plan::Input &input,
                                      const NamedFile &file,
                                      const Source &source);

} // namespace shardc::runtime

#endif
