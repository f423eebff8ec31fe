// RUN: shardc-opt %s --fsdp-form-units="mesh=2" --split-input-file | FileCheck %s
// RUN: shardc-opt %s --fsdp-form-units="mesh=2 strategy=grad_op" --split-input-file | FileCheck %s --check-prefix=GRAD-OP
// RUN: shardc-opt %s --fsdp-form-units="mesh=2 strategy=opt" --split-input-file | FileCheck %s --check-prefix=OPT
// RUN: shardc-opt %s --fsdp-form-units="mesh=2 strategy=none" --split-input-file | FileCheck %s --check-prefix=NONE
// RUN: shardc-opt %s --fsdp-form-units="mesh=1" --split-input-file | FileCheck %s --check-prefix=ONE
// RUN: shardc-opt %s --fsdp-form-units="mesh=2x2" --split-input-file | FileCheck %s --check-prefix=HYBRID
// RUN: shardc-opt %s --fsdp-form-units="mesh=2x2 strategy=hybrid_grad_op" --split-input-file | FileCheck %s --check-prefix=HYBRID-GRAD-OP
// RUN: shardc-opt %s --fsdp-form-units="mesh=2x2 strategy=hybrid_opt" --split-input-file | FileCheck %s --check-prefix=HYBRID-OPT
// RUN: shardc-opt %s --fsdp-form-units="mesh=2x2 strategy=full" --split-input-file | FileCheck %s --check-prefix=FULL-2D
// RUN: shardc-opt %s --fsdp-form-units="mesh=2x2 strategy=opt" --split-input-file | FileCheck %s --check-prefix=OPT-2D
// RUN: shardc-opt %s --fsdp-form-units="mesh=replicate=2" --split-input-file | FileCheck %s --check-prefix=REPLICATE
// RUN: shardc-opt %s --fsdp-form-units="mesh=shard=2" --split-input-file | FileCheck %s
// RUN: shardc-opt %s --fsdp-form-units="mesh=dp_replicate=2,dp_shard=4" --split-input-file | FileCheck %s --check-prefix=NAMED
// RUN: shardc-opt %s --fsdp-form-units="mesh=2 reshard=always" --split-input-file | FileCheck %s --check-prefix=ALWAYS
// RUN: shardc-opt %s --fsdp-form-units="mesh=2 reshard=never" --split-input-file | FileCheck %s --check-prefix=NEVER
// RUN: shardc-opt %s --fsdp-form-units="mesh=8 reshard=2" --split-input-file | FileCheck %s --check-prefix=TWO
// RUN: shardc-opt %s --fsdp-form-units="mesh=8 unit-options={{match=\.0$,reshard=2},{match=\.[0-1]$,reshard=4},{match=root,reshard=always}}" --split-input-file | FileCheck %s --check-prefix=OWN

// A repeated block is a unit; embedding, last norm and head are the root. The table is a buffer, in no unit. The root is used
// last in forward and first in backward: it alone stays gathered (reshard = 1).
//
// CHECK: fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], optimizer_dims = array<i64: 0>, shard_dims = array<i64: 0>, strategy = "full"}
// CHECK-NEXT: fsdp.group @world {size = 2 : i64, stride = 1 : i64}
// CHECK-NOT: fsdp.group
// CHECK: fsdp.unit @root {element_type = f32, elements = 72 : i64, gradient_type = f32, master_type = f32, offsets = array<i64: 0, 32, 64>,
// CHECK-SAME: optimizer_shards = 2 : i64, padding = 0 : i64, parameters = [@embed.weight, @head.weight, @norm.weight],
// CHECK-SAME: reason = "", reshard = 1 : i64, shards = 2 : i64}
// CHECK-NEXT: fsdp.unit @layers.0 {element_type = f32, elements = 24 : i64, gradient_type = f32, master_type = f32, offsets = array<i64: 0, 16>,
// CHECK-SAME: optimizer_shards = 2 : i64, padding = 4 : i64, parameters = [@layers.0.proj.weight, @layers.0.norm.weight],
// CHECK-SAME: reason = "", reshard = 2 : i64, shards = 2 : i64}
// CHECK-NEXT: fsdp.unit @layers.1 {{.*}} reshard = 2 : i64, shards = 2 : i64}
// CHECK-NOT: nn.unit
//
// GRAD-OP: fsdp.mesh @mesh {{.*}} optimizer_dims = array<i64: 0>, shard_dims = array<i64: 0>, strategy = "grad_op"}
// GRAD-OP: fsdp.unit @root {{.*}} optimizer_shards = 2 : {{.*}} reshard = 1 : i64, shards = 2 : i64}
// GRAD-OP: fsdp.unit @layers.0 {{.*}} optimizer_shards = 2 : {{.*}} reshard = 1 : i64, shards = 2 : i64}
//
// The buffers of full, opt and none have one layout: every strategy adds the same numbers in the same order.
// OPT: fsdp.mesh @mesh {{.*}} optimizer_dims = array<i64: 0>, shard_dims = array<i64>, strategy = "opt"}
// OPT: fsdp.unit @layers.0 {{.*}} elements = 24 : {{.*}} optimizer_shards = 2 : i64, padding = 4 : {{.*}} reshard = 1 : i64, shards = 1 : i64}
// NONE: fsdp.mesh @mesh {{.*}} optimizer_dims = array<i64>, shard_dims = array<i64>, strategy = "none"}
// NONE: fsdp.group @world
// NONE: fsdp.unit @layers.0 {{.*}} elements = 24 : {{.*}} optimizer_shards = 1 : i64, padding = 4 : {{.*}} reshard = 1 : i64, shards = 1 : i64}
// ONE: fsdp.mesh @mesh {dims = array<i64: 1>, {{.*}} strategy = "full"}
// ONE-NOT: fsdp.group
// ONE: fsdp.unit @layers.0 {{.*}} elements = 20 : {{.*}} optimizer_shards = 1 : i64, padding = 0 : {{.*}} shards = 1 : i64}
//
// HYBRID: fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], optimizer_dims = array<i64: 1>, shard_dims = array<i64: 1>, strategy = "hybrid"}
// HYBRID-NEXT: fsdp.group @world {size = 4 : i64, stride = 1 : i64}
// HYBRID-NEXT: fsdp.group @replicate {size = 2 : i64, stride = 2 : i64}
// HYBRID-NEXT: fsdp.group @shard {size = 2 : i64, stride = 1 : i64}
// HYBRID: fsdp.unit @root {{.*}} optimizer_shards = 2 : {{.*}} reshard = 1 : i64, shards = 2 : i64}
// HYBRID: fsdp.unit @layers.0 {{.*}} elements = 24 : {{.*}} optimizer_shards = 2 : {{.*}} reshard = 2 : i64, shards = 2 : i64}
// HYBRID-GRAD-OP: fsdp.mesh @mesh {{.*}} optimizer_dims = array<i64: 1>, shard_dims = array<i64: 1>, strategy = "hybrid_grad_op"}
// HYBRID-GRAD-OP: fsdp.unit @layers.0 {{.*}} optimizer_shards = 2 : {{.*}} reshard = 1 : i64, shards = 2 : i64}
// HYBRID-OPT: fsdp.mesh @mesh {{.*}} optimizer_dims = array<i64: 1, 0>, shard_dims = array<i64: 1>, strategy = "hybrid_opt"}
// HYBRID-OPT: fsdp.unit @layers.0 {{.*}} elements = 32 : {{.*}} optimizer_shards = 4 : {{.*}} reshard = 2 : i64, shards = 2 : i64}
// FULL-2D: fsdp.mesh @mesh {{.*}} optimizer_dims = array<i64: 0, 1>, shard_dims = array<i64: 0, 1>, strategy = "full"}
// FULL-2D: fsdp.unit @layers.0 {{.*}} elements = 32 : {{.*}} optimizer_shards = 4 : {{.*}} reshard = 4 : i64, shards = 4 : i64}
// OPT-2D: fsdp.mesh @mesh {{.*}} optimizer_dims = array<i64: 0, 1>, shard_dims = array<i64>, strategy = "opt"}
// OPT-2D: fsdp.unit @layers.0 {{.*}} elements = 32 : {{.*}} optimizer_shards = 4 : {{.*}} reshard = 1 : i64, shards = 1 : i64}
//
// A mesh may name its dimensions: one that replicates alone shards nothing.
// REPLICATE: fsdp.mesh @mesh {dims = array<i64: 2>, names = ["replicate"], optimizer_dims = array<i64>, shard_dims = array<i64>, strategy = "none"}
// NAMED: fsdp.mesh @mesh {dims = array<i64: 2, 4>, names = ["replicate", "shard"], {{.*}} shard_dims = array<i64: 1>, strategy = "hybrid"}
// NAMED-NEXT: fsdp.group @world {size = 8 : i64, stride = 1 : i64}
// NAMED-NEXT: fsdp.group @replicate {size = 2 : i64, stride = 4 : i64}
// NAMED-NEXT: fsdp.group @shard {size = 4 : i64, stride = 1 : i64}
//
// ALWAYS: fsdp.unit @root {{.*}} reshard = 2 : i64, shards = 2 : i64}
// ALWAYS: fsdp.unit @layers.0 {{.*}} reshard = 2 : i64, shards = 2 : i64}
// NEVER: fsdp.unit @root {{.*}} reshard = 1 : i64, shards = 2 : i64}
// NEVER: fsdp.unit @layers.0 {{.*}} reshard = 1 : i64, shards = 2 : i64}
// A number is for every unit, the last too.
// TWO: fsdp.group @world {size = 8 : i64, stride = 1 : i64}
// TWO-NEXT: fsdp.group @reshard.2 {size = 2 : i64, stride = 1 : i64}
// TWO-NOT: fsdp.group
// TWO: fsdp.unit @root {{.*}} reshard = 2 : i64, shards = 8 : i64}
// TWO: fsdp.unit @layers.0 {{.*}} reshard = 2 : i64, shards = 8 : i64}
// The first option that matches is a unit's, and each number has its group.
// OWN: fsdp.group @world {size = 8 : i64, stride = 1 : i64}
// OWN-NEXT: fsdp.group @reshard.2 {size = 2 : i64, stride = 1 : i64}
// OWN-NEXT: fsdp.group @reshard.4 {size = 4 : i64, stride = 1 : i64}
// OWN: fsdp.unit @root {{.*}} reshard = 8 : i64, shards = 8 : i64}
// OWN: fsdp.unit @layers.0 {{.*}} reshard = 2 : i64, shards = 8 : i64}
// OWN: fsdp.unit @layers.1 {{.*}} reshard = 4 : i64, shards = 8 : i64}
nn.parameter @embed.weight : tensor<8x4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.0.norm.weight : tensor<4xf32> {nn.unit = "layers.0", initializer = "1", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.0.proj.weight : tensor<4x4xf32> {nn.unit = "layers.0", initializer = "2", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.1.norm.weight : tensor<4xf32> {nn.unit = "layers.1", initializer = "3", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.1.proj.weight : tensor<4x4xf32> {nn.unit = "layers.1", initializer = "4", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @norm.weight : tensor<8xf32> {initializer = "5", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @head.weight : tensor<8x4xf32> {initializer = "6", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @table : tensor<2x4xf32> {initializer = "7", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32}
func.func @model(%ids: tensor<2xi64>) -> tensor<2x8xf32> {
  %0 = nn.get_parameter @embed.weight : tensor<8x4xf32>
  %x0 = nn.embedding %0, %ids : (tensor<8x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %t = nn.get_parameter @table : tensor<2x4xf32>
  %x1 = nn.add %x0, %t : tensor<2x4xf32>
  %1 = nn.get_parameter @layers.0.norm.weight : tensor<4xf32>
  %x2, %r2 = nn.rms_norm %x1, %1 {epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>)
  %2 = nn.get_parameter @layers.0.proj.weight : tensor<4x4xf32>
  %x3 = nn.linear %x2, %2 : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %3 = nn.get_parameter @layers.1.norm.weight : tensor<4xf32>
  %x4, %r4 = nn.rms_norm %x3, %3 {epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>)
  %4 = nn.get_parameter @layers.1.proj.weight : tensor<4x4xf32>
  %x5 = nn.linear %x4, %4 : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %6 = nn.get_parameter @head.weight : tensor<8x4xf32>
  %x6 = nn.linear %x5, %6 {transpose_weight} : (tensor<2x4xf32>, tensor<8x4xf32>) -> tensor<2x8xf32>
  %5 = nn.get_parameter @norm.weight : tensor<8xf32>
  %x7, %r7 = nn.rms_norm %x6, %5 {epsilon = 1.0e-5 : f64} : (tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>)
  return %x7 : tensor<2x8xf32>
}

// -----

// The reason that fsdp-assign-units found goes to the unit; what it put nowhere is in the root. The last 3 rows of 2 do not halve: a row of padding.
//
// CHECK: fsdp.unit @block.0 {{.*}} parameters = [@w0, @b0], reason = "block 1 of 2", reshard = 2
// CHECK: fsdp.unit @block.1 {{.*}} parameters = [@w1, @b1]
// CHECK: fsdp.unit @root {{.*}} padding = 2 : i64, parameters = [@w2], reason = "", reshard = 1
module attributes {fsdp.unit_reasons = [["block.0", "block 1 of 2"], ["block.1", "block 2 of 2"]]} {
nn.parameter @w0 : tensor<4x4xf32> {nn.unit = "block.0", initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @b0 : tensor<4xf32> {nn.unit = "block.0", initializer = "1", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @w1 : tensor<4x4xf32> {nn.unit = "block.1", initializer = "2", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @b1 : tensor<4xf32> {nn.unit = "block.1", initializer = "3", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @w2 : tensor<3x2xf32> {initializer = "4", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
func.func @model(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x3xf32>) {
  %0 = nn.get_parameter @w0 : tensor<4x4xf32>
  %1 = nn.get_parameter @b0 : tensor<4xf32>
  %2 = nn.get_parameter @w1 : tensor<4x4xf32>
  %3 = nn.get_parameter @b1 : tensor<4xf32>
  %x1 = nn.linear %x, %0, %1 : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %x2 = nn.linear %x1, %2, %3 : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %4 = nn.get_parameter @w2 : tensor<3x2xf32>
  %h = nn.slice %x2 [0, 0] to [2, 2] by [1, 1] : (tensor<2x4xf32>) -> tensor<2x2xf32>
  %x3 = nn.linear %h, %4 {transpose_weight} : (tensor<2x2xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  return %x2, %x3 : tensor<2x4xf32>, tensor<2x3xf32>
}
}

// -----

// What is frozen has a unit of its own: gathered like the others, without optimizer, gradients or another type to keep it in. A
// trained unit keeps master weights in the type that nn-precision has said, and its gradients' type is that of @train's results.
// @unused reaches no loss: it has no gradient, is not trained, and is in no unit.
//
// CHECK: fsdp.unit @layers.0 {element_type = bf16, {{.*}} gradient_type = f32, master_type = f32, {{.*}} optimizer_shards = 2 : i64, padding = 0 : i64, parameters = [@layers.0.w], {{.*}} reshard = 2 : i64, shards = 2 : i64}
// CHECK-NEXT: fsdp.unit @layers.0.frozen {element_type = bf16, {{.*}} gradient_type = bf16, master_type = bf16, {{.*}} optimizer_shards = 0 : i64, {{.*}} parameters = [@layers.0.v], {{.*}} reshard = 2 : i64, shards = 2 : i64}
// CHECK-NEXT: fsdp.unit @layers.1 {element_type = bf16, {{.*}} gradient_type = bf16, master_type = f32, {{.*}} parameters = [@layers.1.w], {{.*}} reshard = 2
// CHECK-NEXT: fsdp.unit @layers.1.frozen {{.*}} parameters = [@layers.1.v]
// CHECK-NEXT: fsdp.unit @root.frozen {{.*}} optimizer_shards = 0 : {{.*}} parameters = [@head], {{.*}} reshard = 1
// CHECK-NOT: nn.unit
// OWN: fsdp.unit @layers.0.frozen {{.*}} reshard = 2 : i64, shards = 8
// OPT: fsdp.unit @layers.0.frozen {{.*}} optimizer_shards = 0 : {{.*}} shards = 1 : i64}
module attributes {nn.precision = {master = f32}} {
  nn.parameter @layers.0.w : tensor<4x4xbf16> {nn.unit = "layers.0", initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
  nn.parameter @layers.0.v : tensor<4x4xbf16> {nn.unit = "layers.0", initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, frozen}
  nn.parameter @layers.1.w : tensor<4x4xbf16> {nn.unit = "layers.1", initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
  nn.parameter @layers.1.v : tensor<4x4xbf16> {nn.unit = "layers.1", initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, frozen}
  nn.parameter @head : tensor<4x4xbf16> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, frozen}
  nn.parameter @unused : tensor<4x4xbf16> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
  func.func @train(%x: tensor<4x4xbf16>) -> (tensor<4x4xbf16>, tensor<4x4xf32> {nn.gradient_of = @layers.0.w}, tensor<4x4xbf16> {nn.gradient_of = @layers.1.w}) {
    %w0 = nn.get_parameter @layers.0.w : tensor<4x4xbf16>
    %v0 = nn.get_parameter @layers.0.v : tensor<4x4xbf16>
    %w1 = nn.get_parameter @layers.1.w : tensor<4x4xbf16>
    %v1 = nn.get_parameter @layers.1.v : tensor<4x4xbf16>
    %h = nn.get_parameter @head : tensor<4x4xbf16>
    %u = nn.get_parameter @unused : tensor<4x4xbf16>
    %x0 = nn.linear %x, %w0 : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
    %x1 = nn.linear %x0, %v0 : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
    %x2 = nn.linear %x1, %w1 : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
    %x3 = nn.linear %x2, %v1 : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
    %x4 = nn.linear %x3, %h : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
    %x5 = nn.mul %u, %u : tensor<4x4xbf16>
    %g0 = nn.cast %x4 : (tensor<4x4xbf16>) -> tensor<4x4xf32>
    return %x4, %g0, %x3 : tensor<4x4xbf16>, tensor<4x4xf32>, tensor<4x4xbf16>
  }
}
