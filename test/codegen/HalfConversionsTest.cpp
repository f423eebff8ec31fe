// Conversion of 16-bit floats in compiled kernels: every bit pattern, every
// place where rounding changes, on CPUs with and without instructions for it,
// and never by a function of a runtime library.
#include "codegen/cpu/CompileCpuKernels.h"
#include "test/lib/LoadedKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELFObjectFile.h"
#include "gtest/gtest.h"

#include <bit>
#include <cmath>

using namespace shardc;

namespace {

/// A 16-bit type, and what LLVM's own arithmetic says of it.
struct HalfType {
  const char *name;
  const llvm::fltSemantics &semantics;

  uint16_t bitsOf(double value) const {
    llvm::APFloat number(value);
    bool inexact;
    number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &inexact);
    return number.bitcastToAPInt().getZExtValue();
  }
  double valueOf(uint16_t bits) const {
    llvm::APFloat number(semantics, llvm::APInt(16, bits));
    bool inexact;
    number.convert(llvm::APFloat::IEEEdouble(),
                   llvm::APFloat::rmNearestTiesToEven, &inexact);
    return number.convertToDouble();
  }
};
const HalfType types[] = {{"bf16", llvm::APFloat::BFloat()},
                          {"f16", llvm::APFloat::IEEEhalf()}};
// The first has neither F16C nor a wide register.
const char *cpus[] = {"x86-64", "x86-64-v3", "native"};

struct HalfConversions : testing::Test {
  HalfConversions() {
    context.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                        mlir::linalg::LinalgDialect, mlir::math::MathDialect,
                        mlir::tensor::TensorDialect>();
  }

  /// A kernel that converts `count` elements, and one that converts one element
  /// per row, which is not in a vector.
  cpu::CompiledObject compile(std::string op, std::string from, std::string to,
                              size_t count, const char *cpu) {
    std::string n = std::to_string(count), text = R"mlir(
      #same = affine_map<(d0) -> (d0)>
      #row = affine_map<(d0, d1) -> (d0, 0)>
      #all = affine_map<(d0, d1) -> (d0, d1)>
      func.func @vectors(%x: tensor<NxFROM>) -> tensor<NxTO> {
        %empty = tensor.empty() : tensor<NxTO>
        %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
          ins(%x : tensor<NxFROM>) outs(%empty : tensor<NxTO>) {
        ^bb0(%a: FROM, %b: TO):
          %c = arith.OP %a : FROM to TO
          linalg.yield %c : TO
        } -> tensor<NxTO>
        return %y : tensor<NxTO>
      }
      func.func @scalars(%x: tensor<Nx1xFROM>, %z: tensor<Nx3xTO>) -> (tensor<Nx3xTO>, tensor<Nx3xTO>) {
        %empty = tensor.empty() : tensor<Nx3xTO>
        %y = linalg.generic {indexing_maps = [#row, #all], iterator_types = ["parallel", "parallel"]}
          ins(%x : tensor<Nx1xFROM>) outs(%empty : tensor<Nx3xTO>) {
        ^bb0(%a: FROM, %b: TO):
          %c = arith.OP %a : FROM to TO
          linalg.yield %c : TO
        } -> tensor<Nx3xTO>
        return %y, %z : tensor<Nx3xTO>, tensor<Nx3xTO>
      })mlir";
    auto replace = [&](llvm::StringRef what, const std::string &by) {
      for (size_t at; (at = text.find(what.str())) != std::string::npos;)
        text.replace(at, what.size(), by);
    };
    replace("FROM", from);
    replace("TO", to);
    replace("OP", op);
    replace("tensor<N", "tensor<" + n);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    cpu::CpuOptions options;
    options.cpu = cpu;
    auto compiled = cpu::compileCpuKernels(*module, options);
    if (!compiled) {
      ADD_FAILURE() << llvm::toString(compiled.takeError());
      return {};
    }
    return std::move(*compiled);
  }

  template <typename To, typename From>
  std::vector<To> convert(std::string op, std::string from, std::string to,
                          std::vector<From> &values, const char *cpu) {
    size_t count = values.size();
    cpu::CompiledObject compiled = compile(op, from, to, count, cpu);
    auto loaded = test::LoadedKernels::load(compiled.sharedObject);
    if (!loaded) {
      ADD_FAILURE() << llvm::toString(loaded.takeError());
      return {};
    }
    std::vector<To> results(count), rows(3 * count), other(3 * count),
        copied(3 * count);
    void *vectors[] = {values.data(), results.data()};
    loaded->find("vectors")(vectors, 0, compiled.kernels[0].extent);
    void *scalars[] = {values.data(), other.data(), rows.data(), copied.data()};
    loaded->find("scalars")(scalars, 0, compiled.kernels[1].extent);
    for (size_t i = 0; i < count; ++i)
      for (int column : {0, 2})
        EXPECT_EQ(std::memcmp(&rows[3 * i + column], &results[i], sizeof(To)),
                  0)
            << values[i] << " alone and in a vector";
    return results;
  }
  mlir::MLIRContext context;
};

TEST_F(HalfConversions, CallNoFunction) {
  for (const HalfType &type : types)
    for (const char *cpu : {"x86-64", "x86-64-v3", "x86-64-v4", "znver5"})
      for (bool widens : {true, false}) {
        cpu::CompiledObject compiled =
            widens ? compile("extf", type.name, "f32", 35, cpu)
                   : compile("truncf", "f32", type.name, 35, cpu);
        auto buffer = llvm::MemoryBufferRef(compiled.sharedObject, "kernels");
        auto file = llvm::object::ObjectFile::createELFObjectFile(buffer);
        ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
        auto *elf = llvm::cast<llvm::object::ELFObjectFileBase>(file->get());
        for (llvm::object::ELFSymbolRef symbol :
             elf->getDynamicSymbolIterators())
          EXPECT_FALSE(llvm::cantFail(symbol.getFlags()) &
                       llvm::object::SymbolRef::SF_Undefined)
              << type.name << " on " << cpu << " calls "
              << llvm::cantFail(symbol.getName()).str();
      }
}

TEST_F(HalfConversions, WidenExactly) {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = i;
  for (const HalfType &type : types)
    for (const char *cpu : cpus) {
      std::vector<float> wide =
          convert<float>("extf", type.name, "f32", all, cpu);
      ASSERT_EQ(wide.size(), all.size());
      for (size_t i = 0; i < all.size(); ++i) {
        double value = type.valueOf(i);
        if (std::isnan(value))
          ASSERT_TRUE(std::isnan(wide[i])) << i;
        else
          ASSERT_EQ(std::bit_cast<uint32_t>(wide[i]),
                    std::bit_cast<uint32_t>(float(value)))
              << type.name << " on " << cpu << ": " << i;
      }
    }
}

/// All elements of a type, the middles between neighbours, and what lies just
/// beside those.
template <typename T> std::vector<T> placesOfRounding(const HalfType &type) {
  std::vector<T> values;
  for (uint32_t bits = 0; bits < 65535; ++bits) {
    auto low = T(type.valueOf(bits)), high = T(type.valueOf(bits + 1));
    T middle = std::isinf(high) ? low + (low - T(type.valueOf(bits - 1))) / 2
                                : (low + high) / 2;
    for (T value : {low, middle, std::nextafter(middle, T(0)),
                    std::nextafter(middle, T(INFINITY))})
      values.push_back(value);
  }
  for (uint32_t bits : {0xffffffffu, 0x7fffffffu, 0x7f800001u, 0xff80ffffu})
    values.push_back(T(std::bit_cast<float>(bits)));
  for (double value : {3.4e38, -3.4e38, 1e-45, 65519.99, 65520.0, 0.0, -0.0})
    values.push_back(T(value));
  return values;
}

TEST_F(HalfConversions, RoundToNearestEvenOnce) {
  for (const HalfType &type : types)
    for (const char *cpu : cpus) {
      auto check = [&]<typename T>(std::vector<T> values, const char *from) {
        std::vector<uint16_t> results =
            convert<uint16_t>("truncf", from, type.name, values, cpu);
        ASSERT_EQ(results.size(), values.size());
        for (size_t i = 0; i < values.size(); ++i) {
          if (std::isnan(values[i]))
            ASSERT_TRUE(std::isnan(type.valueOf(results[i]))) << i;
          else
            ASSERT_EQ(results[i], type.bitsOf(values[i]))
                << type.name << " on " << cpu << ": " << values[i] << " of "
                << from;
        }
      };
      check(placesOfRounding<float>(type), "f32");
      // Float64 has places of its own, which float32 would round to middles.
      check(placesOfRounding<double>(type), "f64");
    }
}

} // namespace
