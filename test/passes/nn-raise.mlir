// RUN: shardc-opt %s -nn-raise | FileCheck %s
nn.parameter @wq : tensor<64x64xf32> {initializer="a", file="", offset=0:i64, length=16384:i64, stored_type=f32, trainable}
nn.parameter @wk : tensor<32x64xf32> {initializer="b", file="", offset=0:i64, length=8192:i64, stored_type=f32, trainable}
nn.parameter @wv : tensor<32x64xf32> {initializer="b", file="", offset=0:i64, length=8192:i64, stored_type=f32, trainable}
nn.parameter @g : tensor<64xf32> {initializer="b", file="", offset=0:i64, length=256:i64, stored_type=f32, trainable}
nn.parameter @cos : tensor<128x16xf32> {initializer="b", file="", offset=0:i64, length=8192:i64, stored_type=f32}
nn.parameter @sin : tensor<128x16xf32> {initializer="b", file="", offset=0:i64, length=8192:i64, stored_type=f32}
// CHECK-LABEL: func.func @raises_an_attention_block_of_grouped_heads
// CHECK: nn.rms_norm {{.*}}epsilon = 1.000000e-05
// CHECK: nn.linear {{.*}} {transpose_weight}
// CHECK: nn.linear
// CHECK: nn.linear
// CHECK: %[[Q:.*]] = nn.rope {{.*}}tensor<2x8x4x16xf32>
// CHECK: %[[K:.*]] = nn.reshape {{.*}} -> tensor<2x8x2x16xf32>
// CHECK: %[[V:.*]] = nn.reshape {{.*}} -> tensor<2x8x2x16xf32>
// CHECK: nn.attention %[[Q]], %[[K]], %[[V]] bias %arg1 {scale = 2.500000e-01 : f64}
// CHECK-NEXT: nn.reshape
// CHECK-NEXT: nn.linear
// CHECK-NEXT: nn.add
// CHECK-NEXT: return
func.func @raises_an_attention_block_of_grouped_heads(%x: tensor<2x8x64xf32> {nn.name="x"}, %mask: tensor<2x1x8x8xf32> {nn.name="mask"}) -> (tensor<2x8x64xf32> {nn.name="o"}) {
  %two = nn.constant dense<2.0> : tensor<2x8x64xf32>
  %p = nn.pow %x, %two : tensor<2x8x64xf32>
  %m = nn.reduce_mean %p [2] : (tensor<2x8x64xf32>) -> tensor<2x8x1xf32>
  %eps = nn.constant dense<9.999999747378752e-06> : tensor<2x8x1xf32>
  %me = nn.add %m, %eps : tensor<2x8x1xf32>
  %s = nn.sqrt %me : tensor<2x8x1xf32>
  %r = nn.reciprocal %s : tensor<2x8x1xf32>
  %rb = nn.broadcast %r : (tensor<2x8x1xf32>) -> tensor<2x8x64xf32>
  %n = nn.mul %x, %rb : tensor<2x8x64xf32>
  %g0 = nn.get_parameter @g : tensor<64xf32>
  %g1 = nn.reshape %g0 : (tensor<64xf32>) -> tensor<1x1x64xf32>
  %g2 = nn.broadcast %g1 : (tensor<1x1x64xf32>) -> tensor<2x8x64xf32>
  %h = nn.mul %n, %g2 : tensor<2x8x64xf32>
  %wq = nn.get_parameter @wq : tensor<64x64xf32>
  %wqt = nn.transpose %wq [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %wq1 = nn.reshape %wqt : (tensor<64x64xf32>) -> tensor<1x64x64xf32>
  %wq2 = nn.broadcast %wq1 : (tensor<1x64x64xf32>) -> tensor<2x64x64xf32>
  %q = nn.matmul %h, %wq2 : (tensor<2x8x64xf32>, tensor<2x64x64xf32>) -> tensor<2x8x64xf32>
  %wk = nn.get_parameter @wk : tensor<32x64xf32>
  %wkt = nn.transpose %wk [1, 0] : (tensor<32x64xf32>) -> tensor<64x32xf32>
  %wk1 = nn.reshape %wkt : (tensor<64x32xf32>) -> tensor<1x64x32xf32>
  %wk2 = nn.broadcast %wk1 : (tensor<1x64x32xf32>) -> tensor<2x64x32xf32>
  %k = nn.matmul %h, %wk2 : (tensor<2x8x64xf32>, tensor<2x64x32xf32>) -> tensor<2x8x32xf32>
  %wv = nn.get_parameter @wv : tensor<32x64xf32>
  %wvt = nn.transpose %wv [1, 0] : (tensor<32x64xf32>) -> tensor<64x32xf32>
  %wv1 = nn.reshape %wvt : (tensor<64x32xf32>) -> tensor<1x64x32xf32>
  %wv2 = nn.broadcast %wv1 : (tensor<1x64x32xf32>) -> tensor<2x64x32xf32>
  %v = nn.matmul %h, %wv2 : (tensor<2x8x64xf32>, tensor<2x64x32xf32>) -> tensor<2x8x32xf32>
  %q4 = nn.reshape %q : (tensor<2x8x64xf32>) -> tensor<2x8x4x16xf32>
  %qt = nn.transpose %q4 [0, 2, 1, 3] : (tensor<2x8x4x16xf32>) -> tensor<2x4x8x16xf32>
  %k4 = nn.reshape %k : (tensor<2x8x32xf32>) -> tensor<2x8x2x16xf32>
  %kt = nn.transpose %k4 [0, 2, 1, 3] : (tensor<2x8x2x16xf32>) -> tensor<2x2x8x16xf32>
  %v4 = nn.reshape %v : (tensor<2x8x32xf32>) -> tensor<2x8x2x16xf32>
  %vt = nn.transpose %v4 [0, 2, 1, 3] : (tensor<2x8x2x16xf32>) -> tensor<2x2x8x16xf32>
  // rope on q
  %cos = nn.get_parameter @cos : tensor<128x16xf32>
  %sin = nn.get_parameter @sin : tensor<128x16xf32>
  %cs = nn.slice %cos [0, 0] to [8, 16] by [1, 1] : (tensor<128x16xf32>) -> tensor<8x16xf32>
  %ss = nn.slice %sin [0, 0] to [8, 16] by [1, 1] : (tensor<128x16xf32>) -> tensor<8x16xf32>
  %cs1 = nn.reshape %cs : (tensor<8x16xf32>) -> tensor<1x1x8x16xf32>
  %ss1 = nn.reshape %ss : (tensor<8x16xf32>) -> tensor<1x1x8x16xf32>
  %csb = nn.broadcast %cs1 : (tensor<1x1x8x16xf32>) -> tensor<2x4x8x16xf32>
  %ssb = nn.broadcast %ss1 : (tensor<1x1x8x16xf32>) -> tensor<2x4x8x16xf32>
  %qa = nn.mul %qt, %csb : tensor<2x4x8x16xf32>
  %qs0 = nn.slice %qt [0, 0, 0, 0] to [2, 4, 8, 8] by [1, 1, 1, 1] : (tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %qs1 = nn.slice %qt [0, 0, 0, 8] to [2, 4, 8, 16] by [1, 1, 1, 1] : (tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %qn = nn.neg %qs1 : tensor<2x4x8x8xf32>
  %qc = nn.concat %qn, %qs0 {axis = 3 : i64} : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x16xf32>
  %qb = nn.mul %qc, %ssb : tensor<2x4x8x16xf32>
  %qr = nn.add %qa, %qb : tensor<2x4x8x16xf32>
  // repeat kv
  %k5 = nn.reshape %kt : (tensor<2x2x8x16xf32>) -> tensor<2x2x1x8x16xf32>
  %k6 = nn.broadcast %k5 : (tensor<2x2x1x8x16xf32>) -> tensor<2x2x2x8x16xf32>
  %k7 = nn.reshape %k6 : (tensor<2x2x2x8x16xf32>) -> tensor<2x4x8x16xf32>
  %v5 = nn.reshape %vt : (tensor<2x2x8x16xf32>) -> tensor<2x2x1x8x16xf32>
  %v6 = nn.broadcast %v5 : (tensor<2x2x1x8x16xf32>) -> tensor<2x2x2x8x16xf32>
  %v7 = nn.reshape %v6 : (tensor<2x2x2x8x16xf32>) -> tensor<2x4x8x16xf32>
  %k8 = nn.reshape %k7 : (tensor<2x4x8x16xf32>) -> tensor<8x8x16xf32>
  %k9 = nn.transpose %k8 [0, 2, 1] : (tensor<8x8x16xf32>) -> tensor<8x16x8xf32>
  %k10 = nn.reshape %k9 : (tensor<8x16x8xf32>) -> tensor<2x4x16x8xf32>
  %half = nn.constant dense<0.5> : tensor<2x4x8x16xf32>
  %halfk = nn.constant dense<0.5> : tensor<2x4x16x8xf32>
  %qh = nn.mul %qr, %half : tensor<2x4x8x16xf32>
  %kh = nn.mul %k10, %halfk : tensor<2x4x16x8xf32>
  %sc = nn.matmul %qh, %kh : (tensor<2x4x8x16xf32>, tensor<2x4x16x8xf32>) -> tensor<2x4x8x8xf32>
  %mb = nn.broadcast %mask : (tensor<2x1x8x8xf32>) -> tensor<2x4x8x8xf32>
  %sm = nn.add %sc, %mb : tensor<2x4x8x8xf32>
  %sf = nn.softmax %sm : tensor<2x4x8x8xf32>
  %o = nn.matmul %sf, %v7 : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  %ot = nn.transpose %o [0, 2, 1, 3] : (tensor<2x4x8x16xf32>) -> tensor<2x8x4x16xf32>
  %or = nn.reshape %ot : (tensor<2x8x4x16xf32>) -> tensor<2x8x64xf32>
  %y = nn.matmul %or, %wq2 : (tensor<2x8x64xf32>, tensor<2x64x64xf32>) -> tensor<2x8x64xf32>
  %z = nn.add %x, %y : tensor<2x8x64xf32>
  return %z : tensor<2x8x64xf32>
}
