// What the kernels of Copy.cu that move views take. Host and device read this
// header.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_COPYPARAMETERS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_COPYPARAMETERS_H

#include "runtime/cuda/kernels/Divisor.h"
#include "runtime/cuda/kernels/Parameters.h"

namespace shardc::runtime::cuda {

// A unit is what a kernel's name says the bytes of: an element, or several that
// lie side by side. Addresses are multiples of it, and strides count it.

/// One dim of a pair of views.
struct CopyDim {
  Divisor size;
  Count from, to; // strides
};

/// copy1, copy2, copy4, copy8 and copy16: any strides, equal shapes, [rank]
/// dims with the outermost first, at least one. Views must not overlap. Blocks
/// of copyThreads, as many as there are.
struct CopyParameters {
  Address source, destination;
  unsigned units, rank; // the product of sizes, below indexLimit
  CopyDim dims[mostDims];
};

/// fill1, fill2, fill4, fill8 and fill16: a view as CopyParameters has its
/// destination.
struct FillParameters {
  Address destination;
  unsigned units, rank;
  CopyDim dims[mostDims];
  unsigned long long bits[2]; // of one unit, in its lowest bytes
};

/// Units in the side of a tile, by their bytes.
constexpr int tileSide(int bytes) { return bytes <= 2 ? 64 : 32; }

/// transpose1, transpose2, transpose4 and transpose8: a copy of a view with a
/// dim in which the source walks by 1, another in which the destination does,
/// and [rank] around these, the outermost first. Blocks of copyThreads, as many
/// as there are: they take tiles of tileSide by tileSide in turns.
struct TransposeParameters {
  Address source, destination;
  unsigned sourceSize, destinationSize;  // of the two dims
  Count to;                              // the first one's in the destination
  Count from;                            // the second one's in the source
  Divisor sourceTiles, destinationTiles; // along the two
  unsigned tiles, rank;                  // tiles: of all dims
  CopyDim dims[mostDims - 2];
};

} // namespace shardc::runtime::cuda

#endif
