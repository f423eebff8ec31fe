// The arrays are what CMakeLists.txt has clang compile and gzip pack: PTX is a
// seventh as long then.
#include "runtime/cuda/OwnKernels.h"

#include "runtime/base/Error.h"

#include <zlib.h>

namespace shardc::runtime::cuda {

struct OwnKernels {
  std::string_view name;
  const unsigned char *packed; // RFC 1952
  size_t bytes;
};

#include "runtime/cuda/OwnKernels.inc"

static std::string unpack(const OwnKernels &kernels) {
  // The last four bytes are the length of what was packed, the lowest first.
  size_t length = 0;
  for (size_t i = 1; i <= 4; ++i)
    length = length << 8 | kernels.packed[kernels.bytes - i];
  std::string ptx(length, '\0');
  z_stream stream = {};
  stream.next_in = const_cast<Bytef *>(kernels.packed);
  stream.avail_in = static_cast<uInt>(kernels.bytes);
  stream.next_out = reinterpret_cast<Bytef *>(ptx.data());
  stream.avail_out = static_cast<uInt>(length);
  // 16 more than the window's bits: the header is gzip's.
  bool unpacks = inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK &&
                 inflate(&stream, Z_FINISH) == Z_STREAM_END &&
                 stream.total_out == length;
  inflateEnd(&stream);
  if (!unpacks)
    fail("the device code called ", kernels.name, " does not unpack");
  return ptx;
}

std::string ownKernels(std::string_view name) {
  for (const OwnKernels &each : all)
    if (each.name == name)
      return unpack(each);
  return {};
}

} // namespace shardc::runtime::cuda
