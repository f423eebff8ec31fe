// RUN: shardc-opt %s -split-input-file -nn-expand-batch-norms -verify-diagnostics | FileCheck %s
// RUN: shardc-opt %s -split-input-file -nn-expand-batch-norms="statistics=sync mesh=2x2" -verify-diagnostics | FileCheck %s --check-prefix=SYNC

// A norm that is called twice: each call has a weight of its own. Evaluations know running
// statistics alone.
// CHECK: module attributes {nn.running = [{call = 0 : i64, calls = 2 : i64, momentum = 9.000000e-01 : f64}, {call = 1 : i64, calls = 2 : i64, momentum = 9.000000e-01 : f64}]}
// CHECK-LABEL: func.func @eval
// CHECK-NOT: nn.reduce_sum
// CHECK: %[[MEAN:.*]] = nn.get_parameter @running_mean
// CHECK: nn.sub
// CHECK: nn.sqrt
// CHECK-NOT: nn.batch_norm
// CHECK-LABEL: func.func @train
// CHECK-SAME: %[[RUNNING:[a-z0-9]+]]: tensor<2xf32> {nn.name = "running", nn.role = "running"}
// CHECK: nn.reduce_sum %{{.*}} [0] : (tensor<8x4xf32>) -> tensor<1x4xf32>
// CHECK: %[[FIRST:.*]] = nn.slice %[[RUNNING]] [0] to [1] by [1]
// CHECK: %[[SECOND:.*]] = nn.slice %[[RUNNING]] [1] to [2] by [1]
// SYNC-LABEL: func.func @train
// SYNC-COUNT-4: fsdp.rank_sum
// SYNC-NOT: fsdp.rank_sum
nn.parameter @running_mean : tensor<4xf32> {initializer = "m", file = "", offset = 0 : i64, length = 16 : i64, stored_type = f32, trainable, nn.optimizer = "running"}
func.func @eval(%x: tensor<8x4xf32>, %c: tensor<4xf32>) -> tensor<8x4xf32> {
  %m = nn.get_parameter @running_mean : tensor<4xf32>
  %y, %mean, %variance = nn.batch_norm %x, %c, %c, %m, %c {epsilon = 1.0e-05 : f64, momentum = 0.9 : f64, site = 0 : i64} : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %y : tensor<8x4xf32>
}
func.func @train(%x: tensor<8x4xf32>, %c: tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>) {
  %m = nn.get_parameter @running_mean : tensor<4xf32>
  %y, %mean, %variance = nn.batch_norm %x, %c, %c, %m, %c {epsilon = 1.0e-05 : f64, momentum = 0.9 : f64, site = 0 : i64} : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
  %z, %mean1, %variance1 = nn.batch_norm %y, %c, %c, %m, %c {epsilon = 1.0e-05 : f64, momentum = 0.9 : f64, site = 5 : i64} : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
  %d = nn.running_gradient %m, %mean {momentum = 0.9 : f64, rows = 0 : i64, site = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %e = nn.running_gradient %m, %mean1 {momentum = 0.9 : f64, rows = 0 : i64, site = 5 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %sum = nn.add %d, %e : tensor<4xf32>
  return %z, %sum : tensor<8x4xf32>, tensor<4xf32>
}

// -----

// Sums over all other rows are divided by those of all ranks; so is what is taken off in backward.
// CHECK-LABEL: func.func @train
// CHECK-NOT: nn.batch_norm_grad
// SYNC-LABEL: func.func @train
// SYNC-COUNT-4: fsdp.rank_sum
// SYNC: nn.constant dense<1.032258{{.*}}> : tensor<4xf32>
func.func @eval() {
  return
}
func.func @train(%x: tensor<8x4xf32>, %dy: tensor<8x4xf32>, %c: tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>) {
  %y, %mean, %variance = nn.batch_norm %x, %c, %c, %c, %c {epsilon = 1.0e-05 : f64, momentum = 0.9 : f64, site = 0 : i64, unbiased} : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
  %dx, %dg, %db = nn.batch_norm_grad %dy, %x, %c, %mean, %variance {epsilon = 1.0e-05 : f64} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
  %d = nn.running_gradient %c, %variance {momentum = 0.9 : f64, rows = 8 : i64, site = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %dx, %d : tensor<8x4xf32>, tensor<4xf32>
}
