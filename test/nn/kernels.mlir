// Every kernel body, interpreted, against reference evaluation; for each float
// type (the 16-bit ones keep their statistics in float32).
// RUN: sed -e s/ELEM/f64/g -e s/STAT/f64/g %s | shardc-opt -test-nn-kernels=require-all -o /dev/null
// RUN: sed -e s/ELEM/f32/g -e s/STAT/f32/g %s | shardc-opt -test-nn-kernels -o /dev/null
// RUN: sed -e s/ELEM/bf16/g -e s/STAT/f32/g %s | shardc-opt -test-nn-kernels -o /dev/null
// RUN: sed -e s/ELEM/f16/g -e s/STAT/f32/g %s | shardc-opt -test-nn-kernels -o /dev/null

//===--- Elementwise ---===//

func.func @functions_of_any_number(%x: tensor<3x5xELEM> {test.range = array<f64: -3.0, 3.0>})
    -> (tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>) {
  %0 = nn.neg %x : tensor<3x5xELEM>
  %1 = nn.abs %x : tensor<3x5xELEM>
  %2 = nn.exp %x : tensor<3x5xELEM>
  %3 = nn.sin %x : tensor<3x5xELEM>
  %4 = nn.cos %x : tensor<3x5xELEM>
  %5 = nn.tanh %x : tensor<3x5xELEM>
  %6 = nn.erf %x : tensor<3x5xELEM>
  %7 = nn.sigmoid %x : tensor<3x5xELEM>
  %8 = nn.relu %x : tensor<3x5xELEM>
  %9 = nn.silu %x : tensor<3x5xELEM>
  %10 = nn.gelu %x : tensor<3x5xELEM>
  %11 = nn.floor %x : tensor<3x5xELEM>
  %12 = nn.ceil %x : tensor<3x5xELEM>
  %13 = nn.gelu %x {tanh} : tensor<3x5xELEM>
  %14 = nn.expm1 %x : tensor<3x5xELEM>
  %15 = nn.softplus %x : tensor<3x5xELEM>
  %16 = nn.round %x : tensor<3x5xELEM>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16 : tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>
}
func.func @inverse_functions_of_any_number(%x: tensor<3x5xELEM> {test.range = array<f64: -3.0, 3.0>})
    -> (tensor<3x5xELEM>, tensor<3x5xELEM>) {
  %0 = nn.atan %x : tensor<3x5xELEM>
  %1 = nn.asinh %x : tensor<3x5xELEM>
  return %0, %1 : tensor<3x5xELEM>, tensor<3x5xELEM>
}
func.func @inverse_functions_below_one(%x: tensor<3x5xELEM> {test.range = array<f64: -0.9, 0.9>})
    -> (tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>) {
  %0 = nn.asin %x : tensor<3x5xELEM>
  %1 = nn.acos %x : tensor<3x5xELEM>
  %2 = nn.atanh %x : tensor<3x5xELEM>
  return %0, %1, %2 : tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>
}
func.func @inverse_function_above_one(%x: tensor<3x5xELEM> {test.range = array<f64: 1.1, 5.0>}) -> tensor<3x5xELEM> {
  %0 = nn.acosh %x : tensor<3x5xELEM>
  return %0 : tensor<3x5xELEM>
}
func.func @functions_of_positive_numbers(%x: tensor<3x5xELEM> {test.range = array<f64: 0.5, 3.0>}, %y: tensor<3x5xELEM> {test.range = array<f64: 0.5, 3.0>})
    -> (tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>) {
  %0 = nn.log %x : tensor<3x5xELEM>
  %1 = nn.sqrt %x : tensor<3x5xELEM>
  %2 = nn.rsqrt %x : tensor<3x5xELEM>
  %3 = nn.reciprocal %x : tensor<3x5xELEM>
  %4 = nn.div %x, %y : tensor<3x5xELEM>
  %5 = nn.pow %x, %y : tensor<3x5xELEM>
  return %0, %1, %2, %3, %4, %5 : tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>
}
func.func @functions_of_two(%x: tensor<3x5xELEM> {test.range = array<f64: -3.0, 3.0>}, %y: tensor<3x5xELEM> {test.range = array<f64: -3.0, 3.0>})
    -> (tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>) {
  %0 = nn.add %x, %y : tensor<3x5xELEM>
  %1 = nn.sub %x, %y : tensor<3x5xELEM>
  %2 = nn.mul %x, %y : tensor<3x5xELEM>
  %3 = nn.max %x, %y : tensor<3x5xELEM>
  %4 = nn.min %x, %y : tensor<3x5xELEM>
  %5 = nn.gelu_grad %x, %y : tensor<3x5xELEM>
  %6 = nn.silu_grad %x, %y : tensor<3x5xELEM>
  %7 = nn.mod %x, %y : tensor<3x5xELEM>
  %8 = nn.gelu_grad %x, %y {tanh} : tensor<3x5xELEM>
  %9 = nn.mod %x, %y {fmod} : tensor<3x5xELEM>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9 : tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>
}
func.func @powers_with_constant_exponents(%x: tensor<3x5xELEM> {test.range = array<f64: 0.5, 3.0>})
    -> (tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>) {
  %c0 = nn.constant dense<1.0> : tensor<3x5xELEM>
  %c1 = nn.constant dense<2.0> : tensor<3x5xELEM>
  %c2 = nn.constant dense<3.0> : tensor<3x5xELEM>
  %c3 = nn.constant dense<0.5> : tensor<3x5xELEM>
  %0 = nn.pow %x, %c0 : tensor<3x5xELEM>
  %1 = nn.pow %x, %c1 : tensor<3x5xELEM>
  %2 = nn.pow %x, %c2 : tensor<3x5xELEM>
  %3 = nn.pow %x, %c3 : tensor<3x5xELEM>
  return %0, %1, %2, %3 : tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>
}
func.func @comparisons(%x: tensor<3x5xELEM> {test.range = array<f64: 0.0, 2.0>}, %y: tensor<3x5xELEM> {test.range = array<f64: 0.0, 2.0>})
    -> (tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xELEM>) {
  %0 = nn.compare eq %x, %y : (tensor<3x5xELEM>, tensor<3x5xELEM>) -> tensor<3x5xi1>
  %1 = nn.compare ne %x, %y : (tensor<3x5xELEM>, tensor<3x5xELEM>) -> tensor<3x5xi1>
  %2 = nn.compare lt %x, %y : (tensor<3x5xELEM>, tensor<3x5xELEM>) -> tensor<3x5xi1>
  %3 = nn.compare le %x, %y : (tensor<3x5xELEM>, tensor<3x5xELEM>) -> tensor<3x5xi1>
  %4 = nn.compare gt %x, %y : (tensor<3x5xELEM>, tensor<3x5xELEM>) -> tensor<3x5xi1>
  %5 = nn.compare ge %x, %y : (tensor<3x5xELEM>, tensor<3x5xELEM>) -> tensor<3x5xi1>
  %6 = nn.compare eq %x, %x : (tensor<3x5xELEM>, tensor<3x5xELEM>) -> tensor<3x5xi1>
  %7 = nn.select %2, %x, %y : (tensor<3x5xi1>, tensor<3x5xELEM>, tensor<3x5xELEM>) -> tensor<3x5xELEM>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xELEM>
}
// A NaN stays one, and compares as unequal only. (0/0 makes it, in any type.)
func.func @not_a_number(%x: tensor<4xELEM> {test.values = dense<[0.0, 1.0, -2.0, 3.0]> : tensor<4xELEM>}, %y: tensor<4xELEM> {test.values = dense<[0.0, 1.0, 0.0, -1.0]> : tensor<4xELEM>})
    -> (tensor<4xELEM>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xELEM>, tensor<4xELEM>, tensor<4xELEM>, tensor<4xELEM>, tensor<4xELEM>) {
  %0 = nn.div %x, %y : tensor<4xELEM>
  %1 = nn.is_nan %0 : (tensor<4xELEM>) -> tensor<4xi1>
  %2 = nn.compare eq %0, %y : (tensor<4xELEM>, tensor<4xELEM>) -> tensor<4xi1>
  %3 = nn.compare ne %0, %y : (tensor<4xELEM>, tensor<4xELEM>) -> tensor<4xi1>
  %4 = nn.compare lt %0, %y : (tensor<4xELEM>, tensor<4xELEM>) -> tensor<4xi1>
  %5 = nn.compare ge %0, %y : (tensor<4xELEM>, tensor<4xELEM>) -> tensor<4xi1>
  %6 = nn.max %0, %y : tensor<4xELEM>
  %7 = nn.max %y, %0 : tensor<4xELEM>
  %8 = nn.min %0, %y : tensor<4xELEM>
  %9 = nn.min %y, %0 : tensor<4xELEM>
  %10 = nn.relu %0 : tensor<4xELEM>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10 : tensor<4xELEM>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xELEM>, tensor<4xELEM>, tensor<4xELEM>, tensor<4xELEM>, tensor<4xELEM>
}
func.func @casts(%x: tensor<7xELEM> {test.range = array<f64: -9.0, 9.0>})
    -> (tensor<7xf64>, tensor<7xELEM>, tensor<7xf32>, tensor<7xELEM>, tensor<7xbf16>, tensor<7xELEM>, tensor<7xf16>, tensor<7xELEM>, tensor<7xi64>, tensor<7xELEM>, tensor<7xi32>, tensor<7xELEM>, tensor<7xi8>, tensor<7xELEM>, tensor<7xi1>, tensor<7xELEM>) {
  %0 = nn.cast %x : (tensor<7xELEM>) -> tensor<7xf64>
  %1 = nn.cast %0 : (tensor<7xf64>) -> tensor<7xELEM>
  %2 = nn.cast %x : (tensor<7xELEM>) -> tensor<7xf32>
  %3 = nn.cast %2 : (tensor<7xf32>) -> tensor<7xELEM>
  %4 = nn.cast %x : (tensor<7xELEM>) -> tensor<7xbf16>
  %5 = nn.cast %4 : (tensor<7xbf16>) -> tensor<7xELEM>
  %6 = nn.cast %x : (tensor<7xELEM>) -> tensor<7xf16>
  %7 = nn.cast %6 : (tensor<7xf16>) -> tensor<7xELEM>
  %8 = nn.cast %x : (tensor<7xELEM>) -> tensor<7xi64>
  %9 = nn.cast %8 : (tensor<7xi64>) -> tensor<7xELEM>
  %10 = nn.cast %x : (tensor<7xELEM>) -> tensor<7xi32>
  %11 = nn.cast %10 : (tensor<7xi32>) -> tensor<7xELEM>
  %12 = nn.cast %x : (tensor<7xELEM>) -> tensor<7xi8>
  %13 = nn.cast %12 : (tensor<7xi8>) -> tensor<7xELEM>
  %14 = nn.cast %x : (tensor<7xELEM>) -> tensor<7xi1>
  %15 = nn.cast %14 : (tensor<7xi1>) -> tensor<7xELEM>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15 : tensor<7xf64>, tensor<7xELEM>, tensor<7xf32>, tensor<7xELEM>, tensor<7xbf16>, tensor<7xELEM>, tensor<7xf16>, tensor<7xELEM>, tensor<7xi64>, tensor<7xELEM>, tensor<7xi32>, tensor<7xELEM>, tensor<7xi8>, tensor<7xELEM>, tensor<7xi1>, tensor<7xELEM>
}
func.func @booleans(%x: tensor<3x5xi1>, %y: tensor<3x5xi1>)
    -> (tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>) {
  %0 = nn.and %x, %y : tensor<3x5xi1>
  %1 = nn.or %x, %y : tensor<3x5xi1>
  %2 = nn.xor %x, %y : tensor<3x5xi1>
  %3 = nn.not %x : tensor<3x5xi1>
  %4 = nn.compare eq %x, %y : (tensor<3x5xi1>, tensor<3x5xi1>) -> tensor<3x5xi1>
  %5 = nn.compare ne %x, %y : (tensor<3x5xi1>, tensor<3x5xi1>) -> tensor<3x5xi1>
  %6 = nn.compare lt %x, %y : (tensor<3x5xi1>, tensor<3x5xi1>) -> tensor<3x5xi1>
  %7 = nn.compare le %x, %y : (tensor<3x5xi1>, tensor<3x5xi1>) -> tensor<3x5xi1>
  %8 = nn.compare gt %x, %y : (tensor<3x5xi1>, tensor<3x5xi1>) -> tensor<3x5xi1>
  %9 = nn.compare ge %x, %y : (tensor<3x5xi1>, tensor<3x5xi1>) -> tensor<3x5xi1>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9 : tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>
}

//===--- Shape ---===//

func.func @bits(%x: tensor<4xui64> {test.values = dense<[18446744073709551615, 5, 0, 1311768467463790320]> : tensor<4xui64>}, %y: tensor<4xui64> {test.values = dense<[3, 18446744073709551614, 7, 9223372036854775808]> : tensor<4xui64>})
    -> (tensor<4xui64>, tensor<4xui64>, tensor<4xui64>, tensor<4xui64>, tensor<4xui64>, tensor<4xui64>, tensor<4xui64>, tensor<4xi1>, tensor<4xf64>) {
  %0 = nn.and %x, %y : tensor<4xui64>
  %1 = nn.or %x, %y : tensor<4xui64>
  %2 = nn.xor %x, %y : tensor<4xui64>
  %3 = nn.max %x, %y : tensor<4xui64>
  %4 = nn.min %x, %y : tensor<4xui64>
  %5 = nn.div %x, %y : tensor<4xui64>
  %6 = nn.mod %x, %y : tensor<4xui64>
  %7 = nn.compare lt %x, %y : (tensor<4xui64>, tensor<4xui64>) -> tensor<4xi1>
  %8 = nn.cast %x : (tensor<4xui64>) -> tensor<4xf64>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<4xui64>, tensor<4xui64>, tensor<4xui64>, tensor<4xui64>, tensor<4xui64>, tensor<4xui64>, tensor<4xui64>, tensor<4xi1>, tensor<4xf64>
}
func.func @bits_of_floats(%x: tensor<5xELEM> {test.range = array<f64: -3.0, 3.0>})
    -> (tensor<5xf64>, tensor<5xf32>, tensor<5xbf16>, tensor<5xf16>, tensor<5xui16>) {
  %0 = nn.cast %x : (tensor<5xELEM>) -> tensor<5xf64>
  %1 = nn.cast %x : (tensor<5xELEM>) -> tensor<5xf32>
  %2 = nn.cast %x : (tensor<5xELEM>) -> tensor<5xbf16>
  %3 = nn.cast %x : (tensor<5xELEM>) -> tensor<5xf16>
  %4 = nn.bitcast %0 : (tensor<5xf64>) -> tensor<5xi64>
  %5 = nn.bitcast %1 : (tensor<5xf32>) -> tensor<5xi32>
  %6 = nn.bitcast %2 : (tensor<5xbf16>) -> tensor<5xi16>
  %7 = nn.bitcast %3 : (tensor<5xf16>) -> tensor<5xui16>
  %8 = nn.bitcast %4 : (tensor<5xi64>) -> tensor<5xf64>
  %9 = nn.bitcast %5 : (tensor<5xi32>) -> tensor<5xf32>
  %10 = nn.bitcast %6 : (tensor<5xi16>) -> tensor<5xbf16>
  %11 = nn.bitcast %7 : (tensor<5xui16>) -> tensor<5xf16>
  return %8, %9, %10, %11, %7 : tensor<5xf64>, tensor<5xf32>, tensor<5xbf16>, tensor<5xf16>, tensor<5xui16>
}
func.func @moves(%x: tensor<2x3x4xELEM>, %y: tensor<2x1x4xELEM>)
    -> (tensor<6x4xELEM>, tensor<2x2x6xELEM>, tensor<1x24xELEM>, tensor<4x3x2xELEM>, tensor<2x5x4xELEM>, tensor<2x2x2xELEM>, tensor<4x7x4xELEM>, tensor<2x3x4xELEM>, tensor<2x5x4xELEM>) {
  %0 = nn.reshape %x : (tensor<2x3x4xELEM>) -> tensor<6x4xELEM>
  %1 = nn.reshape %x : (tensor<2x3x4xELEM>) -> tensor<2x2x6xELEM>
  %2 = nn.reshape %x : (tensor<2x3x4xELEM>) -> tensor<1x24xELEM>
  %3 = nn.transpose %x [2, 1, 0] : (tensor<2x3x4xELEM>) -> tensor<4x3x2xELEM>
  %4 = nn.broadcast %y : (tensor<2x1x4xELEM>) -> tensor<2x5x4xELEM>
  %5 = nn.slice %x [0, 1, 0] to [2, 3, 4] by [1, 1, 2] : (tensor<2x3x4xELEM>) -> tensor<2x2x2xELEM>
  %6 = nn.pad %x [1, 2, 0] [1, 0, 0] [0, 1, 0] : (tensor<2x3x4xELEM>) -> tensor<4x7x4xELEM>
  %7 = nn.reverse %x [1, 2] : tensor<2x3x4xELEM>
  %8 = nn.concat %x, %y, %y {axis = 1 : i64} : (tensor<2x3x4xELEM>, tensor<2x1x4xELEM>, tensor<2x1x4xELEM>) -> tensor<2x5x4xELEM>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<6x4xELEM>, tensor<2x2x6xELEM>, tensor<1x24xELEM>, tensor<4x3x2xELEM>, tensor<2x5x4xELEM>, tensor<2x2x2xELEM>, tensor<4x7x4xELEM>, tensor<2x3x4xELEM>, tensor<2x5x4xELEM>
}
func.func @scalars_have_no_dims(%x: tensor<ELEM>, %y: tensor<1x1xELEM>)
    -> (tensor<1x1xELEM>, tensor<ELEM>, tensor<1xELEM>) {
  %0 = nn.reshape %x : (tensor<ELEM>) -> tensor<1x1xELEM>
  %1 = nn.reshape %y : (tensor<1x1xELEM>) -> tensor<ELEM>
  %2 = nn.reshape %x : (tensor<ELEM>) -> tensor<1xELEM>
  return %0, %1, %2 : tensor<1x1xELEM>, tensor<ELEM>, tensor<1xELEM>
}

//===--- Reduction ---===//

func.func @sum_over_dims(%x: tensor<2x3x2x4xELEM> {test.range = array<f64: -3.0, 3.0>})
    -> (tensor<2x3x2x1xELEM>, tensor<2x3x1x1xELEM>, tensor<1x3x2x4xELEM>, tensor<1x1x2x4xELEM>, tensor<2x1x2x4xELEM>, tensor<1x3x1x4xELEM>, tensor<1x3x2x1xELEM>, tensor<1x1x1x1xELEM>, tensor<2x1x1x4xELEM>) {
  %0 = nn.reduce_sum %x [3] : (tensor<2x3x2x4xELEM>) -> tensor<2x3x2x1xELEM>
  %1 = nn.reduce_sum %x [2, 3] : (tensor<2x3x2x4xELEM>) -> tensor<2x3x1x1xELEM>
  %2 = nn.reduce_sum %x [0] : (tensor<2x3x2x4xELEM>) -> tensor<1x3x2x4xELEM>
  %3 = nn.reduce_sum %x [0, 1] : (tensor<2x3x2x4xELEM>) -> tensor<1x1x2x4xELEM>
  %4 = nn.reduce_sum %x [1] : (tensor<2x3x2x4xELEM>) -> tensor<2x1x2x4xELEM>
  %5 = nn.reduce_sum %x [0, 2] : (tensor<2x3x2x4xELEM>) -> tensor<1x3x1x4xELEM>
  %6 = nn.reduce_sum %x [0, 3] : (tensor<2x3x2x4xELEM>) -> tensor<1x3x2x1xELEM>
  %7 = nn.reduce_sum %x [0, 1, 2, 3] : (tensor<2x3x2x4xELEM>) -> tensor<1x1x1x1xELEM>
  %8 = nn.reduce_sum %x [1, 2] : (tensor<2x3x2x4xELEM>) -> tensor<2x1x1x4xELEM>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<2x3x2x1xELEM>, tensor<2x3x1x1xELEM>, tensor<1x3x2x4xELEM>, tensor<1x1x2x4xELEM>, tensor<2x1x2x4xELEM>, tensor<1x3x1x4xELEM>, tensor<1x3x2x1xELEM>, tensor<1x1x1x1xELEM>, tensor<2x1x1x4xELEM>
}
func.func @mean_over_dims(%x: tensor<2x3x2x4xELEM> {test.range = array<f64: -3.0, 3.0>})
    -> (tensor<2x3x2x1xELEM>, tensor<2x3x1x1xELEM>, tensor<1x3x2x4xELEM>, tensor<1x1x2x4xELEM>, tensor<2x1x2x4xELEM>, tensor<1x3x1x4xELEM>, tensor<1x3x2x1xELEM>, tensor<1x1x1x1xELEM>, tensor<2x1x1x4xELEM>) {
  %0 = nn.reduce_mean %x [3] : (tensor<2x3x2x4xELEM>) -> tensor<2x3x2x1xELEM>
  %1 = nn.reduce_mean %x [2, 3] : (tensor<2x3x2x4xELEM>) -> tensor<2x3x1x1xELEM>
  %2 = nn.reduce_mean %x [0] : (tensor<2x3x2x4xELEM>) -> tensor<1x3x2x4xELEM>
  %3 = nn.reduce_mean %x [0, 1] : (tensor<2x3x2x4xELEM>) -> tensor<1x1x2x4xELEM>
  %4 = nn.reduce_mean %x [1] : (tensor<2x3x2x4xELEM>) -> tensor<2x1x2x4xELEM>
  %5 = nn.reduce_mean %x [0, 2] : (tensor<2x3x2x4xELEM>) -> tensor<1x3x1x4xELEM>
  %6 = nn.reduce_mean %x [0, 3] : (tensor<2x3x2x4xELEM>) -> tensor<1x3x2x1xELEM>
  %7 = nn.reduce_mean %x [0, 1, 2, 3] : (tensor<2x3x2x4xELEM>) -> tensor<1x1x1x1xELEM>
  %8 = nn.reduce_mean %x [1, 2] : (tensor<2x3x2x4xELEM>) -> tensor<2x1x1x4xELEM>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<2x3x2x1xELEM>, tensor<2x3x1x1xELEM>, tensor<1x3x2x4xELEM>, tensor<1x1x2x4xELEM>, tensor<2x1x2x4xELEM>, tensor<1x3x1x4xELEM>, tensor<1x3x2x1xELEM>, tensor<1x1x1x1xELEM>, tensor<2x1x1x4xELEM>
}
func.func @max_over_dims(%x: tensor<2x3x2x4xELEM> {test.range = array<f64: -3.0, 3.0>})
    -> (tensor<2x3x2x1xELEM>, tensor<2x3x1x1xELEM>, tensor<1x3x2x4xELEM>, tensor<1x1x2x4xELEM>, tensor<2x1x2x4xELEM>, tensor<1x3x1x4xELEM>, tensor<1x3x2x1xELEM>, tensor<1x1x1x1xELEM>, tensor<2x1x1x4xELEM>) {
  %0 = nn.reduce_max %x [3] : (tensor<2x3x2x4xELEM>) -> tensor<2x3x2x1xELEM>
  %1 = nn.reduce_max %x [2, 3] : (tensor<2x3x2x4xELEM>) -> tensor<2x3x1x1xELEM>
  %2 = nn.reduce_max %x [0] : (tensor<2x3x2x4xELEM>) -> tensor<1x3x2x4xELEM>
  %3 = nn.reduce_max %x [0, 1] : (tensor<2x3x2x4xELEM>) -> tensor<1x1x2x4xELEM>
  %4 = nn.reduce_max %x [1] : (tensor<2x3x2x4xELEM>) -> tensor<2x1x2x4xELEM>
  %5 = nn.reduce_max %x [0, 2] : (tensor<2x3x2x4xELEM>) -> tensor<1x3x1x4xELEM>
  %6 = nn.reduce_max %x [0, 3] : (tensor<2x3x2x4xELEM>) -> tensor<1x3x2x1xELEM>
  %7 = nn.reduce_max %x [0, 1, 2, 3] : (tensor<2x3x2x4xELEM>) -> tensor<1x1x1x1xELEM>
  %8 = nn.reduce_max %x [1, 2] : (tensor<2x3x2x4xELEM>) -> tensor<2x1x1x4xELEM>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<2x3x2x1xELEM>, tensor<2x3x1x1xELEM>, tensor<1x3x2x4xELEM>, tensor<1x1x2x4xELEM>, tensor<2x1x2x4xELEM>, tensor<1x3x1x4xELEM>, tensor<1x3x2x1xELEM>, tensor<1x1x1x1xELEM>, tensor<2x1x1x4xELEM>
}
func.func @min_over_dims(%x: tensor<2x3x2x4xELEM> {test.range = array<f64: -3.0, 3.0>})
    -> (tensor<2x3x2x1xELEM>, tensor<2x3x1x1xELEM>, tensor<1x3x2x4xELEM>, tensor<1x1x2x4xELEM>, tensor<2x1x2x4xELEM>, tensor<1x3x1x4xELEM>, tensor<1x3x2x1xELEM>, tensor<1x1x1x1xELEM>, tensor<2x1x1x4xELEM>) {
  %0 = nn.reduce_min %x [3] : (tensor<2x3x2x4xELEM>) -> tensor<2x3x2x1xELEM>
  %1 = nn.reduce_min %x [2, 3] : (tensor<2x3x2x4xELEM>) -> tensor<2x3x1x1xELEM>
  %2 = nn.reduce_min %x [0] : (tensor<2x3x2x4xELEM>) -> tensor<1x3x2x4xELEM>
  %3 = nn.reduce_min %x [0, 1] : (tensor<2x3x2x4xELEM>) -> tensor<1x1x2x4xELEM>
  %4 = nn.reduce_min %x [1] : (tensor<2x3x2x4xELEM>) -> tensor<2x1x2x4xELEM>
  %5 = nn.reduce_min %x [0, 2] : (tensor<2x3x2x4xELEM>) -> tensor<1x3x1x4xELEM>
  %6 = nn.reduce_min %x [0, 3] : (tensor<2x3x2x4xELEM>) -> tensor<1x3x2x1xELEM>
  %7 = nn.reduce_min %x [0, 1, 2, 3] : (tensor<2x3x2x4xELEM>) -> tensor<1x1x1x1xELEM>
  %8 = nn.reduce_min %x [1, 2] : (tensor<2x3x2x4xELEM>) -> tensor<2x1x1x4xELEM>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<2x3x2x1xELEM>, tensor<2x3x1x1xELEM>, tensor<1x3x2x4xELEM>, tensor<1x1x2x4xELEM>, tensor<2x1x2x4xELEM>, tensor<1x3x1x4xELEM>, tensor<1x3x2x1xELEM>, tensor<1x1x1x1xELEM>, tensor<2x1x1x4xELEM>
}
func.func @prod_over_dims(%x: tensor<2x3x2x4xELEM> {test.range = array<f64: -3.0, 3.0>})
    -> (tensor<2x3x2x1xELEM>, tensor<2x3x1x1xELEM>, tensor<1x3x2x4xELEM>, tensor<1x1x2x4xELEM>, tensor<2x1x2x4xELEM>, tensor<1x3x1x4xELEM>, tensor<1x3x2x1xELEM>, tensor<1x1x1x1xELEM>, tensor<2x1x1x4xELEM>) {
  %0 = nn.reduce_prod %x [3] : (tensor<2x3x2x4xELEM>) -> tensor<2x3x2x1xELEM>
  %1 = nn.reduce_prod %x [2, 3] : (tensor<2x3x2x4xELEM>) -> tensor<2x3x1x1xELEM>
  %2 = nn.reduce_prod %x [0] : (tensor<2x3x2x4xELEM>) -> tensor<1x3x2x4xELEM>
  %3 = nn.reduce_prod %x [0, 1] : (tensor<2x3x2x4xELEM>) -> tensor<1x1x2x4xELEM>
  %4 = nn.reduce_prod %x [1] : (tensor<2x3x2x4xELEM>) -> tensor<2x1x2x4xELEM>
  %5 = nn.reduce_prod %x [0, 2] : (tensor<2x3x2x4xELEM>) -> tensor<1x3x1x4xELEM>
  %6 = nn.reduce_prod %x [0, 3] : (tensor<2x3x2x4xELEM>) -> tensor<1x3x2x1xELEM>
  %7 = nn.reduce_prod %x [0, 1, 2, 3] : (tensor<2x3x2x4xELEM>) -> tensor<1x1x1x1xELEM>
  %8 = nn.reduce_prod %x [1, 2] : (tensor<2x3x2x4xELEM>) -> tensor<2x1x1x4xELEM>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<2x3x2x1xELEM>, tensor<2x3x1x1xELEM>, tensor<1x3x2x4xELEM>, tensor<1x1x2x4xELEM>, tensor<2x1x2x4xELEM>, tensor<1x3x1x4xELEM>, tensor<1x3x2x1xELEM>, tensor<1x1x1x1xELEM>, tensor<2x1x1x4xELEM>
}

//===--- Normalization ---===//

func.func @rows(%x: tensor<2x3x6xELEM> {test.range = array<f64: -3.0, 3.0>}, %dy: tensor<2x3x6xELEM>, %g: tensor<6xELEM>, %b: tensor<6xELEM>)
    -> tensor<2x3x6xELEM> {
  %s = nn.softmax %x : tensor<2x3x6xELEM>
  %sg = nn.softmax_grad %s, %dy : tensor<2x3x6xELEM>
  %l = nn.log_softmax %x : tensor<2x3x6xELEM>
  %y, %m, %r = nn.layer_norm %x, %g, %b {epsilon = 1.0e-3 : f64} : (tensor<2x3x6xELEM>, tensor<6xELEM>, tensor<6xELEM>) -> (tensor<2x3x6xELEM>, tensor<2x3x1xSTAT>, tensor<2x3x1xSTAT>)
  %y2, %m2, %r2 = nn.layer_norm %x, %g {epsilon = 1.0e-3 : f64} : (tensor<2x3x6xELEM>, tensor<6xELEM>) -> (tensor<2x3x6xELEM>, tensor<2x3x1xSTAT>, tensor<2x3x1xSTAT>)
  %dx = nn.layer_norm_grad %dy, %x, %g, %m, %r : (tensor<2x3x6xELEM>, tensor<2x3x6xELEM>, tensor<6xELEM>, tensor<2x3x1xSTAT>, tensor<2x3x1xSTAT>) -> tensor<2x3x6xELEM>
  %dg, %db = nn.layer_norm_param_grad %dy, %x, %m, %r : (tensor<2x3x6xELEM>, tensor<2x3x6xELEM>, tensor<2x3x1xSTAT>, tensor<2x3x1xSTAT>) -> (tensor<6xELEM>, tensor<6xELEM>)
  %z, %q = nn.rms_norm %x, %g {epsilon = 1.0e-3 : f64} : (tensor<2x3x6xELEM>, tensor<6xELEM>) -> (tensor<2x3x6xELEM>, tensor<2x3x1xSTAT>)
  %dz = nn.rms_norm_grad %dy, %x, %g, %q : (tensor<2x3x6xELEM>, tensor<2x3x6xELEM>, tensor<6xELEM>, tensor<2x3x1xSTAT>) -> tensor<2x3x6xELEM>
  %dgz = nn.rms_norm_param_grad %dy, %x, %q : (tensor<2x3x6xELEM>, tensor<2x3x6xELEM>, tensor<2x3x1xSTAT>) -> tensor<6xELEM>
  return %y : tensor<2x3x6xELEM>
}
func.func @one_row(%x: tensor<6xELEM> {test.range = array<f64: -3.0, 3.0>}, %dy: tensor<6xELEM>, %g: tensor<6xELEM>, %b: tensor<6xELEM>)
    -> tensor<6xELEM> {
  %s = nn.softmax %x : tensor<6xELEM>
  %sg = nn.softmax_grad %s, %dy : tensor<6xELEM>
  %l = nn.log_softmax %x : tensor<6xELEM>
  %y, %m, %r = nn.layer_norm %x, %g, %b {epsilon = 1.0e-3 : f64} : (tensor<6xELEM>, tensor<6xELEM>, tensor<6xELEM>) -> (tensor<6xELEM>, tensor<1xSTAT>, tensor<1xSTAT>)
  %y2, %m2, %r2 = nn.layer_norm %x, %g {epsilon = 1.0e-3 : f64} : (tensor<6xELEM>, tensor<6xELEM>) -> (tensor<6xELEM>, tensor<1xSTAT>, tensor<1xSTAT>)
  %dx = nn.layer_norm_grad %dy, %x, %g, %m, %r : (tensor<6xELEM>, tensor<6xELEM>, tensor<6xELEM>, tensor<1xSTAT>, tensor<1xSTAT>) -> tensor<6xELEM>
  %dg, %db = nn.layer_norm_param_grad %dy, %x, %m, %r : (tensor<6xELEM>, tensor<6xELEM>, tensor<1xSTAT>, tensor<1xSTAT>) -> (tensor<6xELEM>, tensor<6xELEM>)
  %z, %q = nn.rms_norm %x, %g {epsilon = 1.0e-3 : f64} : (tensor<6xELEM>, tensor<6xELEM>) -> (tensor<6xELEM>, tensor<1xSTAT>)
  %dz = nn.rms_norm_grad %dy, %x, %g, %q : (tensor<6xELEM>, tensor<6xELEM>, tensor<6xELEM>, tensor<1xSTAT>) -> tensor<6xELEM>
  %dgz = nn.rms_norm_param_grad %dy, %x, %q : (tensor<6xELEM>, tensor<6xELEM>, tensor<1xSTAT>) -> tensor<6xELEM>
  return %y : tensor<6xELEM>
}

//===--- Attention ---===//

func.func @rope_with_1_tables(%x: tensor<2x3x2x6xELEM>, %c: tensor<1x3x6xELEM>, %s: tensor<1x3x6xELEM>)
    -> (tensor<2x3x2x6xELEM>, tensor<2x3x2x6xELEM>, tensor<2x3x2x6xELEM>, tensor<2x3x2x6xELEM>) {
  %0 = nn.rope %x, %c, %s : (tensor<2x3x2x6xELEM>, tensor<1x3x6xELEM>, tensor<1x3x6xELEM>) -> tensor<2x3x2x6xELEM>
  %1 = nn.rope %x, %c, %s {interleaved} : (tensor<2x3x2x6xELEM>, tensor<1x3x6xELEM>, tensor<1x3x6xELEM>) -> tensor<2x3x2x6xELEM>
  %2 = nn.rope %x, %c, %s {transposed} : (tensor<2x3x2x6xELEM>, tensor<1x3x6xELEM>, tensor<1x3x6xELEM>) -> tensor<2x3x2x6xELEM>
  %3 = nn.rope %x, %c, %s {interleaved, transposed} : (tensor<2x3x2x6xELEM>, tensor<1x3x6xELEM>, tensor<1x3x6xELEM>) -> tensor<2x3x2x6xELEM>
  return %0, %1, %2, %3 : tensor<2x3x2x6xELEM>, tensor<2x3x2x6xELEM>, tensor<2x3x2x6xELEM>, tensor<2x3x2x6xELEM>
}
func.func @rope_of_some_heads(%x: tensor<2x3x5x6xELEM>, %c: tensor<1x3x6xELEM>, %s: tensor<1x3x6xELEM>)
    -> (tensor<2x3x5x6xELEM>, tensor<2x3x5x6xELEM>) {
  %0 = nn.rope %x, %c, %s {heads = 3 : i64} : (tensor<2x3x5x6xELEM>, tensor<1x3x6xELEM>, tensor<1x3x6xELEM>) -> tensor<2x3x5x6xELEM>
  %1 = nn.rope %x, %c, %s {heads = 4 : i64, interleaved, transposed} : (tensor<2x3x5x6xELEM>, tensor<1x3x6xELEM>, tensor<1x3x6xELEM>) -> tensor<2x3x5x6xELEM>
  return %0, %1 : tensor<2x3x5x6xELEM>, tensor<2x3x5x6xELEM>
}
func.func @rope_with_2_tables(%x: tensor<2x3x2x6xELEM>, %c: tensor<2x3x6xELEM>, %s: tensor<2x3x6xELEM>)
    -> (tensor<2x3x2x6xELEM>, tensor<2x3x2x6xELEM>, tensor<2x3x2x6xELEM>, tensor<2x3x2x6xELEM>) {
  %0 = nn.rope %x, %c, %s : (tensor<2x3x2x6xELEM>, tensor<2x3x6xELEM>, tensor<2x3x6xELEM>) -> tensor<2x3x2x6xELEM>
  %1 = nn.rope %x, %c, %s {interleaved} : (tensor<2x3x2x6xELEM>, tensor<2x3x6xELEM>, tensor<2x3x6xELEM>) -> tensor<2x3x2x6xELEM>
  %2 = nn.rope %x, %c, %s {transposed} : (tensor<2x3x2x6xELEM>, tensor<2x3x6xELEM>, tensor<2x3x6xELEM>) -> tensor<2x3x2x6xELEM>
  %3 = nn.rope %x, %c, %s {interleaved, transposed} : (tensor<2x3x2x6xELEM>, tensor<2x3x6xELEM>, tensor<2x3x6xELEM>) -> tensor<2x3x2x6xELEM>
  return %0, %1, %2, %3 : tensor<2x3x2x6xELEM>, tensor<2x3x2x6xELEM>, tensor<2x3x2x6xELEM>, tensor<2x3x2x6xELEM>
}

//===--- Random ---===//

func.func @dropout(%x: tensor<2x3x5xELEM>, %words: tensor<8xi32> {test.values = dense<[5, 3, 4, -1073741824, 1431655765, 1073042773, 0, 0]> : tensor<8xi32>})
    -> (tensor<2x3x5xELEM>, tensor<2x3x5xELEM>, tensor<2x3x5xELEM>) {
  %0 = nn.dropout %x drawn %words {samples = 2 : i64, sample_stride = 15 : i64} : (tensor<2x3x5xELEM>, tensor<8xi32>) -> tensor<2x3x5xELEM>
  %1 = nn.dropout %x drawn %words {samples = 3 : i64, sample_stride = 5 : i64} : (tensor<2x3x5xELEM>, tensor<8xi32>) -> tensor<2x3x5xELEM>
  %2 = nn.dropout %x drawn %words : (tensor<2x3x5xELEM>, tensor<8xi32>) -> tensor<2x3x5xELEM>
  return %0, %1, %2 : tensor<2x3x5xELEM>, tensor<2x3x5xELEM>, tensor<2x3x5xELEM>
}

func.func @draw(%x: tensor<2x3x5xELEM>, %words: tensor<8xi32> {test.values = dense<[5, 3, 4, -1073741824, 1431655765, 1073042773, 0, 0]> : tensor<8xi32>})
    -> (tensor<2x3x5xELEM>, tensor<2x3x5xELEM>, tensor<2x3x5xELEM>, tensor<2x3x5xELEM>) {
  %0 = nn.draw uniform drawn %words {samples = 2 : i64, sample_stride = 15 : i64} : (tensor<8xi32>) -> tensor<2x3x5xELEM>
  %1 = nn.draw normal drawn %words {samples = 3 : i64, sample_stride = 5 : i64} : (tensor<8xi32>) -> tensor<2x3x5xELEM>
  %2 = nn.draw normal like %x drawn %words : (tensor<2x3x5xELEM>, tensor<8xi32>) -> tensor<2x3x5xELEM>
  %3 = nn.draw uniform drawn %words : (tensor<8xi32>) -> tensor<2x3x5xELEM>
  return %0, %1, %2, %3 : tensor<2x3x5xELEM>, tensor<2x3x5xELEM>, tensor<2x3x5xELEM>, tensor<2x3x5xELEM>
}
