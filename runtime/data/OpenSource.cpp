// The one place that knows which formats of samples there are.
#include "runtime/data/OpenSource.h"

#include "runtime/data/Npy.h"

namespace shardc::runtime {

std::unique_ptr<Source> openSource(const plan::Input &input,
                                   const NamedFile &file) {
  return openNpy(SampleType(input), file.path,
                 Descriptor::openForReading(file.path));
}

} // namespace shardc::runtime
