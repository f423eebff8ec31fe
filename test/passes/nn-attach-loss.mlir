// RUN: split-file %s %t
// RUN: shardc-opt %t/logits.mlir -nn-attach-loss="loss=cross-entropy:logits=logits,labels=labels,shift=1" | FileCheck %t/logits.mlir
// RUN: shardc-opt %t/logits.mlir -nn-attach-loss="loss=mse:output=logits,target=y" | FileCheck %t/logits.mlir --check-prefix=MSE
// RUN: shardc-opt %t/logits.mlir -nn-attach-loss="accuracy loss=cross-entropy:logits=logits,labels=labels,shift=1" | FileCheck %s --check-prefix=ACCURACY
// RUN: shardc-opt %t/logits.mlir -nn-attach-loss="outputs=logits loss=cross-entropy:logits=logits,labels=labels,shift=1" | FileCheck %s --check-prefix=OUTPUTS
// RUN: not shardc-opt %t/logits.mlir -nn-attach-loss="outputs=logit loss=cross-entropy:logits=logits,labels=labels,shift=1" 2>&1 | FileCheck %s --check-prefix=NO-OUTPUT
// RUN: shardc-opt %t/logits.mlir -nn-attach-loss="loss=soft-cross-entropy:logits=logits,target=y" | FileCheck %t/logits.mlir --check-prefix=SOFT
// RUN: shardc-opt %t/logits.mlir -nn-attach-loss="loss=cross-entropy:logits=logits,labels=y,label-smoothing=0.1" | FileCheck %t/logits.mlir --check-prefix=SMOOTHED
// RUN: shardc-opt %t/weighted.mlir -nn-attach-loss="loss=cross-entropy:logits=logits,labels=y,class-weights=0.5:2:1" | FileCheck %t/weighted.mlir
// RUN: not shardc-opt %t/logits.mlir -nn-attach-loss="loss=huber:output=logits,target=y,delta=0" 2>&1 | FileCheck %s --check-prefix=NO-DELTA
// RUN: not shardc-opt %t/logits.mlir -nn-attach-loss="accuracy loss=mse:output=logits,target=y" 2>&1 | FileCheck %s --check-prefix=NO-ACCURACY
// RUN: shardc-opt %t/capped.mlir -nn-attach-loss="loss=cross-entropy:logits=logits,labels=labels" | FileCheck %t/capped.mlir
// RUN: shardc-opt %t/scaled.mlir -nn-attach-loss="loss=cross-entropy:logits=logits,labels=labels" | FileCheck %t/scaled.mlir
// RUN: shardc-opt %t/scalar.mlir -nn-attach-loss | FileCheck %t/scalar.mlir
// RUN: shardc-opt %t/mean.mlir -nn-attach-loss="loss=output:loss" 2>%t/warnings | FileCheck %t/mean.mlir
// RUN: FileCheck %t/mean.mlir --check-prefix=WARN <%t/warnings
// RUN: shardc-opt %t/shifted.mlir -nn-attach-loss | FileCheck %t/shifted.mlir
// RUN: shardc-opt %t/sum.mlir -nn-attach-loss | FileCheck %t/sum.mlir
// RUN: shardc-opt %t/divided.mlir -nn-attach-loss 2>%t/warnings | FileCheck %t/divided.mlir
// RUN: not test -s %t/warnings
// RUN: shardc-opt %t/computed.mlir -nn-attach-loss 2>%t/warnings | FileCheck %t/computed.mlir
// RUN: FileCheck %t/computed.mlir --check-prefix=COMPUTED <%t/warnings
// RUN: shardc-opt %t/probabilities.mlir -nn-attach-loss="loss=cross-entropy:logits=softmax,labels=labels" 2>&1 | FileCheck %s --check-prefix=SOFTMAX
// RUN: shardc-opt %t/probabilities.mlir -nn-attach-loss="loss=binary-cross-entropy:logits=sigmoid,target=t" 2>&1 | FileCheck %s --check-prefix=SIGMOID
// RUN: shardc-opt %t/probabilities.mlir -nn-attach-loss="loss=mse:output=sigmoid,target=t" 2>&1 | FileCheck %s --check-prefix=LOGITS
// RUN: shardc-opt %t/probabilities.mlir -nn-attach-loss="loss=cross-entropy:logits=log,labels=labels" 2>&1 | FileCheck %s --check-prefix=LOGITS
// RUN: not shardc-opt %t/logits.mlir -nn-attach-loss 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not shardc-opt %t/two-outputs.mlir -nn-attach-loss 2>&1 | FileCheck %s --check-prefix=WHICH
// RUN: not shardc-opt %t/one-class.mlir -nn-attach-loss="loss=cross-entropy:logits=logits,labels=labels" 2>&1 | FileCheck %s --check-prefix=ONE-CLASS
// RUN: not shardc-opt %t/logits.mlir -nn-attach-loss="loss=cross-entropy:logits=logit,labels=labels" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not shardc-opt %t/logits.mlir -nn-attach-loss="loss=cross-entropy:logits=logits" 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not shardc-opt %t/logits.mlir -nn-attach-loss="loss=hinge:logits=logits" 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not shardc-opt %t/logits.mlir -nn-attach-loss="loss=cross-entropy:logits=logits,labels=labels,shift=8" 2>&1 | FileCheck %s --check-prefix=SHIFT
// RUN: not shardc-opt %t/logits.mlir -nn-attach-loss="loss=cross-entropy:logits=logits,labels=x" 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not shardc-opt %t/logits.mlir -nn-attach-loss="loss=output:logits" 2>&1 | FileCheck %s --check-prefix=SCALAR

// ACCURACY: module attributes {{{.*}}nn.accuracy
// NO-DELTA: error: --loss: expects delta to be a number above 0, got '0'; accepted are
// NO-ACCURACY: error: --metric accuracy: expects the loss to be a cross entropy of labels that are an input, got mse:output=logits,target=y
// OUTPUTS: -> (tensor<f32> {nn.name = "loss"}, tensor<{{.*}}xf32> {nn.name = "logits"})
// OUTPUTS: return %{{.*}}, %{{.*}} : tensor<f32>, tensor<
// SOFTMAX: warning: --loss: output 'softmax' is what a Softmax gives, and the loss applies one to it again: it takes logits
// SIGMOID: warning: --loss: output 'sigmoid' is what a Sigmoid gives, and the loss applies one to it again: it takes logits
// LOGITS-NOT: warning: --loss
// NO-OUTPUT: error: --output-values: no output 'logit'; outputs are logits, hidden
// NONE: error: the model has no loss of its own (outputs: logits, hidden); say --loss cross-entropy:logits=NAME,labels=NAME
// WHICH: error: the model has several outputs (energy, logits), and which is the loss is not said; say --loss output:energy
// ONE-CLASS: error: --loss: expects logits 'logits' to have a last dim of 2 classes or more, got 'tensor<4x1xf32>': a cross entropy of one class is always 0; for a regression say --loss mse:output=logits,target=NAME
// UNKNOWN: error: --loss: no output 'logit'; outputs are logits, hidden
// MISSING: error: --loss: cross-entropy needs labels=NAME; accepted are
// KIND: error: --loss: unknown kind 'hinge'; accepted are
// SHIFT: error: --loss: shift=8 needs a sequence dim longer than that
// TYPE: error: --loss: expects input 'x' to be 'tensor<2x8xi64>', got 'tensor<2x8x16xf32>'
// SCALAR: error: --loss: expects output 'logits' to be one number, got 'tensor<2x8x32xf32>'

//--- logits.mlir
nn.parameter @head : tensor<32x16xf32> {initializer = "head", file = "", offset = 0 : i64, length = 2048 : i64, stored_type = f32, trainable}
// CHECK: nn.loss = {classes = 32 : i64, elements = 16 : i64, ignore_index = -100 : i64, kind = "cross_entropy", labels = "labels", reduction = "mean", shift = 1 : i64}
// CHECK: func.func @model(%[[X:[a-z0-9_]+]]: tensor<2x8x16xf32> {nn.name = "x", nn.role = "input"}, %[[L:[a-z0-9_]+]]: tensor<2x8xi64> {nn.name = "labels", nn.role = "labels"}, %[[S:[a-z0-9_]+]]: tensor<f32> {nn.name = "loss_scale", nn.role = "loss_scale"}) -> (tensor<f32> {nn.name = "loss"})
// The second output and its tanh are gone, the head is fused.
// CHECK-NOT: nn.tanh
// CHECK: %[[LOSS:[a-z0-9_]+]] = nn.linear_cross_entropy %[[X]], %{{.*}} labels %[[L]], %[[S]] {ignore_index = -100 : i64, shift = 1 : i64, transpose_weight}
// CHECK: return %[[LOSS]]

// SOFT: nn.loss = {classes = 0 : i64, elements = 16 : i64, {{.*}}kind = "soft_cross_entropy", labels = "y"
// SOFT: nn.log_softmax
// SMOOTHED: nn.linear_cross_entropy {{.*}} smoothing = 1.000000e-01
// MSE: nn.loss = {classes = 0 : i64, elements = 512 : i64, {{.*}}kind = "mse", labels = "y"
// MSE: %[[Y:[a-z0-9_]+]]: tensor<2x8x32xf32> {nn.name = "y", nn.role = "labels"}, %[[S:[a-z0-9_]+]]: tensor<f32>
// MSE: %[[D:[a-z0-9_]+]] = nn.sub %{{.*}}, %[[Y]]
// MSE: %[[Q:[a-z0-9_]+]] = nn.mul %[[D]], %[[D]]
// MSE: nn.reduce_sum %[[Q]] [0, 1, 2]
// MSE: nn.mul %{{.*}}, %[[S]] : tensor<f32>
func.func @model(%x: tensor<2x8x16xf32> {nn.name = "x", nn.role = "input"})
    -> (tensor<2x8x32xf32> {nn.name = "logits"}, tensor<2x8x16xf32> {nn.name = "hidden"}) {
  %w = nn.get_parameter @head : tensor<32x16xf32>
  %y = nn.linear %x, %w {transpose_weight} : (tensor<2x8x16xf32>, tensor<32x16xf32>) -> tensor<2x8x32xf32>
  %h = nn.tanh %x : tensor<2x8x16xf32>
  return %y, %h : tensor<2x8x32xf32>, tensor<2x8x16xf32>
}

//--- capped.mlir
// Gemma 2's logits.
nn.parameter @head : tensor<32x16xf32> {initializer = "head", file = "", offset = 0 : i64, length = 2048 : i64, stored_type = f32, trainable}
// CHECK: nn.linear_cross_entropy %arg0, %{{.*}} labels %arg1, %arg2 {ignore_index = -100 : i64, shift = 0 : i64, softcap = 3.000000e+01 : f64, transpose_weight}
// CHECK-NEXT: return
func.func @model(%x: tensor<2x8x16xf32> {nn.name = "x", nn.role = "input"}) -> (tensor<2x8x32xf32> {nn.name = "logits"}) {
  %w = nn.get_parameter @head : tensor<32x16xf32>
  %0 = nn.linear %x, %w {transpose_weight} : (tensor<2x8x16xf32>, tensor<32x16xf32>) -> tensor<2x8x32xf32>
  %1 = nn.constant dense<3.0e+01> : tensor<2x8x32xf32>
  %2 = nn.div %0, %1 : tensor<2x8x32xf32>
  %3 = nn.tanh %2 : tensor<2x8x32xf32>
  %4 = nn.mul %3, %1 : tensor<2x8x32xf32>
  return %4 : tensor<2x8x32xf32>
}

//--- scaled.mlir
// Cohere's and Granite's logits: input and bias are scaled instead.
nn.parameter @head : tensor<32x16xf32> {initializer = "head", file = "", offset = 0 : i64, length = 2048 : i64, stored_type = f32, trainable}
nn.parameter @bias : tensor<32xf32> {initializer = "bias", file = "", offset = 0 : i64, length = 128 : i64, stored_type = f32, trainable}
// CHECK-DAG: %[[X:.*]] = nn.mul %arg0, %{{.*}} : tensor<2x8x16xf32>
// CHECK-DAG: %[[B:.*]] = nn.mul %{{.*}}, %{{.*}} : tensor<32xf32>
// CHECK: nn.linear_cross_entropy %[[X]], %{{.*}} bias %[[B]] labels %arg1, %arg2 {ignore_index = -100 : i64, shift = 0 : i64, transpose_weight}
func.func @model(%x: tensor<2x8x16xf32> {nn.name = "x", nn.role = "input"}) -> (tensor<2x8x32xf32> {nn.name = "logits"}) {
  %w = nn.get_parameter @head : tensor<32x16xf32>
  %b = nn.get_parameter @bias : tensor<32xf32>
  %0 = nn.linear %x, %w, %b {transpose_weight} : (tensor<2x8x16xf32>, tensor<32x16xf32>, tensor<32xf32>) -> tensor<2x8x32xf32>
  %1 = nn.constant dense<6.250000e-02> : tensor<2x8x32xf32>
  %2 = nn.mul %0, %1 : tensor<2x8x32xf32>
  return %2 : tensor<2x8x32xf32>
}

//--- weighted.mlir
// CHECK: nn.loss = {class_weights = array<f64: 5.000000e-01, 2.000000e+00, 1.000000e+00>, classes = 3 : i64
// CHECK: %[[W:.*]] = nn.constant dense<[5.000000e-01, 2.000000e+00, 1.000000e+00]> : tensor<3xf32>
// CHECK: nn.linear_cross_entropy %{{.*}}, %{{.*}} labels %{{.*}}, %{{.*}} class_weights %[[W]] {ignore_index = -100 : i64, shift = 0 : i64}
nn.parameter @head : tensor<16x3xf32> {initializer = "head", file = "", offset = 0 : i64, length = 192 : i64, stored_type = f32, trainable}
func.func @model(%x: tensor<2x16xf32> {nn.name = "x", nn.role = "input"}) -> (tensor<2x3xf32> {nn.name = "logits"}) {
  %w = nn.get_parameter @head : tensor<16x3xf32>
  %0 = nn.linear %x, %w : (tensor<2x16xf32>, tensor<16x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

//--- scalar.mlir
// A scalar that is no cross entropy is averaged over the ranks.
// CHECK: nn.loss = {{.*}}kind = "output", labels = "", reduction = "mean"
// CHECK: %[[X:[a-z0-9_]+]]: tensor<1xf32>{{.*}}, %[[S:[a-z0-9_]+]]: tensor<f32>
// CHECK: %[[R:[a-z0-9_]+]] = nn.reshape %[[X]] : (tensor<1xf32>) -> tensor<f32>
// CHECK: %[[M:[a-z0-9_]+]] = nn.mul %[[R]], %[[S]]
// CHECK: return %[[M]]
func.func @model(%x: tensor<1xf32> {nn.name = "x", nn.role = "input"}) -> (tensor<1xf32> {nn.name = "energy"}) {
  return %x : tensor<1xf32>
}

//--- mean.mlir
// The graph's own mean over valid labels is counted by the run, over the global batch.
// CHECK: nn.loss = {classes = 32 : i64, elements = 8 : i64, ignore_index = -100 : i64, kind = "cross_entropy", labels = "y", reduction = "mean", shift = 0 : i64}
// CHECK: nn.parameter @head
// CHECK-NOT: @unused
// CHECK: func.func @model(%[[X:[a-z0-9_]+]]: tensor<8x16xf32> {{.*}}, %[[L:[a-z0-9_]+]]: tensor<8xi64> {nn.name = "y", nn.role = "labels"}, %[[S:[a-z0-9_]+]]: tensor<f32>
// CHECK-NOT: nn.reciprocal
// CHECK: nn.linear_cross_entropy %[[X]], %{{.*}} labels %[[L]], %[[S]]
// WARN-DAG: warning: input 'z' does not feed the loss and is dropped
// WARN-DAG: warning: parameter 'unused' does not feed the loss and is dropped
nn.parameter @head : tensor<32x16xf32> {initializer = "head", file = "", offset = 0 : i64, length = 2048 : i64, stored_type = f32, trainable}
nn.parameter @unused : tensor<4xf32> {initializer = "unused", file = "", offset = 0 : i64, length = 16 : i64, stored_type = f32, trainable}
func.func @model(%x: tensor<8x16xf32> {nn.name = "x", nn.role = "input"}, %l: tensor<8xi64> {nn.name = "y", nn.role = "input"},
    %z: tensor<8xf32> {nn.name = "z", nn.role = "input"}) -> (tensor<f32> {nn.name = "loss"}) {
  %w = nn.get_parameter @head : tensor<32x16xf32>
  %y = nn.linear %x, %w {transpose_weight} : (tensor<8x16xf32>, tensor<32x16xf32>) -> tensor<8x32xf32>
  %ignored = nn.constant dense<-100> : tensor<8xi64>
  %valid = nn.compare ne %l, %ignored : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi1>
  %ones = nn.cast %valid : (tensor<8xi1>) -> tensor<8xf32>
  %sum = nn.reduce_sum %ones [0] : (tensor<8xf32>) -> tensor<1xf32>
  %count = nn.reshape %sum : (tensor<1xf32>) -> tensor<f32>
  %scale = nn.reciprocal %count : tensor<f32>
  %loss = nn.cross_entropy %y, %l, %scale {ignore_index = -100 : i64, shift = 0 : i64, nn.reduction = "mean"} : (tensor<8x32xf32>, tensor<8xi64>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}

//--- shifted.mlir
// The graph shifts its labels itself: the run must know, to count them.
// CHECK: nn.loss = {{.*}}elements = 8 : i64, {{.*}}labels = "y", reduction = "mean", shift = 1 : i64}
// CHECK: nn.cross_entropy %arg0, %arg1, %arg2 {ignore_index = -100 : i64, shift = 1 : i64} : (tensor<2x4x5xf32>, tensor<2x4xi64>
func.func @model(%x: tensor<2x4x5xf32> {nn.name = "x", nn.role = "input"}, %y: tensor<2x4xi64> {nn.name = "y", nn.role = "input"}) -> (tensor<f32> {nn.name = "loss"}) {
  %0 = nn.slice %x [0, 0, 0] to [2, 3, 5] by [1, 1, 1] : (tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  %1 = nn.slice %y [0, 1] to [2, 4] by [1, 1] : (tensor<2x4xi64>) -> tensor<2x3xi64>
  %2 = nn.reshape %0 : (tensor<2x3x5xf32>) -> tensor<6x5xf32>
  %3 = nn.reshape %1 : (tensor<2x3xi64>) -> tensor<6xi64>
  %scale = nn.constant dense<0.16666667> : tensor<f32>
  %loss = nn.cross_entropy %2, %3, %scale {ignore_index = -100 : i64, shift = 0 : i64, nn.reduction = "mean"} : (tensor<6x5xf32>, tensor<6xi64>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}

//--- sum.mlir
// Half a sum over one label: its node says that it is a sum, and its scale has both factors.
// CHECK: nn.loss = {{.*}}kind = "cross_entropy", labels = "y", reduction = "sum"
// CHECK: %[[S:[a-z0-9_]+]]: tensor<f32> {nn.name = "loss_scale"
// CHECK: %[[HALF:[a-z0-9_]+]] = nn.constant dense<5.000000e-01>
// CHECK: %[[BOTH:[a-z0-9_]+]] = nn.mul %[[S]], %[[HALF]]
// CHECK: %[[LOSS:[a-z0-9_]+]] = nn.cross_entropy %{{.*}}, %{{.*}}, %[[BOTH]] {ignore_index = -100 : i64, shift = 0 : i64} :
// CHECK: return %[[LOSS]]
func.func @model(%x: tensor<1x5xf32> {nn.name = "x", nn.role = "input"}, %y: tensor<1xi64> {nn.name = "y", nn.role = "input"}) -> (tensor<f32> {nn.name = "loss"}) {
  %one = nn.constant dense<1.0> : tensor<f32>
  %half = nn.constant dense<0.5> : tensor<f32>
  %sum = nn.cross_entropy %x, %y, %one {ignore_index = -100 : i64, shift = 0 : i64, nn.reduction = "sum"} : (tensor<1x5xf32>, tensor<1xi64>, tensor<f32>) -> tensor<f32>
  %loss = nn.mul %sum, %half : tensor<f32>
  return %loss : tensor<f32>
}

//--- divided.mlir
// A sum that is divided is some mean over this batch.
// CHECK: nn.loss = {{.*}}kind = "output", labels = "", reduction = "mean"
// CHECK-NOT: nn.div
func.func @model(%x: tensor<2x5xf32> {nn.name = "x", nn.role = "input"}, %y: tensor<2xi64> {nn.name = "y", nn.role = "input"}) -> (tensor<f32> {nn.name = "loss"}) {
  %one = nn.constant dense<1.0> : tensor<f32>
  %three = nn.constant dense<3.0> : tensor<f32>
  %sum = nn.cross_entropy %x, %y, %one {ignore_index = -100 : i64, shift = 0 : i64, nn.reduction = "sum"} : (tensor<2x5xf32>, tensor<2xi64>, tensor<f32>) -> tensor<f32>
  %loss = nn.div %sum, %three : tensor<f32>
  return %loss : tensor<f32>
}

//--- probabilities.mlir
// What is behind a reshape is seen, too.
func.func @model(%x: tensor<6x5xf32> {nn.name = "x", nn.role = "input"}) -> (tensor<2x3x5xf32> {nn.name = "softmax"}, tensor<6x5xf32> {nn.name = "sigmoid"}, tensor<6x5xf32> {nn.name = "log"}) {
  %s = nn.softmax %x : tensor<6x5xf32>
  %softmax = nn.reshape %s : (tensor<6x5xf32>) -> tensor<2x3x5xf32>
  %sigmoid = nn.sigmoid %x : tensor<6x5xf32>
  %log = nn.log_softmax %x : tensor<6x5xf32>
  return %softmax, %sigmoid, %log : tensor<2x3x5xf32>, tensor<6x5xf32>, tensor<6x5xf32>
}

//--- computed.mlir
// Labels that the graph computes, counted there: the run's scale goes into that of the cross entropy.
// COMPUTED: warning: labels of the cross entropy are computed in the graph: the loss is the mean over micro-batches of each one
// CHECK: nn.loss = {{.*}}kind = "output", labels = "", reduction = "mean"
// CHECK: %[[S:[a-z0-9_]+]]: tensor<f32> {nn.name = "loss_scale"
// CHECK: %[[OWN:[a-z0-9_]+]] = nn.reciprocal
// CHECK: %[[BOTH:[a-z0-9_]+]] = nn.mul %[[S]], %[[OWN]]
// CHECK: %[[LOSS:[a-z0-9_]+]] = nn.cross_entropy %{{.*}}, %{{.*}}, %[[BOTH]]
// CHECK: return %[[LOSS]]
func.func @model(%x: tensor<2x5xf32> {nn.name = "x", nn.role = "input"}, %y: tensor<2xi64> {nn.name = "y", nn.role = "input"}) -> (tensor<f32> {nn.name = "loss"}) {
  %l = nn.abs %y : tensor<2xi64>
  %ignored = nn.constant dense<1> : tensor<2xi64>
  %valid = nn.compare ne %l, %ignored : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
  %ones = nn.cast %valid : (tensor<2xi1>) -> tensor<2xf32>
  %sum = nn.reduce_sum %ones [0] : (tensor<2xf32>) -> tensor<1xf32>
  %count = nn.reshape %sum : (tensor<1xf32>) -> tensor<f32>
  %scale = nn.reciprocal %count : tensor<f32>
  %loss = nn.cross_entropy %x, %l, %scale {ignore_index = 1 : i64, shift = 0 : i64, nn.reduction = "mean"} : (tensor<2x5xf32>, tensor<2xi64>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}

//--- two-outputs.mlir
func.func @model(%x: tensor<1xf32> {nn.name = "x", nn.role = "input"}, %y: tensor<4x3xf32> {nn.name = "y", nn.role = "input"}) -> (tensor<1xf32> {nn.name = "energy"}, tensor<4x3xf32> {nn.name = "logits"}) {
  return %x, %y : tensor<1xf32>, tensor<4x3xf32>
}

//--- one-class.mlir
func.func @model(%x: tensor<4x1xf32> {nn.name = "x", nn.role = "input"}) -> (tensor<4x1xf32> {nn.name = "logits"}) {
  return %x : tensor<4x1xf32>
}
