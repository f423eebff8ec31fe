// RUN: shardc-opt %s -split-input-file -nn-place-draws -verify-diagnostics | FileCheck %s

// Sites are counted anew, forward's place is that of the gradient as well, and evaluations draw nothing.
// CHECK: module attributes {nn.sites = [{name = "first", rate = 1.000000e-01 : f64}, {name = "second", rate = 2.500000e-01 : f64}]}
// CHECK-LABEL: func.func @eval
// CHECK-NOT: nn.dropout
// CHECK: return %arg0
// CHECK-LABEL: func.func @train
// CHECK-SAME: %[[DRAWS:[a-z0-9]+]]: tensor<16xi32> {nn.name = "draws", nn.role = "draws"}
// CHECK-DAG: %[[FIRST:.*]] = nn.slice %[[DRAWS]] [0] to [8] by [1]
// CHECK-DAG: %[[SECOND:.*]] = nn.slice %[[DRAWS]] [8] to [16] by [1]
// CHECK: nn.dropout %{{.*}} drawn %[[FIRST]] {sample_stride = 6 : i64, samples = 4 : i64}
// CHECK: nn.dropout %{{.*}} drawn %[[SECOND]] {sample_stride = 2 : i64, samples = 4 : i64}
// CHECK: nn.dropout %{{.*}} drawn %[[FIRST]] {sample_stride = 6 : i64, samples = 4 : i64}
func.func @eval(%x: tensor<4x3x2xf32> {nn.role = "input"}) -> tensor<4x3x2xf32> {
  %y = nn.dropout %x {rate = 0.1 : f64, site = 3 : i64} : (tensor<4x3x2xf32>) -> tensor<4x3x2xf32>
  return %y : tensor<4x3x2xf32>
}
func.func @train(%x: tensor<4x3x2xf32> {nn.role = "input"}) -> (tensor<3x4x2xf32>, tensor<4x3x2xf32>) {
  %y = nn.dropout %x {rate = 0.1 : f64, site = 3 : i64} : (tensor<4x3x2xf32>) -> tensor<4x3x2xf32> loc("first")
  %t = nn.transpose %y [1, 0, 2] : (tensor<4x3x2xf32>) -> tensor<3x4x2xf32>
  %z = nn.dropout %t {rate = 0.25 : f64, site = 7 : i64} : (tensor<3x4x2xf32>) -> tensor<3x4x2xf32> loc("second")
  %dx = nn.dropout %x {rate = 0.1 : f64, site = 3 : i64} : (tensor<4x3x2xf32>) -> tensor<4x3x2xf32>
  return %z, %dx : tensor<3x4x2xf32>, tensor<4x3x2xf32>
}

// -----

// Through views, products and rows of a table; of what no input reaches, all samples have one mask.
// CHECK-LABEL: func.func @train
// CHECK: nn.dropout {{.*}} {sample_stride = 15 : i64, samples = 2 : i64} {{.*}} -> tensor<2x3x5xf32>
// CHECK: nn.dropout {{.*}} {sample_stride = 21 : i64, samples = 2 : i64} {{.*}} -> tensor<6x7xf32>
// CHECK: nn.dropout %{{[a-z0-9]+}} drawn %{{[a-z0-9]+}} : {{.*}} -> tensor<5x7xf32>
// CHECK: nn.dropout {{.*}} {sample_stride = 21 : i64, samples = 2 : i64} {{.*}} -> tensor<4x2x3x7xf32>
func.func @eval(%ids: tensor<2x3xi64> {nn.role = "input"}, %table: tensor<9x5xf32>, %w: tensor<5x7xf32>) {
  return
}
func.func @train(%ids: tensor<2x3xi64> {nn.role = "input"}, %table: tensor<9x5xf32>, %w: tensor<5x7xf32>) -> (tensor<6x7xf32>, tensor<5x7xf32>, tensor<4x2x3x7xf32>) {
  %x = nn.embedding %table, %ids : (tensor<9x5xf32>, tensor<2x3xi64>) -> tensor<2x3x5xf32>
  %a = nn.dropout %x {rate = 0.5 : f64, site = 0 : i64} : (tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %rows = nn.reshape %a : (tensor<2x3x5xf32>) -> tensor<6x5xf32>
  %y = nn.linear %rows, %w : (tensor<6x5xf32>, tensor<5x7xf32>) -> tensor<6x7xf32>
  %b = nn.dropout %y {rate = 0.5 : f64, site = 1 : i64} : (tensor<6x7xf32>) -> tensor<6x7xf32>
  %c = nn.dropout %w {rate = 0.5 : f64, site = 2 : i64} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %four = nn.reshape %b : (tensor<6x7xf32>) -> tensor<1x2x3x7xf32>
  %all = nn.broadcast %four : (tensor<1x2x3x7xf32>) -> tensor<4x2x3x7xf32>
  %d = nn.dropout %all {rate = 0.5 : f64, site = 3 : i64} : (tensor<4x2x3x7xf32>) -> tensor<4x2x3x7xf32>
  return %b, %c, %d : tensor<6x7xf32>, tensor<5x7xf32>, tensor<4x2x3x7xf32>
}

// -----

// As many samples as positions: a transposition turns them all the same.
// CHECK-LABEL: func.func @train
// CHECK: nn.dropout {{.*}} {sample_stride = 2 : i64, samples = 4 : i64}
func.func @eval(%x: tensor<4x4x2xf32> {nn.role = "input"}) {
  return
}
func.func @train(%x: tensor<4x4x2xf32> {nn.role = "input"}) -> tensor<4x4x2xf32> {
  %t = nn.transpose %x [1, 0, 2] : (tensor<4x4x2xf32>) -> tensor<4x4x2xf32>
  %y = nn.dropout %t {rate = 0.5 : f64, site = 0 : i64} : (tensor<4x4x2xf32>) -> tensor<4x4x2xf32>
  return %y : tensor<4x4x2xf32>
}

// -----

// Numbers are drawn in evaluations too, of the samples of what they are like or of the first dim; an output alone may draw.
// CHECK: module attributes {nn.sites = [{name = "a"}, {name = "b"}, {name = "c"}]}
// CHECK-LABEL: func.func @eval
// CHECK-SAME: %[[DRAWS:[a-z0-9]+]]: tensor<24xi32> {nn.name = "draws", nn.role = "draws"}
// CHECK-DAG: %[[A:.*]] = nn.slice %[[DRAWS]] [0] to [8] by [1]
// CHECK-DAG: %[[C:.*]] = nn.slice %[[DRAWS]] [16] to [24] by [1]
// CHECK: nn.draw normal drawn %[[A]] {sample_stride = 2 : i64, samples = 4 : i64} : (tensor<8xi32>) -> tensor<3x4x2xf32>
// CHECK: nn.draw uniform drawn %[[C]] : (tensor<8xi32>) -> tensor<5xf32>
// CHECK-LABEL: func.func @train
// CHECK: nn.draw normal drawn %{{.*}} {sample_stride = 2 : i64, samples = 4 : i64} : (tensor<8xi32>) -> tensor<3x4x2xf32>
// CHECK: nn.draw uniform drawn %{{.*}} {sample_stride = 7 : i64, samples = 4 : i64} : (tensor<8xi32>) -> tensor<4x7xf32>
func.func @eval(%x: tensor<4x3x2xf32> {nn.role = "input"}) -> (tensor<3x4x2xf32>, tensor<5xf32>) {
  %t = nn.transpose %x [1, 0, 2] : (tensor<4x3x2xf32>) -> tensor<3x4x2xf32>
  %a = nn.draw normal like %t {site = 3 : i64} : (tensor<3x4x2xf32>) -> tensor<3x4x2xf32> loc("a")
  %c = nn.draw uniform {site = 9 : i64} : () -> tensor<5xf32> loc("c")
  return %a, %c : tensor<3x4x2xf32>, tensor<5xf32>
}
func.func @train(%x: tensor<4x3x2xf32> {nn.role = "input"}) -> (tensor<3x4x2xf32>, tensor<4x7xf32>) {
  %t = nn.transpose %x [1, 0, 2] : (tensor<4x3x2xf32>) -> tensor<3x4x2xf32>
  %a = nn.draw normal like %t {site = 3 : i64} : (tensor<3x4x2xf32>) -> tensor<3x4x2xf32> loc("a")
  %b = nn.draw uniform {site = 5 : i64, samples_first} : () -> tensor<4x7xf32> loc("b")
  return %a, %b : tensor<3x4x2xf32>, tensor<4x7xf32>
}

// -----

// expected-error @below {{expects functions @train and @eval}}
module {}

// -----

// Probabilities of attention: samples of queries are those of rows of scores, in a batch or among its positions; the name
// is that of the dropout, which is the last of those that became the op; evaluations keep all.
// CHECK: module attributes {nn.sites = [{name = "drop", rate = 1.000000e-01 : f64}, {name = "other", rate = 5.000000e-01 : f64}]}
// CHECK-LABEL: func.func @eval
// CHECK: nn.attention %arg0, %arg0, %arg0 {scale = 1.000000e+00 : f64} :
// CHECK-LABEL: func.func @train
// CHECK: nn.attention %arg0, %arg0, %arg0 drawn %{{[a-z0-9]+}} {sample_stride = 18 : i64, samples = 4 : i64, scale = 1.000000e+00 : f64}
// CHECK: nn.attention {{.*}} drawn %{{[a-z0-9]+}} {sample_stride = 21 : i64, samples = 4 : i64, scale = 1.000000e+00 : f64}
// CHECK: nn.attention_grad {{.*}} drawn %{{[a-z0-9]+}} {sample_stride = 18 : i64, samples = 4 : i64, scale = 1.000000e+00 : f64}
func.func @eval(%x: tensor<4x3x2x5xf32> {nn.role = "input"}) -> tensor<4x3x2x5xf32> {
  %y, %l = nn.attention %x, %x, %x {scale = 1.0 : f64, rate = 0.1 : f64, site = 3 : i64} : (tensor<4x3x2x5xf32>, tensor<4x3x2x5xf32>, tensor<4x3x2x5xf32>) -> (tensor<4x3x2x5xf32>, tensor<4x2x3xf32>)
  return %y : tensor<4x3x2x5xf32>
}
func.func @train(%x: tensor<4x3x2x5xf32> {nn.role = "input"}, %k: tensor<1x7x2x5xf32>) -> (tensor<4x3x2x5xf32>, tensor<1x12x2x5xf32>, tensor<4x3x2x5xf32>) {
  %y, %l = nn.attention %x, %x, %x {scale = 1.0 : f64, rate = 0.1 : f64, site = 3 : i64} : (tensor<4x3x2x5xf32>, tensor<4x3x2x5xf32>, tensor<4x3x2x5xf32>) -> (tensor<4x3x2x5xf32>, tensor<4x2x3xf32>) loc(fused["product", "drop"])
  %q = nn.reshape %x : (tensor<4x3x2x5xf32>) -> tensor<1x12x2x5xf32>
  %z, %m = nn.attention %q, %k, %k {scale = 1.0 : f64, rate = 0.5 : f64, site = 4 : i64} : (tensor<1x12x2x5xf32>, tensor<1x7x2x5xf32>, tensor<1x7x2x5xf32>) -> (tensor<1x12x2x5xf32>, tensor<1x2x12xf32>) loc("other")
  %dq, %dk, %dv = nn.attention_grad %y, %x, %x, %x, %y, %l {scale = 1.0 : f64, rate = 0.1 : f64, site = 3 : i64} : (tensor<4x3x2x5xf32>, tensor<4x3x2x5xf32>, tensor<4x3x2x5xf32>, tensor<4x3x2x5xf32>, tensor<4x3x2x5xf32>, tensor<4x2x3xf32>) -> (tensor<4x3x2x5xf32>, tensor<4x3x2x5xf32>, tensor<4x3x2x5xf32>)
  return %y, %z, %dq : tensor<4x3x2x5xf32>, tensor<1x12x2x5xf32>, tensor<4x3x2x5xf32>
}
