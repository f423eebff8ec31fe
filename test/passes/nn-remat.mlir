// RUN: shardc-opt %s -split-input-file -nn-differentiate -canonicalize -cse -nn-remat | FileCheck %s
// RUN: shardc-opt %s -split-input-file -nn-differentiate -canonicalize -cse -nn-remat=policy=none | FileCheck %s --check-prefix=NONE
// RUN: shardc-opt %s -split-input-file -nn-differentiate -canonicalize -cse -nn-remat --remarks-filter=nn-remat -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: shardc-opt %s -split-input-file -nn-differentiate -canonicalize -cse -nn-remat=policy=none --remarks-filter=nn-remat -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NOTHING

// A gated layer: backward reads gate and up anyway, so silu and the product run again, each in front of what reads it. What a
// library call reads (the product) stands right before it; silu is repeated for the other kernel.
// CHECK: module attributes {nn.remat = {kept_bytes = 33554432 : i64, policy = "cheap", read_bytes = 58720256 : i64,
// CHECK-SAME: recomputed_bytes = 62914560 : i64, recomputed_flops = 18874368 : i64, recomputed_seconds = {{.*}}, step_seconds = {{.*}}}}
// CHECK-LABEL: func.func @train
// CHECK: %[[GATE:.*]] = nn.linear %{{.*}}
// CHECK: %[[UP:.*]] = nn.linear %{{.*}}
// CHECK: %[[SILU:.*]] = nn.silu %[[GATE]]
// CHECK: nn.mul %[[SILU]], %[[UP]] : tensor
// CHECK: nn.cross_entropy
// CHECK: %[[DH:.*]] = nn.linear
// CHECK-NEXT: %[[SILU1:.*]] = nn.silu %[[GATE]] {nn.recomputed}
// CHECK-NEXT: %[[H:.*]] = nn.mul %[[SILU1]], %[[UP]] {nn.recomputed}
// CHECK-NEXT: nn.linear_weight_grad %[[H]]
// CHECK-NEXT: nn.mul %[[DH]], %[[UP]]
// CHECK-NEXT: %[[SILU2:.*]] = nn.silu %[[GATE]] {nn.recomputed}
// CHECK-NEXT: nn.mul %[[DH]], %[[SILU2]]
// CHECK-NOT: nn.recomputed

// NONE: module attributes {nn.remat = {kept_bytes = 58720256 : i64, policy = "none"
// NONE-NOT: nn.recomputed

// WHY: [Missed] kept | Category:nn-remat | Remark="nn.linear is kept for backward, 12.6 MB: a library call does not run again"
// WHY: [Missed] kept | Category:nn-remat | Remark="nn.linear is kept for backward, 12.6 MB: a library call does not run again"
// WHY: [Passed] again | Category:nn-remat | Remark="nn.silu is computed again in backward, which takes {{.*}}: 12.6 MB are not kept"
// WHY: [Passed] again | Category:nn-remat | Remark="nn.mul is computed again in backward, which takes {{.*}}: 12.6 MB are not kept"
// NOTHING: Remark="nn.silu is kept for backward, 12.6 MB: nothing is computed again with remat none"
// NOTHING-NOT: [Passed] again
nn.parameter @gate : tensor<3072x2048xf32> {initializer = "a", file = "", offset = 0 : i64, length = 25165824 : i64, stored_type = f32, trainable}
nn.parameter @up : tensor<3072x2048xf32> {initializer = "b", file = "", offset = 0 : i64, length = 25165824 : i64, stored_type = f32, trainable}
nn.parameter @down : tensor<2048x3072xf32> {initializer = "c", file = "", offset = 0 : i64, length = 25165824 : i64, stored_type = f32, trainable}
func.func @model(%x: tensor<1024x2048xf32>, %labels: tensor<1024xi64>, %scale: tensor<f32>) -> tensor<f32> {
  %wg = nn.get_parameter @gate : tensor<3072x2048xf32>
  %wu = nn.get_parameter @up : tensor<3072x2048xf32>
  %wd = nn.get_parameter @down : tensor<2048x3072xf32>
  %g = nn.linear %x, %wg {transpose_weight} : (tensor<1024x2048xf32>, tensor<3072x2048xf32>) -> tensor<1024x3072xf32>
  %u = nn.linear %x, %wu {transpose_weight} : (tensor<1024x2048xf32>, tensor<3072x2048xf32>) -> tensor<1024x3072xf32>
  %s = nn.silu %g : tensor<1024x3072xf32>
  %h = nn.mul %s, %u : tensor<1024x3072xf32>
  %y = nn.linear %h, %wd {transpose_weight} : (tensor<1024x3072xf32>, tensor<2048x3072xf32>) -> tensor<1024x2048xf32>
  %loss = nn.cross_entropy %y, %labels, %scale {ignore_index = -100 : i64, shift = 0 : i64} : (tensor<1024x2048xf32>, tensor<1024xi64>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// The sum reads a parameter of a unit that backward does not gather: what cosine's gradient reads of it stays kept. Positions that
// belong to no unit are always there.
// CHECK-LABEL: func.func @train
// CHECK: %[[SUM:.*]] = nn.add {{.*}}%{{.*}} : tensor<1024x512xf32>
// CHECK: nn.cross_entropy
// CHECK-NOT: nn.add {{.*}}nn.recomputed
// CHECK: nn.sin %[[SUM]]

// WHY: Remark="nn.add is kept for backward, 2.10 MB: computing it again takes {{.*}}, from 2.10 MB that are not kept otherwise: more than it is worth"
// WHY: Remark="nn.cos is computed again in backward, which takes {{.*}}: 2.10 MB are not kept"

// CHECK-LABEL: func.func @eval_is_not_changed
nn.parameter @position : tensor<1024x512xf32> {nn.unit = "embedding", initializer = "a", file = "", offset = 0 : i64, length = 2097152 : i64, stored_type = f32}
nn.parameter @w : tensor<4096x512xf32> {nn.unit = "head", initializer = "b", file = "", offset = 0 : i64, length = 8388608 : i64, stored_type = f32, trainable}
nn.parameter @v : tensor<512x512xf32> {nn.unit = "head", initializer = "c", file = "", offset = 0 : i64, length = 1048576 : i64, stored_type = f32, trainable}
func.func @model(%x: tensor<1024x512xf32>, %labels: tensor<1024xi64>, %scale: tensor<f32>) -> tensor<f32> {
  %v = nn.get_parameter @v : tensor<512x512xf32>
  %p = nn.get_parameter @position : tensor<1024x512xf32>
  %a = nn.linear %x, %v {transpose_weight} : (tensor<1024x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>
  %b = nn.add %a, %p : tensor<1024x512xf32>
  %c = nn.cos %b : tensor<1024x512xf32>
  %w = nn.get_parameter @w : tensor<4096x512xf32>
  %y = nn.linear %c, %w {transpose_weight} : (tensor<1024x512xf32>, tensor<4096x512xf32>) -> tensor<1024x4096xf32>
  %loss = nn.cross_entropy %y, %labels, %scale {ignore_index = -100 : i64, shift = 0 : i64} : (tensor<1024x4096xf32>, tensor<1024xi64>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
func.func @eval_is_not_changed() {
  return
}

// -----

// Next to so few products recomputing would show: everything is kept.
// WHY: Remark="nn.tanh is kept for backward, 2.10 MB: computing it again takes {{.*}}, and a step has {{.*}} for all of that"
// CHECK: module attributes {nn.remat = {kept_bytes = [[BYTES:[0-9]+]] : i64, policy = "cheap", read_bytes = [[BYTES]] : i64, recomputed_bytes = 0
// CHECK-LABEL: func.func @train
// CHECK-NOT: nn.recomputed
nn.parameter @w : tensor<1x512xf32> {initializer = "a", file = "", offset = 0 : i64, length = 2048 : i64, stored_type = f32, trainable}
func.func @model(%x: tensor<1024x512xf32>) -> tensor<f32> {
  %w = nn.get_parameter @w : tensor<1x512xf32>
  %b = nn.broadcast %w : (tensor<1x512xf32>) -> tensor<1024x512xf32>
  %a = nn.mul %x, %b : tensor<1024x512xf32>
  %c = nn.tanh %a : tensor<1024x512xf32>
  %d = nn.mul %c, %c : tensor<1024x512xf32>
  %s = nn.reduce_sum %d [0, 1] : (tensor<1024x512xf32>) -> tensor<1x1xf32>
  %loss = nn.reshape %s : (tensor<1x1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// The linear's result is kept anyway, and the sum with it would run again, but for the positions: backward does not gather their unit.
// CHECK-LABEL: func.func @train
// CHECK: nn.cross_entropy
// CHECK-NOT: nn.add {{.*}}nn.recomputed
// WHY: Remark="nn.add is kept for backward, 2.10 MB: it is made of parameters that are not gathered where backward first needs it"
nn.parameter @position : tensor<1024x512xf32> {nn.unit = "embedding", initializer = "a", file = "", offset = 0 : i64, length = 2097152 : i64, stored_type = f32}
nn.parameter @w : tensor<4096x512xf32> {nn.unit = "head", initializer = "b", file = "", offset = 0 : i64, length = 8388608 : i64, stored_type = f32, trainable}
nn.parameter @v : tensor<512x512xf32> {nn.unit = "head", initializer = "c", file = "", offset = 0 : i64, length = 1048576 : i64, stored_type = f32, trainable}
func.func @model(%x: tensor<1024x512xf32>, %labels: tensor<1024xi64>, %scale: tensor<f32>) -> tensor<f32> {
  %v = nn.get_parameter @v : tensor<512x512xf32>
  %p = nn.get_parameter @position : tensor<1024x512xf32>
  %a = nn.linear %x, %v {transpose_weight} : (tensor<1024x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>
  %b = nn.add %a, %p : tensor<1024x512xf32>
  %c = nn.cos %b : tensor<1024x512xf32>
  %d = nn.mul %c, %a : tensor<1024x512xf32>
  %w = nn.get_parameter @w : tensor<4096x512xf32>
  %y = nn.linear %d, %w {transpose_weight} : (tensor<1024x512xf32>, tensor<4096x512xf32>) -> tensor<1024x4096xf32>
  %loss = nn.cross_entropy %y, %labels, %scale {ignore_index = -100 : i64, shift = 0 : i64} : (tensor<1024x4096xf32>, tensor<1024xi64>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
