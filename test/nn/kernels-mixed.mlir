// Kernels of ops that read and write different float types, against the reference evaluation.
// RUN: sed -e s/HALF/bf16/g %s | shardc-opt -test-nn-kernels -o /dev/null
// RUN: sed -e s/HALF/f16/g %s | shardc-opt -test-nn-kernels -o /dev/null

// A kept norm reads 16 bits and gives float32, or reads float32 and 16-bit parameters.
func.func @kept_norms(%x: tensor<2x3x6xHALF> {test.range = array<f64: -3.0, 3.0>}, %wide: tensor<2x3x6xf32>, %g: tensor<6xHALF>, %b: tensor<6xHALF>)
    -> (tensor<2x3x6xf32>, tensor<2x3x6xHALF>, tensor<2x3x6xf32>, tensor<2x3x6xHALF>) {
  %0, %m0, %r0 = nn.layer_norm %x, %g, %b {epsilon = 1.0e-3 : f64} : (tensor<2x3x6xHALF>, tensor<6xHALF>, tensor<6xHALF>) -> (tensor<2x3x6xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>)
  %1, %m1, %r1 = nn.layer_norm %wide, %g, %b {epsilon = 1.0e-3 : f64} : (tensor<2x3x6xf32>, tensor<6xHALF>, tensor<6xHALF>) -> (tensor<2x3x6xHALF>, tensor<2x3x1xf32>, tensor<2x3x1xf32>)
  %2, %r2 = nn.rms_norm %x, %g {epsilon = 1.0e-3 : f64} : (tensor<2x3x6xHALF>, tensor<6xHALF>) -> (tensor<2x3x6xf32>, tensor<2x3x1xf32>)
  %3, %r3 = nn.rms_norm %wide, %g {epsilon = 1.0e-3 : f64} : (tensor<2x3x6xf32>, tensor<6xHALF>) -> (tensor<2x3x6xHALF>, tensor<2x3x1xf32>)
  return %0, %1, %2, %3 : tensor<2x3x6xf32>, tensor<2x3x6xHALF>, tensor<2x3x6xf32>, tensor<2x3x6xHALF>
}

// The gradients of parameters are float32, that of the input has the input's type, whatever the result's gradient has.
func.func @gradients_of_norms(%dy: tensor<2x3x6xHALF>, %wide_dy: tensor<2x3x6xf32>, %x: tensor<2x3x6xHALF>, %g: tensor<6xHALF>, %m: tensor<2x3x1xf32>, %r: tensor<2x3x1xf32>)
    -> (tensor<2x3x6xHALF>, tensor<6xf32>, tensor<6xf32>, tensor<2x3x6xHALF>, tensor<6xf32>) {
  %dx = nn.layer_norm_grad %wide_dy, %x, %g, %m, %r : (tensor<2x3x6xf32>, tensor<2x3x6xHALF>, tensor<6xHALF>, tensor<2x3x1xf32>, tensor<2x3x1xf32>) -> tensor<2x3x6xHALF>
  %dg, %db = nn.layer_norm_param_grad %dy, %x, %m, %r : (tensor<2x3x6xHALF>, tensor<2x3x6xHALF>, tensor<2x3x1xf32>, tensor<2x3x1xf32>) -> (tensor<6xf32>, tensor<6xf32>)
  %dz = nn.rms_norm_grad %wide_dy, %x, %g, %r : (tensor<2x3x6xf32>, tensor<2x3x6xHALF>, tensor<6xHALF>, tensor<2x3x1xf32>) -> tensor<2x3x6xHALF>
  %dgz = nn.rms_norm_param_grad %dy, %x, %r : (tensor<2x3x6xHALF>, tensor<2x3x6xHALF>, tensor<2x3x1xf32>) -> tensor<6xf32>
  return %dx, %dg, %db, %dz, %dgz : tensor<2x3x6xHALF>, tensor<6xf32>, tensor<6xf32>, tensor<2x3x6xHALF>, tensor<6xf32>
}

func.func @softmaxes(%x: tensor<2x3x6xHALF> {test.range = array<f64: -3.0, 3.0>}, %dy: tensor<2x3x6xf32>)
    -> (tensor<2x3x6xf32>, tensor<2x3x6xHALF>, tensor<2x3x6xf32>) {
  %s = nn.softmax %x : (tensor<2x3x6xHALF>) -> tensor<2x3x6xf32>
  %sg = nn.softmax_grad %x, %dy : (tensor<2x3x6xHALF>, tensor<2x3x6xf32>) -> tensor<2x3x6xHALF>
  %l = nn.log_softmax %x : (tensor<2x3x6xHALF>) -> tensor<2x3x6xf32>
  return %s, %sg, %l : tensor<2x3x6xf32>, tensor<2x3x6xHALF>, tensor<2x3x6xf32>
}

// The gradient of a bias: a sum of 16 bits in float32, or one of float32 that is rounded once.
func.func @sums(%x: tensor<4x3x6xHALF>, %wide: tensor<4x3x6xf32>) -> (tensor<1x1x6xf32>, tensor<4x3x1xf32>, tensor<1x1x6xHALF>) {
  %0 = nn.reduce_sum %x [0, 1] : (tensor<4x3x6xHALF>) -> tensor<1x1x6xf32>
  %1 = nn.reduce_sum %x [2] : (tensor<4x3x6xHALF>) -> tensor<4x3x1xf32>
  %2 = nn.reduce_sum %wide [0, 1] : (tensor<4x3x6xf32>) -> tensor<1x1x6xHALF>
  return %0, %1, %2 : tensor<1x1x6xf32>, tensor<4x3x1xf32>, tensor<1x1x6xHALF>
}

// The tables of positions keep their float32.
func.func @rope(%x: tensor<2x3x2x6xHALF>, %c: tensor<1x3x6xf32>, %s: tensor<1x3x6xf32>) -> (tensor<2x3x2x6xHALF>, tensor<2x3x2x6xHALF>) {
  %0 = nn.rope %x, %c, %s : (tensor<2x3x2x6xHALF>, tensor<1x3x6xf32>, tensor<1x3x6xf32>) -> tensor<2x3x2x6xHALF>
  %1 = nn.rope %x, %c, %s {interleaved, transposed} : (tensor<2x3x2x6xHALF>, tensor<1x3x6xf32>, tensor<1x3x6xf32>) -> tensor<2x3x2x6xHALF>
  return %0, %1 : tensor<2x3x2x6xHALF>, tensor<2x3x2x6xHALF>
}
