// One kernel of each kind as gpu.func, and the PTX of it, with accesses of 16 bytes, shuffles, hardware conversions of 16-bit floats, no memory
// of threads' own.
// RUN: shardc-opt %s -step-outline-kernels -step-gpu-kernels | FileCheck %s
// RUN: shardc-opt %s -step-outline-kernels -step-gpu-kernels=ptx=true -o /dev/null | FileCheck %s --check-prefix=PTX --implicit-check-not=.local
// RUN: shardc-opt %s -step-outline-kernels -step-gpu-kernels="ptx=true chip=sm_80" -o /dev/null | FileCheck %s --check-prefix=SM80 --implicit-check-not=.local
// RUN: not shardc-opt %s -step-outline-kernels -step-gpu-kernels=chip=sm_12 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not shardc-opt %s -step-gpu-kernels 2>&1 | FileCheck %s --check-prefix=EARLY
// CHIP: unknown GPU 'sm_12'; expects sm_80, sm_90 or sm_100
// EARLY: expects a module @kernels; run step-outline-kernels first
// SM80: .target sm_80

// CHECK: gpu.module @gpu_kernels

// A loop: a thread has four elements, and positions are 32-bit. The result may lie where an argument does.
// CHECK-LABEL: gpu.func @silu_mul_
// CHECK-NOT: llvm.noalias
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 32, 1, 1>
// CHECK-SAME: step.kind = "loop"
// CHECK: gpu.thread_id x
// CHECK: arith.index_cast {{.*}} : index to i32
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: math.exp2 %{{.*}} fastmath<afn> : vector<4xf32>
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
// PTX-LABEL: .visible .entry silu_mul_
// PTX: .maxntid 256
// PTX: ld.global.v4.b32
// PTX: ex2.approx.f32
// PTX: rcp.rn.f32
// PTX: st.global.v4.b32
func.func @loop(%x: tensor<64x512xf32>, %y: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %0 = nn.silu %x : tensor<64x512xf32>
  %1 = nn.mul %0, %y : tensor<64x512xf32>
  return %1 : tensor<64x512xf32>
}

// A row of a warp: six vectors of each thread are loaded once, and the sum is five shuffles; no shared memory.
// CHECK-LABEL: gpu.func @rms_norm_{{[0-9a-f]+}}(
// CHECK-SAME: !llvm.ptr {llvm.align = 16 : i64}, %{{[a-z0-9]+}}: !llvm.ptr {llvm.align = 16 : i64, llvm.noalias}, %{{[a-z0-9]+}}: !llvm.ptr {llvm.align = 16 : i64}
// CHECK-NOT: workgroup
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 2, 1, 1>
// CHECK-SAME: step.kind = "row"
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK-NOT: gpu.barrier
// PTX-LABEL: .visible .entry rms_norm_
// PTX-COUNT-6: ld.global.v4.b32
// PTX-COUNT-5: shfl.sync.bfly.b32
// PTX: sqrt.rn.f32
func.func @row(%x: tensor<8x768xf32>, %g: tensor<768xf32>) -> (tensor<8x768xf32>, tensor<8x1xf32>) {
  %y, %s = nn.rms_norm %x, %g {epsilon = 1.0e-5 : f64} : (tensor<8x768xf32>, tensor<768xf32>) -> (tensor<8x768xf32>, tensor<8x1xf32>)
  return %y, %s : tensor<8x768xf32>, tensor<8x1xf32>
}

// A row of a block: a slot of shared memory per warp and one barrier for each of the two reductions.
// CHECK-LABEL: gpu.func @softmax_
// CHECK-SAME: workgroup(%{{.*}} : memref<8xf32, #gpu.address_space<workgroup>>, %{{.*}} : memref<8xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 8, 1, 1>
// CHECK: gpu.barrier
// CHECK: gpu.barrier
// CHECK-NOT: gpu.barrier
// PTX-LABEL: .visible .entry softmax_
// PTX: st.shared.b32
// PTX: bar{{(rier)?}}.sync
func.func @block(%x: tensor<8x4096xf32>) -> tensor<8x4096xf32> {
  %0 = nn.softmax %x : tensor<8x4096xf32>
  return %0 : tensor<8x4096xf32>
}

// Columns: the threads of a block share the rows of a few columns; the sums become one by shuffles and shared memory, without atomics.
// CHECK-LABEL: gpu.func @reduce_sum_
// CHECK-SAME: step.kind = "column"
// CHECK: scf.for
// CHECK: gpu.shuffle xor
// CHECK: gpu.barrier
// CHECK-NOT: atomic
// PTX-LABEL: .visible .entry reduce_sum_
// PTX: ld.global.nc
// PTX-NOT: atom.
// PTX-NOT: red.
// PTX: st.shared
func.func @column(%d: tensor<1024x768xf32>) -> tensor<1x768xf32> {
  %0 = nn.reduce_sum %d [0] : (tensor<1024x768xf32>) -> tensor<1x768xf32>
  return %0 : tensor<1x768xf32>
}

// Indexed: the halves of a head change places, and a vector never lies in both.
// CHECK-LABEL: gpu.func @rope_
// CHECK: scf.if
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// PTX-LABEL: .visible .entry rope_
// PTX: ld.global.nc.v4.b32
// PTX: st.global.v4.b32
func.func @indexed(%x: tensor<2x16x8x64xf32>, %c: tensor<1x16x64xf32>, %s: tensor<1x16x64xf32>) -> tensor<2x16x8x64xf32> {
  %0 = nn.rope %x, %c, %s : (tensor<2x16x8x64xf32>, tensor<1x16x64xf32>, tensor<1x16x64xf32>) -> tensor<2x16x8x64xf32>
  return %0 : tensor<2x16x8x64xf32>
}

// bfloat16 is storage: eight elements an access, computed in float32, rounded once by the hardware. (Where rounding twice is
// rounding once, as for one addition, LLVM takes bfloat16's own.)
// CHECK-LABEL: gpu.func @silu_add_
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<8xi16>
// CHECK: arith.extf %{{.*}} : vector<8xbf16> to vector<8xf32>
// CHECK: arith.truncf %{{.*}} : vector<8xf32> to vector<8xbf16>
// PTX-LABEL: .visible .entry silu_add_
// PTX: ld.global.v4.b32
// PTX: cvt.rn.bf16
// PTX: st.global.v4.b32
func.func @bfloats(%x: tensor<64x256xbf16>, %y: tensor<64x256xbf16>) -> tensor<64x256xbf16> {
  %0 = nn.silu %x : tensor<64x256xbf16>
  %1 = nn.add %0, %y : tensor<64x256xbf16>
  return %1 : tensor<64x256xbf16>
}

// CHECK-LABEL: gpu.func @sub_
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<2xf64>
// PTX-LABEL: .visible .entry sub_
// PTX: ld.global.v2.b64
// PTX: .rn.f64
func.func @doubles(%x: tensor<64x256xf64>, %y: tensor<64x256xf64>) -> tensor<64x256xf64> {
  %0 = nn.sub %x, %y : tensor<64x256xf64>
  return %0 : tensor<64x256xf64>
}
