// Threads exchange values by shuffles and shared memory.
#include "codegen/gpu/ThreadReduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace shardc::kernels;

namespace shardc::gpu {

Value ThreadReduction::number(int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI32IntegerAttr(value));
}

/// Returns the value of the thread whose number differs by `distance`, a power
/// of two.
Value ThreadReduction::shuffled(Value value, int64_t distance) {
  Type type = value.getType(), i32 = builder.getI32Type();
  unsigned bits = type.getIntOrFloatBitWidth();
  auto shuffle = [&](Value word) {
    return Value(mlir::gpu::ShuffleOp::create(builder, loc, word, distance,
                                              warpSize,
                                              mlir::gpu::ShuffleMode::XOR)
                     .getShuffleResult());
  };
  if (type.isF32() || bits == 32)
    return shuffle(value);
  if (bits < 32) {
    Value word = arith::ExtUIOp::create(builder, loc, i32, value);
    return arith::TruncIOp::create(builder, loc, type, shuffle(word));
  }
  // A value of 64 bits goes as two words, since the hardware exchanges 32 bits.
  Type i64 = builder.getI64Type();
  Value whole = type.isF64()
                    ? Value(arith::BitcastOp::create(builder, loc, i64, value))
                    : value;
  Value half =
      arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(32));
  Value high = arith::ShRUIOp::create(builder, loc, whole, half);
  auto exchange = [&](Value word) {
    return Value(arith::ExtUIOp::create(
        builder, loc, i64,
        shuffle(arith::TruncIOp::create(builder, loc, i32, word))));
  };
  Value low = exchange(whole);
  high = arith::ShLIOp::create(builder, loc, exchange(high), half);
  whole = arith::OrIOp::create(builder, loc, high, low);
  return type.isF64()
             ? Value(arith::BitcastOp::create(builder, loc, type, whole))
             : whole;
}

void ThreadReduction::combine(MutableArrayRef<ThreadValue> values,
                              int64_t stride, int64_t threads) {
  for (int64_t distance = stride;
       distance < std::min(warpSize, stride * threads); distance *= 2)
    for (ThreadValue &value : values) {
      // Both sides add the same two numbers, so all get the same bits.
      SmallVector<Value> lanes{value.value};
      auto vector = dyn_cast<VectorType>(value.value.getType());
      if (vector) {
        lanes.clear();
        for (int64_t lane = 0; lane < vector.getNumElements(); ++lane)
          lanes.push_back(
              vector::ExtractOp::create(builder, loc, value.value, lane));
      }
      for (Value &lane : lanes)
        lane = shuffled(lane, distance);
      Value other = vector ? Value(vector::FromElementsOp::create(
                                 builder, loc, vector, lanes))
                           : lanes.front();
      value.value =
          kernels::combine(vectors, *value.combiner, value.value, other);
    }
  if (stride * threads > warpSize)
    combineWarps(values, stride, stride * threads / warpSize);
}

/// Each warp leaves its results (one for each of `stride` neighbouring
/// threads), and every thread combines those of all warps.
void ThreadReduction::combineWarps(MutableArrayRef<ThreadValue> values,
                                   int64_t stride, int64_t warps) {
  Value lane = arith::RemUIOp::create(builder, loc, thread, number(warpSize));
  Value warp = arith::DivUIOp::create(builder, loc, thread, number(warpSize));
  Value column = arith::RemUIOp::create(builder, loc, thread, number(stride));
  Value writes = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       lane, number(stride));
  auto index = [&](Value position) {
    return Value(arith::IndexCastOp::create(builder, loc,
                                            builder.getIndexType(), position));
  };
  auto plus = [&](Value x, Value y) {
    return Value(arith::AddIOp::create(builder, loc, x, y));
  };
  auto times = [&](Value x, int64_t y) {
    return Value(arith::MulIOp::create(builder, loc, x, number(y)));
  };
  // Every value of the kernel has slots of its own, so one barrier is enough.
  SmallVector<Value> slots;
  for (ThreadValue &value : values) {
    Type type = value.value.getType(), element = getElementTypeOrSelf(type);
    int64_t lanes =
        isa<VectorType>(type) ? cast<VectorType>(type).getNumElements() : 1;
    // Booleans take a byte.
    Type stored = element.isInteger(1) ? Type(builder.getI8Type()) : element;
    auto workgroup = mlir::gpu::AddressSpaceAttr::get(
        builder.getContext(), mlir::gpu::AddressSpace::Workgroup);
    Value slot = function.addWorkgroupAttribution(
        MemRefType::get({warps * stride * lanes}, stored,
                        MemRefLayoutAttrInterface(), workgroup),
        loc);
    slots.push_back(slot);
    auto guard = scf::IfOp::create(builder, loc, writes);
    OpBuilder::InsertionGuard inside(builder);
    builder.setInsertionPointToStart(guard.thenBlock());
    Value first = times(plus(times(warp, stride), lane), lanes);
    for (int64_t number = 0; number < lanes; ++number) {
      Value part = isa<VectorType>(type)
                       ? Value(vector::ExtractOp::create(builder, loc,
                                                         value.value, number))
                       : value.value;
      if (stored != element)
        part = arith::ExtUIOp::create(builder, loc, stored, part);
      memref::StoreOp::create(builder, loc, part, slot,
                              index(plus(first, this->number(number))));
    }
  }
  mlir::gpu::BarrierOp::create(builder, loc);
  for (auto [value, slot] : llvm::zip_equal(values, slots)) {
    Type type = value.value.getType(), element = getElementTypeOrSelf(type);
    int64_t lanes =
        isa<VectorType>(type) ? cast<VectorType>(type).getNumElements() : 1;
    SmallVector<Value> parts;
    for (int64_t of = 0; of < warps; ++of) {
      Value first = times(plus(column, number(of * stride)), lanes);
      SmallVector<Value> loaded;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        Value part = memref::LoadOp::create(builder, loc, slot,
                                            index(plus(first, number(lane))));
        if (element.isInteger(1))
          part = arith::TruncIOp::create(builder, loc, element, part);
        loaded.push_back(part);
      }
      parts.push_back(isa<VectorType>(type)
                          ? Value(vector::FromElementsOp::create(builder, loc,
                                                                 type, loaded))
                          : loaded.front());
    }
    for (; parts.size() > 1; parts.resize(parts.size() / 2))
      for (size_t i = 0; i < parts.size() / 2; ++i)
        parts[i] = kernels::combine(vectors, *value.combiner, parts[2 * i],
                                    parts[2 * i + 1]);
    value.value = parts.front();
  }
}

} // namespace shardc::gpu
