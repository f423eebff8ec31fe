// RUN: not shardc-opt %s -nn-precision=precision=int8 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not shardc-opt %s -nn-precision=precision=param=half 2>&1 | FileCheck %s --check-prefix=PART
// RUN: not shardc-opt %s -nn-precision=precision=param=bf16,float32 2>&1 | FileCheck %s --check-prefix=COMMA
// RUN: not shardc-opt %s -nn-precision=precision=buffer=bf16 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not shardc-opt %s -nn-precision=precision=param=bf16,param=bf16 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not shardc-opt %s -nn-precision="precision=param=bf16,keep=norm||loss" 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not shardc-opt %s -nn-precision="precision=param=bf16,keep=norm|(" 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not shardc-opt %s -nn-precision="precision=param=bf16,keep=norm|heads" 2>&1 | FileCheck %s --check-prefix=NOOP
// RUN: not shardc-opt %s -nn-precision="precision=param=float32,keep=heads" 2>&1 | FileCheck %s --check-prefix=NOOP
// RUN: not shardc-opt %s -nn-precision=precision=param=float64,reduce=float32 2>&1 | FileCheck %s --check-prefix=DOUBLE
// RUN: not shardc-opt %s -nn-precision="precision=float64 master=bf16" 2>&1 | FileCheck %s --check-prefix=DOUBLEMASTER
// RUN: not shardc-opt %s -nn-precision=precision=param=bf16,reduce=float16 2>&1 | FileCheck %s --check-prefix=REDUCE
// RUN: not shardc-opt %s -nn-precision=precision=reduce=bf16 2>&1 | FileCheck %s --check-prefix=NARROW
// RUN: not shardc-opt %s -nn-precision=precision=param=fp16,output=fp16 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not shardc-opt %s -nn-precision=precision=param=float32,output=bf16 2>&1 | FileCheck %s --check-prefix=OUTPUT32
// RUN: not shardc-opt %s -nn-precision="precision=bf16 master=float16" 2>&1 | FileCheck %s --check-prefix=MASTER
// RUN: not shardc-opt %s -nn-precision="precision=bf16 master=int8" 2>&1 | FileCheck %s --check-prefix=MASTERTYPE
// RUN: not shardc-opt %s -nn-precision="precision=fp16 master=split" 2>&1 | FileCheck %s --check-prefix=SPLIT
// RUN: not shardc-opt %s -nn-precision="precision=float32 master=split" 2>&1 | FileCheck %s --check-prefix=SPLIT32
// RUN: not shardc-opt %s -nn-precision="precision=bf16 unit-options={{match=blocks.7,precision=float32}}" 2>&1 | FileCheck %s --check-prefix=NOUNIT
// RUN: not shardc-opt %s -nn-precision="precision=bf16 unit-options={{match=root,precision=half}}" 2>&1 | FileCheck %s --check-prefix=UNITTYPE
// RUN: not shardc-opt %s -nn-precision="precision=bf16 unit-options={{match=*,precision=float32}}" 2>&1 | FileCheck %s --check-prefix=UNITREGEX
// RUN: not shardc-opt %s -nn-precision="precision=bf16 unit-options={{precision=float32}}" 2>&1 | FileCheck %s --check-prefix=NOMATCH
// RUN: not shardc-opt %s -nn-precision="precision=bf16 unit-options={{match=root,precision=float64}}" 2>&1 | FileCheck %s --check-prefix=UNIT64
// RUN: not shardc-opt %s -nn-precision="precision=bf16 unit-options={{match=root,precision=fp16}}" 2>&1 | FileCheck %s --check-prefix=UNIT16
// RUN: not shardc-opt %s -nn-precision="precision=fp16 unit-options={{match=root,precision=bf16}}" 2>&1 | FileCheck %s --check-prefix=UNITHALF
// RUN: not shardc-opt %s -nn-precision="precision=param=bf16,reduce=bf16 unit-options={{match=root,precision=float32}}" 2>&1 | FileCheck %s --check-prefix=UNITREDUCE
// RUN: not shardc-opt %s -nn-precision="precision=bf16 master=bf16 unit-options={{match=root,precision=float32}}" 2>&1 | FileCheck %s --check-prefix=UNITMASTER
// RUN: not shardc-opt %s -nn-precision="precision=param=bf16,reduce=bf16,keep=node_up" 2>&1 | FileCheck %s --check-prefix=KEPT
// RUN: not shardc-opt %s -nn-precision="precision=bf16 unit-options={{match=blocks.0,precision=float32},{match=root,precision=bf16}}" 2>&1 | FileCheck %s --check-prefix=TIED

// TYPE: error: --precision: expects bf16, float16, float32 or float64, or param=TYPE[,reduce=TYPE][,output=TYPE][,keep=norm|softmax|loss|REGEX], got 'int8'
// PART: error: --precision: param: expects bf16, float16, float32 or float64, got 'half'
// COMMA: error: --precision: param: expects bf16, float16, float32 or float64, got 'bf16,float32'
// KEY: error: --precision: there is no part 'buffer'; there are param, reduce, output and keep
// TWICE: error: --precision: 'param' is given twice
// EMPTY: error: --precision: keep: has an empty part in 'norm||loss'; expects norm, softmax, loss or regular expressions, with | between
// REGEX: error: --precision: keep: '(' is no regular expression: parentheses not balanced
// NOOP: error: --precision: keep: 'heads' matches no op; there are modules blocks.0.mlp; nodes node_up
// DOUBLE: error: --precision: float64 is for a whole run, got param=float64, reduce=float32, output=float64 and master float64; say --precision float64 alone
// DOUBLEMASTER: error: --precision: float64 is for a whole run, got param=float64, reduce=float64, output=float64 and master bf16; say --precision float64 alone
// REDUCE: error: --precision: reduce=float16 with param=bf16: gradients have their parameters' type or float32
// NARROW: error: --precision: reduce=bf16 with param=float32: gradients have their parameters' type or float32
// OUTPUT: error: --precision: output=float16 cannot hold a loss that is scaled by up to 2^16; expects float32
// OUTPUT32: error: --precision: output=bf16 with param=float32: outputs have the parameters' type or float32
// MASTER: error: --precision: --master float16 with param=bf16: master weights have the parameters' type or float32
// MASTERTYPE: error: --master: expects bf16, float16, float32 or split, got 'int8'
// SPLIT: error: --precision: --master split with param=float16: a float32 master is split into bf16 parameters and the rest; give --precision bf16, or no --master
// SPLIT32: error: --precision: --master split with param=float32: a float32 master is split into bf16 parameters and the rest; give --precision bf16, or no --master
// NOUNIT: error: --unit-option: match=blocks.7 matches no unit; units are blocks.0, root
// UNITTYPE: error: --unit-option match=root,precision=half: precision: expects bf16, float16, float32 or float64, got 'half'
// UNITREGEX: error: --unit-option match=*,precision=float32: match is no regular expression: repetition-operator operand invalid
// NOMATCH: error: --unit-option precision=float32: expected match=REGEX, which says for which units
// UNIT64: error: --unit-option match=root,precision=float64: float64 in a run of param=bf16: float64 is for a whole run
// UNIT16: error: --unit-option match=root,precision=fp16: float16 in a run of param=bf16: float16 needs the loss scaling that --precision float16 brings
// UNITHALF: error: --unit-option match=root,precision=bf16: bf16 in a run of param=float16: a run has one 16-bit type
// UNITREDUCE: error: --unit-option match=root,precision=float32: float32 in a run of param=bf16: gradients of reduce=bf16 would be narrower than their parameters; say reduce=float32
// UNITMASTER: error: --unit-option match=root,precision=float32: float32 in a run of param=bf16: master weights of bf16 would be narrower than the parameters; say --master float32
// KEPT: error: --precision: keep makes parameter 'up' float32, and its gradient and master weights cannot be narrower; say reduce=float32 and --master float32
// TIED: error: --unit-option: 'up.bias' is read by an op that computes in float32, with another parameter or because keep says so; give both one precision

nn.parameter @up : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 64 : i64, stored_type = f32, trainable, scope = "blocks.0.mlp", nn.unit = "blocks.0"}
nn.parameter @up.bias : tensor<4xf32> {initializer = "b", file = "", offset = 0 : i64, length = 16 : i64, stored_type = f32, trainable, scope = "blocks.0.mlp", nn.unit = "root"}
func.func @model(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %w = nn.get_parameter @up : tensor<4x4xf32>
  %b = nn.get_parameter @up.bias : tensor<4xf32>
  %y = nn.linear %x, %w, %b : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<2x4xf32> loc("node_up")
  return %y : tensor<2x4xf32>
}
