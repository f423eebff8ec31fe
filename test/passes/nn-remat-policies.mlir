// RUN: shardc-opt %s -nn-differentiate -canonicalize -cse -nn-remat=policy=none | FileCheck %s --check-prefix=NONE
// RUN: shardc-opt %s -nn-differentiate -canonicalize -cse -nn-remat=policy=unit | FileCheck %s --check-prefix=UNIT
// RUN: shardc-opt %s -nn-differentiate -canonicalize -cse -nn-remat=policy=selective | FileCheck %s --check-prefix=SELECTIVE
// RUN: shardc-opt %s -nn-differentiate -canonicalize -cse -nn-remat=policy=class:norm,activation | FileCheck %s --check-prefix=CLASS
// RUN: shardc-opt %s -nn-differentiate -canonicalize -cse -nn-remat=policy=class:product | FileCheck %s --check-prefix=PRODUCT
// RUN: shardc-opt %s -nn-differentiate -canonicalize -cse "-nn-remat=policy=scope:layers\.1\.mlp" | FileCheck %s --check-prefix=SCOPE
// RUN: shardc-opt %s -nn-differentiate -canonicalize -cse -nn-remat=policy=time=12 | FileCheck %s --check-prefix=TIME
// RUN: shardc-opt %s -nn-differentiate -canonicalize -cse -nn-remat=policy=budget=30MB | FileCheck %s --check-prefix=BUDGET
// RUN: shardc-opt %s -nn-differentiate -canonicalize -cse -nn-remat=policy=unit --remarks-filter=nn-remat -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: not shardc-opt %s -nn-differentiate -canonicalize -cse -nn-remat=policy=budget=1MB 2>&1 | FileCheck %s --check-prefix=TOO-FEW
// RUN: not shardc-opt %s -nn-differentiate -canonicalize -cse -nn-remat=policy=scope:attention 2>&1 | FileCheck %s --check-prefix=NO-SCOPE

// NONE: module attributes {nn.remat = {kept_bytes = 46145536 : i64, policy = "none"

// What a block reads is kept; the head's product is not made again, since backward begins with what reads it.
// UNIT: module attributes {nn.remat = {kept_bytes = 8388608 : i64, policy = "unit", read_bytes = 46145536 : i64
// UNIT-LABEL: func.func @train
// UNIT: %[[Y0:.*]] = nn.add %arg0, %{{.*}} : tensor<1024x512xf32>
// UNIT: nn.cross_entropy_grad
// UNIT: %[[A1:.*]], %{{.*}} = nn.rms_norm %[[Y0]], %{{.*}} {{{.*}}nn.recomputed}
// UNIT: %[[B1:.*]] = nn.linear %[[A1]], %{{.*}} {nn.recomputed, transpose_weight}
// UNIT: nn.silu %[[B1]] {nn.recomputed}
// UNIT: %[[A0:.*]], %{{.*}} = nn.rms_norm %arg0, %{{.*}} {{{.*}}nn.recomputed}
// UNIT: %[[B0:.*]] = nn.linear %[[A0]], %{{.*}} {nn.recomputed, transpose_weight}
// UNIT: nn.silu %[[B0]] {nn.recomputed}
// UNIT-NOT: nn.recomputed

// SELECTIVE: module attributes {nn.remat = {kept_bytes = 25165824 : i64, policy = "selective"
// SELECTIVE-LABEL: func.func @train
// SELECTIVE-NOT: nn.linear {{.*}}nn.recomputed
// SELECTIVE: nn.silu {{.*}}nn.recomputed
// SELECTIVE: nn.rms_norm {{.*}}nn.recomputed
// SELECTIVE: nn.silu {{.*}}nn.recomputed
// SELECTIVE: nn.rms_norm {{.*}}nn.recomputed

// CLASS: module attributes {nn.remat = {kept_bytes = 25165824 : i64, policy = "class:norm,activation"
// CLASS-LABEL: func.func @train
// CLASS-COUNT-4: nn.recomputed
// CLASS-NOT: nn.recomputed

// Products are made of norms, which are kept, and of nothing else.
// PRODUCT: module attributes {nn.remat = {kept_bytes = 29368320 : i64, policy = "class:product"
// PRODUCT-LABEL: func.func @train
// PRODUCT: nn.linear %{{.*}}, %{{.*}} {nn.recomputed
// PRODUCT: nn.linear %{{.*}}, %{{.*}} {nn.recomputed
// PRODUCT-NOT: nn.recomputed

// SCOPE: module attributes {nn.remat = {kept_bytes = 29368320 : i64, policy = "scope:layers{{.*}}mlp"
// SCOPE-LABEL: func.func @train
// SCOPE: %[[B:.*]] = nn.linear %{{.*}}, %{{.*}} {nn.recomputed
// SCOPE: nn.silu %[[B]] {nn.recomputed}
// SCOPE-NOT: nn.recomputed

// There is time for one block's product: that of the first one, whose result would live longest.
// TIME: module attributes {nn.remat = {kept_bytes = 16777216 : i64, policy = "time=12"
// TIME-LABEL: func.func @train
// TIME: nn.cross_entropy_grad
// TIME: nn.silu {{.*}}nn.recomputed
// TIME: nn.rms_norm {{.*}}nn.recomputed
// TIME: nn.rms_norm {{.*}}nn.recomputed
// TIME: nn.linear {{.*}}nn.recomputed
// TIME: nn.silu {{.*}}nn.recomputed
// TIME-NOT: nn.recomputed

// The quickest that are enough.
// BUDGET: module attributes {nn.remat = {kept_bytes = 29368320 : i64, policy = "budget=30MB"
// BUDGET-LABEL: func.func @train
// BUDGET: nn.silu {{.*}}nn.recomputed
// BUDGET: nn.silu {{.*}}nn.recomputed
// BUDGET-NOT: nn.recomputed

// WHY: Remark="nn.linear is computed again in backward, which takes {{.*}}: 8.39 MB are not kept"
// WHY: Remark="nn.add is kept for backward, 2.10 MB: it is the input of another unit or module"
// WHY: Remark="nn.linear is kept for backward, 4.19 MB: backward begins with it"

// TOO-FEW: error: --remat budget=1MB: backward keeps 8.39 MB at least; give it that much, or each rank fewer samples
// NO-SCOPE: error: --remat scope:attention: matches no module of a parameter

// Two blocks, each a unit: x + down(silu(up(norm(x)))).
nn.parameter @layers.0.norm.weight : tensor<512xf32> {initializer = "a", file = "", offset = 0 : i64, length = 2048 : i64, stored_type = f32, trainable, nn.unit = "layers.0"}
nn.parameter @layers.0.mlp.up.weight : tensor<2048x512xf32> {initializer = "b", file = "", offset = 0 : i64, length = 4194304 : i64, stored_type = f32, trainable, nn.unit = "layers.0"}
nn.parameter @layers.0.mlp.down.weight : tensor<512x2048xf32> {initializer = "c", file = "", offset = 0 : i64, length = 4194304 : i64, stored_type = f32, trainable, nn.unit = "layers.0"}
nn.parameter @layers.1.norm.weight : tensor<512xf32> {initializer = "d", file = "", offset = 0 : i64, length = 2048 : i64, stored_type = f32, trainable, nn.unit = "layers.1"}
nn.parameter @layers.1.mlp.up.weight : tensor<2048x512xf32> {initializer = "e", file = "", offset = 0 : i64, length = 4194304 : i64, stored_type = f32, trainable, nn.unit = "layers.1"}
nn.parameter @layers.1.mlp.down.weight : tensor<512x2048xf32> {initializer = "f", file = "", offset = 0 : i64, length = 4194304 : i64, stored_type = f32, trainable, nn.unit = "layers.1"}
nn.parameter @head.weight : tensor<1024x512xf32> {initializer = "g", file = "", offset = 0 : i64, length = 2097152 : i64, stored_type = f32, trainable, nn.unit = "head"}
func.func @model(%x: tensor<1024x512xf32>, %labels: tensor<1024xi64>, %scale: tensor<f32>) -> tensor<f32> {
  %n0 = nn.get_parameter @layers.0.norm.weight : tensor<512xf32>
  %u0 = nn.get_parameter @layers.0.mlp.up.weight : tensor<2048x512xf32>
  %d0 = nn.get_parameter @layers.0.mlp.down.weight : tensor<512x2048xf32>
  %n1 = nn.get_parameter @layers.1.norm.weight : tensor<512xf32>
  %u1 = nn.get_parameter @layers.1.mlp.up.weight : tensor<2048x512xf32>
  %d1 = nn.get_parameter @layers.1.mlp.down.weight : tensor<512x2048xf32>
  %w = nn.get_parameter @head.weight : tensor<1024x512xf32>
  %a0, %r0 = nn.rms_norm %x, %n0 {epsilon = 1.0e-5 : f64} : (tensor<1024x512xf32>, tensor<512xf32>) -> (tensor<1024x512xf32>, tensor<1024x1xf32>)
  %b0 = nn.linear %a0, %u0 {transpose_weight} : (tensor<1024x512xf32>, tensor<2048x512xf32>) -> tensor<1024x2048xf32>
  %c0 = nn.silu %b0 : tensor<1024x2048xf32>
  %e0 = nn.linear %c0, %d0 {transpose_weight} : (tensor<1024x2048xf32>, tensor<512x2048xf32>) -> tensor<1024x512xf32>
  %y0 = nn.add %x, %e0 : tensor<1024x512xf32>
  %a1, %r1 = nn.rms_norm %y0, %n1 {epsilon = 1.0e-5 : f64} : (tensor<1024x512xf32>, tensor<512xf32>) -> (tensor<1024x512xf32>, tensor<1024x1xf32>)
  %b1 = nn.linear %a1, %u1 {transpose_weight} : (tensor<1024x512xf32>, tensor<2048x512xf32>) -> tensor<1024x2048xf32>
  %c1 = nn.silu %b1 : tensor<1024x2048xf32>
  %e1 = nn.linear %c1, %d1 {transpose_weight} : (tensor<1024x2048xf32>, tensor<512x2048xf32>) -> tensor<1024x512xf32>
  %y1 = nn.add %y0, %e1 : tensor<1024x512xf32>
  %logits = nn.linear %y1, %w {transpose_weight} : (tensor<1024x512xf32>, tensor<1024x512xf32>) -> tensor<1024x1024xf32>
  %loss = nn.cross_entropy %logits, %labels, %scale {ignore_index = -100 : i64, shift = 0 : i64} : (tensor<1024x1024xf32>, tensor<1024xi64>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
