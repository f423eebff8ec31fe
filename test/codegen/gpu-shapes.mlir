// Shapes that choose how GPU threads share a kernel: rows of a few threads, of a warp and of a block, rows that registers hold and
// rows that are read again, columns of whole and of split warps, vectors over transposed and joined dims. Emulated, against the
// ops' reference evaluation.
// RUN: sed -e s/FLOAT/f32/g -e s/STAT/f32/g %s | shardc-opt -test-step-kernels=emulate-gpu=true -o /dev/null | FileCheck %s
// RUN: sed -e s/FLOAT/bf16/g -e s/STAT/f32/g %s | shardc-opt -test-step-kernels=emulate-gpu=true -o /dev/null | FileCheck %s
// RUN: sed -e s/FLOAT/f16/g -e s/STAT/f32/g %s | shardc-opt -test-step-kernels=emulate-gpu=true -o /dev/null | FileCheck %s

// CHECK: @rows_of_four_threads: {{[0-9]+}} kernels agree
func.func @rows_of_four_threads(%x: tensor<70x16xFLOAT>, %g: tensor<16xFLOAT>) -> (tensor<70x16xFLOAT>, tensor<70x1xSTAT>) {
  %y, %s = nn.rms_norm %x, %g {epsilon = 1.0e-5 : f64} : (tensor<70x16xFLOAT>, tensor<16xFLOAT>) -> (tensor<70x16xFLOAT>, tensor<70x1xSTAT>)
  return %y, %s : tensor<70x16xFLOAT>, tensor<70x1xSTAT>
}

// CHECK: @rows_of_a_warp: {{[0-9]+}} kernels agree
func.func @rows_of_a_warp(%x: tensor<5x768xFLOAT>, %r: tensor<5x768xFLOAT>, %g: tensor<768xFLOAT>, %b: tensor<768xFLOAT>) -> (tensor<5x768xFLOAT>, tensor<5x768xFLOAT>, tensor<5x1xSTAT>, tensor<5x1xSTAT>) {
  %0 = nn.add %x, %r : tensor<5x768xFLOAT>
  %y, %m, %s = nn.layer_norm %0, %g, %b {epsilon = 1.0e-5 : f64} : (tensor<5x768xFLOAT>, tensor<768xFLOAT>, tensor<768xFLOAT>) -> (tensor<5x768xFLOAT>, tensor<5x1xSTAT>, tensor<5x1xSTAT>)
  return %0, %y, %m, %s : tensor<5x768xFLOAT>, tensor<5x768xFLOAT>, tensor<5x1xSTAT>, tensor<5x1xSTAT>
}

// The last vectors of a row are one warp's alone, and a thread behind them adds nothing.
// CHECK: @rows_that_no_warp_divides: {{[0-9]+}} kernels agree
func.func @rows_that_no_warp_divides(%x: tensor<3x200xFLOAT>, %d: tensor<3x200xFLOAT>) -> (tensor<3x200xFLOAT>, tensor<3x1xFLOAT>) {
  %0 = nn.mul %x, %d : tensor<3x200xFLOAT>
  %1 = nn.softmax %0 : tensor<3x200xFLOAT>
  %2 = nn.reduce_max %x [1] : (tensor<3x200xFLOAT>) -> tensor<3x1xFLOAT>
  return %1, %2 : tensor<3x200xFLOAT>, tensor<3x1xFLOAT>
}

// CHECK: @rows_of_a_block: {{[0-9]+}} kernels agree
func.func @rows_of_a_block(%x: tensor<3x2052xFLOAT>) -> tensor<3x2052xFLOAT> {
  %0 = nn.softmax %x : tensor<3x2052xFLOAT>
  return %0 : tensor<3x2052xFLOAT>
}

// CHECK: @odd_rows_of_a_block: {{[0-9]+}} kernels agree
func.func @odd_rows_of_a_block(%x: tensor<2x1501xFLOAT>, %g: tensor<1501xFLOAT>) -> (tensor<2x1501xFLOAT>, tensor<2x1xSTAT>) {
  %y, %s = nn.rms_norm %x, %g {epsilon = 1.0e-5 : f64} : (tensor<2x1501xFLOAT>, tensor<1501xFLOAT>) -> (tensor<2x1501xFLOAT>, tensor<2x1xSTAT>)
  return %y, %s : tensor<2x1501xFLOAT>, tensor<2x1xSTAT>
}

// CHECK: @rows_that_registers_cannot_hold: {{[0-9]+}} kernels agree
func.func @rows_that_registers_cannot_hold(%x: tensor<1x33001xFLOAT>) -> tensor<1x33001xFLOAT> {
  %0 = nn.softmax %x : tensor<1x33001xFLOAT>
  return %0 : tensor<1x33001xFLOAT>
}

// CHECK: @rows_over_two_dims: {{[0-9]+}} kernels agree
func.func @rows_over_two_dims(%x: tensor<7x3x256xFLOAT>) -> tensor<1x3x1xFLOAT> {
  %0 = nn.reduce_sum %x [0, 2] : (tensor<7x3x256xFLOAT>) -> tensor<1x3x1xFLOAT>
  return %0 : tensor<1x3x1xFLOAT>
}

// CHECK: @columns: {{[0-9]+}} kernels agree
func.func @columns(%d: tensor<300x136xFLOAT>, %x: tensor<300x136xFLOAT>) -> (tensor<1x136xFLOAT>, tensor<1x136xFLOAT>) {
  %0 = nn.mul %d, %x : tensor<300x136xFLOAT>
  %1 = nn.reduce_sum %0 [0] : (tensor<300x136xFLOAT>) -> tensor<1x136xFLOAT>
  %2 = nn.reduce_sum %d [0] : (tensor<300x136xFLOAT>) -> tensor<1x136xFLOAT>
  return %1, %2 : tensor<1x136xFLOAT>, tensor<1x136xFLOAT>
}

// CHECK: @few_columns: {{[0-9]+}} kernels agree
func.func @few_columns(%d: tensor<600x3xFLOAT>) -> tensor<1x3xFLOAT> {
  %0 = nn.reduce_sum %d [0] : (tensor<600x3xFLOAT>) -> tensor<1x3xFLOAT>
  return %0 : tensor<1x3xFLOAT>
}

// CHECK: @columns_in_the_middle: {{[0-9]+}} kernels agree
func.func @columns_in_the_middle(%d: tensor<5x40x24xFLOAT>) -> tensor<5x1x24xFLOAT> {
  %0 = nn.reduce_max %d [1] : (tensor<5x40x24xFLOAT>) -> tensor<5x1x24xFLOAT>
  return %0 : tensor<5x1x24xFLOAT>
}

// CHECK: @rope_of_some_heads: {{[0-9]+}} kernels agree
func.func @rope_of_some_heads(%x: tensor<2x3x6x16xFLOAT>, %c: tensor<1x3x16xFLOAT>, %s: tensor<1x3x16xFLOAT>) -> (tensor<2x3x6x16xFLOAT>, tensor<2x3x6x16xFLOAT>) {
  %0 = nn.rope %x, %c, %s {heads = 5 : i64} : (tensor<2x3x6x16xFLOAT>, tensor<1x3x16xFLOAT>, tensor<1x3x16xFLOAT>) -> tensor<2x3x6x16xFLOAT>
  %1 = nn.rope %x, %c, %s {heads = 3 : i64, interleaved, transposed} : (tensor<2x3x6x16xFLOAT>, tensor<1x3x16xFLOAT>, tensor<1x3x16xFLOAT>) -> tensor<2x3x6x16xFLOAT>
  return %0, %1 : tensor<2x3x6x16xFLOAT>, tensor<2x3x6x16xFLOAT>
}

// Heads of a product whose last ones stay, and their gradients side by side, are a kernel each.
// CHECK: @rope_of_gradients_side_by_side: 1 kernels agree
func.func @rope_of_gradients_side_by_side(%q: tensor<2x3x2x16xFLOAT>, %k: tensor<2x3x1x16xFLOAT>, %v: tensor<2x3x1x16xFLOAT>, %c: tensor<1x3x16xFLOAT>, %s: tensor<1x3x16xFLOAT>) -> tensor<2x3x64xFLOAT> {
  %0 = nn.concat %q, %k, %v {axis = 2 : i64} : (tensor<2x3x2x16xFLOAT>, tensor<2x3x1x16xFLOAT>, tensor<2x3x1x16xFLOAT>) -> tensor<2x3x4x16xFLOAT>
  %1 = nn.rope %0, %c, %s {heads = 3 : i64, transposed} : (tensor<2x3x4x16xFLOAT>, tensor<1x3x16xFLOAT>, tensor<1x3x16xFLOAT>) -> tensor<2x3x4x16xFLOAT>
  %2 = nn.reshape %1 : (tensor<2x3x4x16xFLOAT>) -> tensor<2x3x64xFLOAT>
  return %2 : tensor<2x3x64xFLOAT>
}

// CHECK: @rope_of_wide_heads: {{[0-9]+}} kernels agree
func.func @rope_of_wide_heads(%x: tensor<2x3x4x64xFLOAT>, %c: tensor<1x3x64xFLOAT>, %s: tensor<1x3x64xFLOAT>) -> (tensor<2x3x4x64xFLOAT>, tensor<2x3x4x64xFLOAT>) {
  %0 = nn.rope %x, %c, %s : (tensor<2x3x4x64xFLOAT>, tensor<1x3x64xFLOAT>, tensor<1x3x64xFLOAT>) -> tensor<2x3x4x64xFLOAT>
  %1 = nn.rope %x, %c, %s {interleaved, transposed} : (tensor<2x3x4x64xFLOAT>, tensor<1x3x64xFLOAT>, tensor<1x3x64xFLOAT>) -> tensor<2x3x4x64xFLOAT>
  return %0, %1 : tensor<2x3x4x64xFLOAT>, tensor<2x3x4x64xFLOAT>
}

// CHECK: @heads_change_places: {{[0-9]+}} kernels agree
func.func @heads_change_places(%x: tensor<2x6x4x32xFLOAT>, %y: tensor<2x4x6x32xFLOAT>) -> tensor<2x4x6x32xFLOAT> {
  %0 = nn.transpose %x [0, 2, 1, 3] : (tensor<2x6x4x32xFLOAT>) -> tensor<2x4x6x32xFLOAT>
  %1 = nn.add %0, %y : tensor<2x4x6x32xFLOAT>
  return %1 : tensor<2x4x6x32xFLOAT>
}

// CHECK: @joins_at_vectors: {{[0-9]+}} kernels agree
func.func @joins_at_vectors(%x: tensor<6x32xFLOAT>, %y: tensor<6x64xFLOAT>) -> tensor<6x96xFLOAT> {
  %0 = nn.concat %x, %y {axis = 1 : i64} : (tensor<6x32xFLOAT>, tensor<6x64xFLOAT>) -> tensor<6x96xFLOAT>
  %1 = nn.silu %0 : tensor<6x96xFLOAT>
  return %1 : tensor<6x96xFLOAT>
}

// Both ends of exp, and what stays a number between them.
// CHECK: @masked_rows: {{[0-9]+}} kernels agree
func.func @masked_rows(%x: tensor<4x64xFLOAT> {step.low = -90.0 : f64, step.high = 90.0 : f64}, %m: tensor<4x64xi1>) -> tensor<4x64xFLOAT> {
  %i = nn.constant dense<0xFF800000> : tensor<4x64xf32>
  %c = nn.cast %i : (tensor<4x64xf32>) -> tensor<4x64xFLOAT>
  %0 = nn.select %m, %x, %c : (tensor<4x64xi1>, tensor<4x64xFLOAT>, tensor<4x64xFLOAT>) -> tensor<4x64xFLOAT>
  %1 = nn.softmax %0 : tensor<4x64xFLOAT>
  return %1 : tensor<4x64xFLOAT>
}
