// RUN: shardc-opt %s --nn-mark-parameters | FileCheck %s
// RUN: shardc-opt %s --nn-mark-parameters=freeze=embed | FileCheck %s --check-prefix=FREEZE
// RUN: shardc-opt %s --nn-mark-parameters="freeze=^layers\.0\.,bias$" | FileCheck %s --check-prefix=SEVERAL
// RUN: shardc-opt %s --nn-mark-parameters="trainable=norm,offset" | FileCheck %s --check-prefix=TRAINABLE
// RUN: shardc-opt %s --nn-mark-parameters="trainable=layers freeze=norm" | FileCheck %s --check-prefix=BOTH
// RUN: shardc-opt %s --nn-mark-parameters="freeze=^head" | FileCheck %s --check-prefix=TIED

// What a parameter is to the model, by what computes with it: through views, and by the use that says most. The embedding is tied to
// the head, whose linear makes it a weight as well. Buffers have none, nor has what nothing uses. Nothing is frozen.
//
// CHECK-NOT: frozen
// CHECK: nn.parameter @embed.weight {{.*}}nn.parameter_role = "embedding"{{.*}}trainable
// CHECK: nn.parameter @layers.0.norm.weight {{.*}}nn.parameter_role = "norm"{{.*}}trainable
// CHECK: nn.parameter @layers.0.proj.weight {{.*}}nn.parameter_role = "weight"{{.*}}trainable
// CHECK: nn.parameter @layers.0.proj.bias {{.*}}nn.parameter_role = "bias"{{.*}}trainable
// CHECK: nn.parameter @layers.1.norm.weight {{.*}}nn.parameter_role = "norm"
// CHECK: nn.parameter @layers.1.norm.bias {{.*}}nn.parameter_role = "norm"
// CHECK: nn.parameter @layers.1.gate {{.*}}nn.parameter_role = "weight"
// CHECK: nn.parameter @offset {{.*}}nn.parameter_role = "bias"
// A vector that is added is a bias, a table an embedding (of positions).
// CHECK: nn.parameter @positions {{.*}}nn.parameter_role = "embedding"
// CHECK: nn.parameter @table
// CHECK-NOT: nn.parameter_role
// CHECK-NOT: trainable
// CHECK: nn.parameter @unused
// CHECK-NOT: nn.parameter_role
// CHECK-SAME: trainable
// CHECK-NOT: frozen

// FREEZE: nn.parameter @embed.weight {{.*}}frozen{{.*}}nn.parameter_role = "embedding"
// FREEZE-NOT: trainable
// FREEZE-NOT: frozen
// FREEZE: nn.parameter @layers.0.norm.weight
// FREEZE-SAME: trainable
// FREEZE-NOT: frozen

// Anchors and alternatives work; a pattern is searched in the name.
// SEVERAL: nn.parameter @embed.weight {{.*}}trainable
// SEVERAL: nn.parameter @layers.0.norm.weight {{.*}}frozen
// SEVERAL: nn.parameter @layers.0.proj.weight {{.*}}frozen
// SEVERAL: nn.parameter @layers.0.proj.bias {{.*}}frozen
// SEVERAL: nn.parameter @layers.1.norm.weight {{.*}}trainable
// SEVERAL: nn.parameter @layers.1.norm.bias {{.*}}frozen
// SEVERAL: nn.parameter @layers.1.gate {{.*}}trainable

// The only ones that are trained; a buffer is no parameter to freeze.
// TRAINABLE: nn.parameter @embed.weight {{.*}}frozen
// TRAINABLE: nn.parameter @layers.0.norm.weight {{.*}}trainable
// TRAINABLE: nn.parameter @layers.0.proj.weight {{.*}}frozen
// TRAINABLE: nn.parameter @layers.0.proj.bias {{.*}}frozen
// TRAINABLE: nn.parameter @layers.1.norm.weight {{.*}}trainable
// TRAINABLE: nn.parameter @layers.1.norm.bias {{.*}}trainable
// TRAINABLE: nn.parameter @layers.1.gate {{.*}}frozen
// TRAINABLE: nn.parameter @offset {{.*}}trainable
// TRAINABLE: nn.parameter @positions {{.*}}frozen
// TRAINABLE-NOT: frozen
// TRAINABLE: nn.parameter @unused {{.*}}frozen

// Of what is trainable, without what is frozen.
// BOTH: nn.parameter @embed.weight {{.*}}frozen
// BOTH: nn.parameter @layers.0.norm.weight {{.*}}frozen
// BOTH: nn.parameter @layers.0.proj.weight {{.*}}trainable
// BOTH: nn.parameter @layers.1.norm.weight {{.*}}frozen
// BOTH: nn.parameter @layers.1.gate {{.*}}trainable
// A tied parameter is found by each of its names.
// TIED: nn.parameter @embed.weight {{.*}}frozen
// TIED-NOT: frozen
nn.parameter @embed.weight : tensor<8x4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable, nn.aliases = ["head.weight"]}
nn.parameter @layers.0.norm.weight : tensor<4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.0.proj.weight : tensor<4x4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.0.proj.bias : tensor<4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.1.norm.weight : tensor<4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.1.norm.bias : tensor<4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.1.gate : tensor<2x4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @offset : tensor<4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @positions : tensor<2x4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @table : tensor<2x4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32}
nn.parameter @unused : tensor<4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
func.func @model(%ids: tensor<2xi64>) -> tensor<2x8xf32> {
  %embed = nn.get_parameter @embed.weight : tensor<8x4xf32>
  %head = nn.transpose %embed [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %x0 = nn.embedding %embed, %ids : (tensor<8x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %table = nn.get_parameter @table : tensor<2x4xf32>
  %x1 = nn.mul %x0, %table : tensor<2x4xf32>
  %n0 = nn.get_parameter @layers.0.norm.weight : tensor<4xf32>
  %x2, %r2 = nn.rms_norm %x1, %n0 {epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>)
  %w = nn.get_parameter @layers.0.proj.weight : tensor<4x4xf32>
  %b = nn.get_parameter @layers.0.proj.bias : tensor<4xf32>
  %x3 = nn.linear %x2, %w, %b : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %n1 = nn.get_parameter @layers.1.norm.weight : tensor<4xf32>
  %m1 = nn.get_parameter @layers.1.norm.bias : tensor<4xf32>
  %x4, %mean, %r4 = nn.layer_norm %x3, %n1, %m1 {epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  %g = nn.get_parameter @layers.1.gate : tensor<2x4xf32>
  %x5 = nn.mul %x4, %g : tensor<2x4xf32>
  %o = nn.get_parameter @offset : tensor<4xf32>
  %or = nn.reshape %o : (tensor<4xf32>) -> tensor<1x4xf32>
  %ob = nn.broadcast %or : (tensor<1x4xf32>) -> tensor<2x4xf32>
  %x6 = nn.sub %x5, %ob : tensor<2x4xf32>
  %c = nn.get_parameter @positions : tensor<2x4xf32>
  %x7 = nn.add %x6, %c : tensor<2x4xf32>
  %x8 = nn.linear %x7, %head : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  return %x8 : tensor<2x8xf32>
}
