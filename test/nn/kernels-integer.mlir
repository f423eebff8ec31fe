// Kernel bodies of the ops that take integers, against reference evaluation.
// RUN: sed -e s/ELEM/i64/g %s | shardc-opt -test-nn-kernels -o /dev/null
// RUN: sed -e s/ELEM/i32/g %s | shardc-opt -test-nn-kernels -o /dev/null
// RUN: sed -e s/ELEM/i8/g %s | shardc-opt -test-nn-kernels -o /dev/null

//===--- Elementwise ---===//

func.func @functions_of_integers(%x: tensor<3x5xELEM> {test.range = array<f64: -9.0, 9.0>}, %y: tensor<3x5xELEM> {test.range = array<f64: -9.0, 9.0>})
    -> (tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>) {
  %0 = nn.neg %x : tensor<3x5xELEM>
  %1 = nn.abs %x : tensor<3x5xELEM>
  %2 = nn.add %x, %y : tensor<3x5xELEM>
  %3 = nn.sub %x, %y : tensor<3x5xELEM>
  %4 = nn.mul %x, %y : tensor<3x5xELEM>
  %5 = nn.max %x, %y : tensor<3x5xELEM>
  %6 = nn.min %x, %y : tensor<3x5xELEM>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>
}
func.func @quotients(%x: tensor<3x5xELEM> {test.range = array<f64: 1.0, 5.0>}, %y: tensor<3x5xELEM> {test.range = array<f64: 1.0, 5.0>})
    -> (tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>) {
  %0 = nn.div %x, %y : tensor<3x5xELEM>
  %1 = nn.mod %x, %y : tensor<3x5xELEM>
  %2 = nn.mod %x, %y {fmod} : tensor<3x5xELEM>
  %3 = nn.pow %x, %y : tensor<3x5xELEM>
  return %0, %1, %2, %3 : tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>, tensor<3x5xELEM>
}
func.func @remainders_of_negative_integers(%x: tensor<4xELEM> {test.values = dense<[7, -7, 7, -7]> : tensor<4xELEM>}, %y: tensor<4xELEM> {test.values = dense<[3, 3, -3, -3]> : tensor<4xELEM>})
    -> (tensor<4xELEM>, tensor<4xELEM>, tensor<4xELEM>) {
  %0 = nn.mod %x, %y : tensor<4xELEM>
  %1 = nn.mod %x, %y {fmod} : tensor<4xELEM>
  %2 = nn.div %x, %y : tensor<4xELEM>
  return %0, %1, %2 : tensor<4xELEM>, tensor<4xELEM>, tensor<4xELEM>
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

//===--- Shape ---===//

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
