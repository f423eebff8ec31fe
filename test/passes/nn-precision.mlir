// RUN: shardc-opt %s -split-input-file -nn-precision=precision=float64 | FileCheck %s --check-prefix=F64
// RUN: shardc-opt %s -split-input-file -nn-precision | FileCheck %s --check-prefix=F32
// RUN: shardc-opt %s -split-input-file -nn-precision=precision=bf16 | FileCheck %s --check-prefix=BF16
// RUN: shardc-opt %s -split-input-file -nn-precision=precision=fp16 | FileCheck %s --check-prefix=F16
// RUN: shardc-opt %s -split-input-file -nn-precision=precision=param=bf16,reduce=bf16,output=bf16,keep= | FileCheck %s --check-prefix=NOTHING
// RUN: shardc-opt %s -split-input-file -nn-precision="precision=param=bf16,keep=blocks.0.*up|norm" | FileCheck %s --check-prefix=KEEP
// RUN: shardc-opt %s -split-input-file -nn-precision="precision=bf16 unit-options={{match=^blocks.0$,precision=float32}}" | FileCheck %s --check-prefix=UNIT
// RUN: shardc-opt %s -split-input-file -nn-precision="unit-options={{match=blocks.0,reshard=never},{match=^blocks.0$,precision=bf16}}" | FileCheck %s --check-prefix=NARROW
// RUN: shardc-opt %s -split-input-file -nn-precision="precision=bfloat16 master=bf16" 2>&1 | FileCheck %s --check-prefix=MASTER

// F64: nn.precision = {gradients = f64, loss = f64, master = f64, parameters = f64}
// F32: nn.precision = {gradients = f32, loss = f32, master = f32, parameters = f32}
// BF16: nn.precision = {gradients = f32, loss = f32, master = f32, parameters = bf16}
// F16: nn.precision = {gradients = f32, loss = f32, master = f32, parameters = f16}
// NOTHING: nn.precision = {gradients = bf16, loss = bf16, master = f32, parameters = bf16}
// MASTER: warning: --master bf16: updates smaller than 2^-9 of a weight vanish
// MASTER: nn.precision = {gradients = f32, loss = f32, master = bf16, parameters = bf16}

// The file keeps its float32; the run computes in another type.
// F64: nn.parameter @blocks.0.up : tensor<4x4xf64> {{.*}}stored_type = f32
// F32: nn.parameter @blocks.0.up : tensor<4x4xf32>
// BF16: nn.parameter @blocks.0.up : tensor<4x4xbf16> {{.*}}stored_type = f32
// KEEP: nn.parameter @blocks.0.up : tensor<4x4xf32>
// UNIT: nn.parameter @blocks.0.up : tensor<4x4xf32>
// NARROW: nn.parameter @blocks.0.up : tensor<4x4xbf16>
nn.parameter @blocks.0.up : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 64 : i64, stored_type = f32, trainable, nn.unit = "blocks.0"}
// KEEP: nn.parameter @blocks.0.up.bias : tensor<4xf32>
// UNIT: nn.parameter @blocks.0.up.bias : tensor<4xf32>
nn.parameter @blocks.0.up.bias : tensor<4xf32> {initializer = "b", file = "", offset = 0 : i64, length = 16 : i64, stored_type = f32, trainable, nn.unit = "blocks.0"}
// A kept norm has parameters of the run's type.
// BF16: nn.parameter @norm : tensor<4xbf16>
// UNIT: nn.parameter @norm : tensor<4xbf16>
nn.parameter @norm : tensor<4xf32> {initializer = "g", file = "", offset = 0 : i64, length = 16 : i64, stored_type = f32, trainable, nn.unit = "root"}

// Inputs, labels and the run's scale stay float32 in a mixed run; a matrix product reads its operands in one type, so the input is cast
// once. The norm reads bf16 and rounds once to what the next product reads: keeping it costs no cast.
// BF16-LABEL: func.func @model(
// BF16-SAME: %[[X:[^ ]*]]: tensor<2x4xf32> {nn.name = "x"
// BF16-SAME: %[[SCALE:[^ ]*]]: tensor<f32> {nn.role = "loss_scale"}) -> tensor<f32>
// BF16: %[[XH:.*]] = nn.cast %[[X]] : (tensor<2x4xf32>) -> tensor<2x4xbf16>
// BF16-NOT: nn.cast
// BF16: %[[Y:.*]] = nn.linear %[[XH]], %{{.*}}, %{{.*}} {{.*}} -> tensor<2x4xbf16>
// BF16: %[[N:.*]], %{{.*}} = nn.rms_norm %[[Y]], %{{.*}} : (tensor<2x4xbf16>, tensor<4xbf16>) -> (tensor<2x4xbf16>, tensor<2x1xf32>)
// BF16: nn.linear %[[N]], {{.*}} -> tensor<2x4xbf16>
// BF16: nn.cross_entropy %{{.*}}, %{{.*}}, %[[SCALE]] {{.*}} : (tensor<2x4xbf16>, tensor<2xi64>, tensor<f32>) -> tensor<f32>
// BF16-NEXT: return

// Where nothing is kept and the output is bf16, the loss is rounded at the end.
// NOTHING-LABEL: func.func @model(
// NOTHING-SAME: -> tensor<bf16>
// NOTHING: %[[LOSS:.*]] = nn.cross_entropy {{.*}} -> tensor<f32>
// NOTHING: %[[ROUNDED:.*]] = nn.cast %[[LOSS]] : (tensor<f32>) -> tensor<bf16>
// NOTHING: return %[[ROUNDED]]

// A kept linear layer has float32 weights, and reads the float32 input as it is; what reads the same parameter does so too. The norm
// reads its float32 result: no value passes bf16 on the way.
// KEEP-LABEL: func.func @model(
// KEEP-SAME: %[[X:[^ ]*]]: tensor<2x4xf32> {nn.name = "x"
// KEEP-NOT: nn.cast
// KEEP: %[[Y:.*]] = nn.linear %[[X]], %{{.*}}, %{{.*}} -> tensor<2x4xf32>
// KEEP: nn.rms_norm %[[Y]], %{{.*}} : (tensor<2x4xf32>, tensor<4xbf16>) -> (tensor<2x4xf32>
// KEEP: nn.linear {{.*}} -> tensor<2x4xf32>

// UNIT-LABEL: func.func @model(
// UNIT-SAME: %[[X:[^ ]*]]: tensor<2x4xf32> {nn.name = "x"
// UNIT-NOT: nn.cast
// UNIT: nn.linear %[[X]], {{.*}} -> tensor<2x4xf32>

// One unit of bf16 in a float32 run: the input is cast for it, the norm reads its bf16.
// NARROW-LABEL: func.func @model(
// NARROW-SAME: %[[X:[^ ]*]]: tensor<2x4xf32> {nn.name = "x"
// NARROW: %[[XH:.*]] = nn.cast %[[X]]
// NARROW: %[[Y:.*]] = nn.linear %[[XH]], {{.*}} -> tensor<2x4xbf16>
// NARROW: nn.rms_norm %[[Y]], %{{.*}} : (tensor<2x4xbf16>, tensor<4xf32>)
func.func @model(%x: tensor<2x4xf32> {nn.name = "x"}, %labels: tensor<2xi64> {nn.role = "labels"}, %scale: tensor<f32> {nn.role = "loss_scale"}) -> tensor<f32> {
  %w = nn.get_parameter @blocks.0.up : tensor<4x4xf32>
  %b = nn.get_parameter @blocks.0.up.bias : tensor<4xf32>
  %g = nn.get_parameter @norm : tensor<4xf32>
  %y = nn.linear %x, %w, %b : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %n, %r = nn.rms_norm %y, %g {epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>)
  %z = nn.linear %n, %w {transpose_weight} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %loss = nn.cross_entropy %z, %labels, %scale {ignore_index = -100 : i64, shift = 0 : i64} : (tensor<2x4xf32>, tensor<2xi64>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// F64-LABEL: func.func @converts_all_floats_and_no_integer(
// F64-SAME: tensor<4xf64>, %{{.*}}: tensor<4xi64>) -> (tensor<4xf64>, tensor<4xi64>)
// F32-LABEL: func.func @converts_all_floats_and_no_integer(
// F32-SAME: tensor<4xf32>
nn.parameter @blocks.0.up : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 64 : i64, stored_type = f32, trainable, nn.unit = "blocks.0"}
func.func @converts_all_floats_and_no_integer(%x: tensor<4xf16>, %i: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xi64>) {
  // A constant keeps its float32 value, not the decimal that it was rounded from.
  // F64: dense<0.1000000014901161{{.*}}> : tensor<4xf64>
  // F32: dense<1.000000e-01> : tensor<4xf32>
  %c = nn.constant dense<0.1> : tensor<4xf32>
  // The cast between floats is gone.
  // F64-NOT: nn.cast
  // F32: nn.add %arg0
  %0 = nn.cast %x : (tensor<4xf16>) -> tensor<4xf32>
  // F64: nn.add %{{.*}}, %{{.*}} : tensor<4xf64>
  %1 = nn.add %0, %c : tensor<4xf32>
  // F64: nn.cast %{{.*}} : (tensor<4xi64>) -> tensor<4xf64>
  %2 = nn.cast %i : (tensor<4xi64>) -> tensor<4xf32>
  %3 = nn.mul %1, %2 : tensor<4xf32>
  %w = nn.get_parameter @blocks.0.up : tensor<4x4xf32>
  %z = nn.linear %3, %w : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
  return %z, %i : tensor<4xf32>, tensor<4xi64>
}

// -----

nn.parameter @blocks.0.up : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 64 : i64, stored_type = f32, trainable, scope = "blocks.0", nn.unit = "blocks.0"}
nn.parameter @norm : tensor<4xf32> {initializer = "g", file = "", offset = 0 : i64, length = 16 : i64, stored_type = f32, trainable}
// BF16: nn.parameter @frequencies : tensor<4xf32>
nn.parameter @frequencies : tensor<4xf32> {initializer = "f", file = "", offset = 0 : i64, length = 16 : i64, stored_type = f32}

// A value that several ops read in bf16 is cast once, and its views are repeated rather than cast; a sum of a bf16 and a float32
// value is bf16.
// BF16-LABEL: func.func @casts_a_value_once(
// BF16-SAME: %[[X:[^ ]*]]: tensor<2x2xf32>
// BF16: %[[XH:.*]] = nn.cast %[[X]]
// BF16-NOT: nn.cast
// BF16: %[[V:.*]] = nn.reshape %[[XH]] : (tensor<2x2xbf16>) -> tensor<4xbf16>
// BF16: %[[P:.*]] = nn.linear %[[V]]
// BF16: nn.add %[[V]], %[[P]] : tensor<4xbf16>
// A float32 result for the caller.
// BF16: %[[S:.*]] = nn.sigmoid
// BF16: %[[W:.*]] = nn.cast %[[S]] : (tensor<4xbf16>) -> tensor<4xf32>
// BF16: return %[[W]]
func.func @casts_a_value_once(%x: tensor<2x2xf32>) -> tensor<4xf32> {
  %w = nn.get_parameter @blocks.0.up : tensor<4x4xf32>
  %v = nn.reshape %x : (tensor<2x2xf32>) -> tensor<4xf32>
  %p = nn.linear %v, %w : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
  %s = nn.add %v, %p : tensor<4xf32>
  %t = nn.sigmoid %s : tensor<4xf32>
  return %t : tensor<4xf32>
}

// What comes from integers, constants and buffers alone is float32 until it meets the rest, and rope reads it as it is.
// BF16-LABEL: func.func @positions_are_float32(
// BF16: %[[I:.*]] = nn.cast %{{.*}} : (tensor<1x3x4xi64>) -> tensor<1x3x4xf32>
// BF16: %[[A:.*]] = nn.mul {{.*}} : tensor<1x3x4xf32>
// BF16: %[[C:.*]] = nn.cos %[[A]] : tensor<1x3x4xf32>
// BF16: nn.rope %{{.*}}, %[[C]], {{.*}} : (tensor<2x3x1x4xbf16>, tensor<1x3x4xf32>, tensor<1x3x4xf32>) -> tensor<2x3x1x4xbf16>
func.func @positions_are_float32(%x: tensor<2x3x1x4xf32>, %i: tensor<1x3x4xi64>) -> tensor<2x3x1x4xf32> {
  %w = nn.get_parameter @blocks.0.up : tensor<4x4xf32>
  %y = nn.linear %x, %w : (tensor<2x3x1x4xf32>, tensor<4x4xf32>) -> tensor<2x3x1x4xf32>
  %f = nn.get_parameter @frequencies : tensor<4xf32>
  %f1 = nn.reshape %f : (tensor<4xf32>) -> tensor<1x1x4xf32>
  %f2 = nn.broadcast %f1 : (tensor<1x1x4xf32>) -> tensor<1x3x4xf32>
  %p = nn.cast %i : (tensor<1x3x4xi64>) -> tensor<1x3x4xf32>
  %a = nn.mul %p, %f2 : tensor<1x3x4xf32>
  %c = nn.cos %a : tensor<1x3x4xf32>
  %s = nn.sin %a : tensor<1x3x4xf32>
  %r = nn.rope %y, %c, %s : (tensor<2x3x1x4xf32>, tensor<1x3x4xf32>, tensor<1x3x4xf32>) -> tensor<2x3x1x4xf32>
  return %r : tensor<2x3x1x4xf32>
}

// The float32 result of a kept norm reaches a kept norm as it is, and a product rounded once, by one cast.
// BF16-LABEL: func.func @a_kept_value_passes_no_16_bits(
// BF16: %[[N:.*]], %{{.*}} = nn.rms_norm {{.*}} -> (tensor<2x4xf32>
// BF16-NEXT: %[[H:.*]] = nn.cast %[[N]] : (tensor<2x4xf32>) -> tensor<2x4xbf16>
// BF16-NOT: nn.cast
// BF16: nn.rms_norm %[[N]]
// BF16: nn.linear %[[H]]
func.func @a_kept_value_passes_no_16_bits(%ids: tensor<2xi64>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %w = nn.get_parameter @blocks.0.up : tensor<4x4xf32>
  %g = nn.get_parameter @norm : tensor<4xf32>
  %x = nn.embedding %w, %ids : (tensor<4x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %n, %r = nn.rms_norm %x, %g {epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>)
  %m, %q = nn.rms_norm %n, %g {epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>)
  %p = nn.linear %n, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %o = nn.linear %m, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %p, %o : tensor<2x4xf32>, tensor<2x4xf32>
}

// The whole head of a loss of plain ops is float32: from the product on.
// BF16-LABEL: func.func @keeps_the_loss(
// BF16: %[[Y:.*]] = nn.linear {{.*}} -> tensor<2x4xbf16>
// BF16: %[[YF:.*]] = nn.cast %[[Y]] : (tensor<2x4xbf16>) -> tensor<2x4xf32>
// BF16-NOT: bf16
// BF16: return
// NOTHING-LABEL: func.func @keeps_the_loss(
// NOTHING: nn.sub {{.*}} : tensor<2x4xbf16>
func.func @keeps_the_loss(%x: tensor<2x4xf32>, %target: tensor<2x4xf32> {nn.role = "labels"}, %scale: tensor<f32> {nn.role = "loss_scale"}) -> tensor<f32> {
  %w = nn.get_parameter @blocks.0.up : tensor<4x4xf32>
  %y = nn.linear %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %d = nn.sub %y, %target : tensor<2x4xf32>
  %q = nn.mul %d, %d : tensor<2x4xf32>
  %s = nn.reduce_sum %q [0, 1] : (tensor<2x4xf32>) -> tensor<1x1xf32>
  %t = nn.reshape %s : (tensor<1x1xf32>) -> tensor<f32>
  %loss = nn.mul %t, %scale : tensor<f32>
  return %loss : tensor<f32>
}

// The fused loss reads its scale in float32; a bf16 softmax that float32 reads is rounded first, as its type says.
// BF16-LABEL: func.func @types_are_kept(
// BF16-SAME: %[[S:[^ ]*]]: tensor<f32>
// BF16-NOT: nn.cast %[[S]]
// BF16: nn.linear_cross_entropy %{{.*}}, %{{.*}} labels %{{.*}}, %[[S]] {{.*}} : (tensor<2x4xbf16>, tensor<4x4xbf16>, tensor<2xi64>, tensor<f32>) -> tensor<f32>
// NOTHING-LABEL: func.func @types_are_kept(
// NOTHING: nn.softmax %{{.*}} : tensor<2x4xbf16>
func.func @types_are_kept(%x: tensor<2x4xf32>, %labels: tensor<2xi64>, %s: tensor<f32>) -> (tensor<f32>, tensor<2x4xf32>) {
  %w = nn.get_parameter @blocks.0.up : tensor<4x4xf32>
  %y = nn.linear %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %p = nn.softmax %y : tensor<2x4xf32>
  %loss = nn.linear_cross_entropy %y, %w labels %labels, %s {ignore_index = -100 : i64, shift = 0 : i64}
    : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<2xi64>, tensor<f32>) -> tensor<f32>
  return %loss, %p : tensor<f32>, tensor<2x4xf32>
}

// A mask's constant stays finite, and softmax rounds once to what the product reads.
// F16-LABEL: func.func @masks_stay_finite(
// F16: dense<-6.550400e+04> : tensor<2x4xf16>
// F16: nn.softmax %{{.*}} : tensor<2x4xf16>
func.func @masks_stay_finite(%x: tensor<2x4xf32>, %seen: tensor<2x4xi1>) -> tensor<2x4xf32> {
  %w = nn.get_parameter @blocks.0.up : tensor<4x4xf32>
  %y = nn.linear %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %no = nn.constant dense<-3.40282347E+38> : tensor<2x4xf32>
  %m = nn.select %seen, %y, %no : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %p = nn.softmax %m : tensor<2x4xf32>
  %z = nn.linear %p, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %z : tensor<2x4xf32>
}

// Parts of one operator compute in float32: its operand is cast once, its result rounded once, for a norm too. The square root of
// another operator is in 16 bits, and a sum rounds its result itself.
// BF16-LABEL: func.func @parts_of_an_operator(
// BF16: %[[Y:.*]] = nn.linear {{.*}} -> tensor<2x4xbf16>
// BF16: %[[X:.*]] = nn.cast %[[Y]] : (tensor<2x4xbf16>) -> tensor<2x4xf32>
// BF16-NEXT: %[[Q:.*]] = nn.mul %[[X]], %[[X]] : tensor<2x4xf32>
// BF16-NEXT: %[[S:.*]] = nn.reduce_sum %[[Q]] [1] : (tensor<2x4xf32>) -> tensor<2x1xf32>
// BF16-NEXT: %[[R:.*]] = nn.sqrt %[[S]] : tensor<2x1xf32>
// BF16-NEXT: %[[B:.*]] = nn.broadcast %[[R]] : (tensor<2x1xf32>) -> tensor<2x4xf32>
// BF16-NEXT: %[[D:.*]] = nn.div %[[X]], %[[B]] : tensor<2x4xf32>
// BF16-NEXT: %[[DH:.*]] = nn.cast %[[D]] : (tensor<2x4xf32>) -> tensor<2x4xbf16>
// BF16-NEXT: nn.rms_norm %[[DH]]
// BF16: nn.sqrt %[[DH]] : tensor<2x4xbf16>
// BF16: nn.reduce_sum %{{.*}} [1] : (tensor<2x4xf32>) -> tensor<2x1xbf16>
// NOTHING-LABEL: func.func @parts_of_an_operator(
// NOTHING: nn.div {{.*}} : tensor<2x4xf32>
// F64-LABEL: func.func @parts_of_an_operator(
// F64-NOT: nn.unrounded
// F64: return
func.func @parts_of_an_operator(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>) {
  %w = nn.get_parameter @blocks.0.up : tensor<4x4xf32>
  %g = nn.get_parameter @norm : tensor<4xf32>
  %y = nn.linear %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %q = nn.mul %y, %y {nn.unrounded} : tensor<2x4xf32>
  %s = nn.reduce_sum %q [1] {nn.unrounded} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %r = nn.sqrt %s {nn.unrounded} : tensor<2x1xf32>
  %b = nn.broadcast %r : (tensor<2x1xf32>) -> tensor<2x4xf32>
  %d = nn.div %y, %b : tensor<2x4xf32>
  %n, %m = nn.rms_norm %d, %g {epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>)
  %t = nn.sqrt %d : tensor<2x4xf32>
  %u = nn.add %n, %t : tensor<2x4xf32>
  %z = nn.linear %u, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %p = nn.mul %z, %z {nn.unrounded} : tensor<2x4xf32>
  %v = nn.reduce_sum %p [1] : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %o = nn.linear %z, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %e = nn.exp %v : tensor<2x1xf32>
  return %o, %e : tensor<2x4xf32>, tensor<2x1xf32>
}
