// RUN: not shardc-opt %s --fsdp-form-units="mesh=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not shardc-opt %s --fsdp-form-units="mesh=1000000000" 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not shardc-opt %s --fsdp-form-units="mesh=99999999999999999999" 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not shardc-opt %s --fsdp-form-units="mesh=1048576x1048576" 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not shardc-opt %s --fsdp-form-units="mesh=-2" 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not shardc-opt %s --fsdp-form-units="mesh=2x" 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not shardc-opt %s --fsdp-form-units="mesh=shard=" 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not shardc-opt %s --fsdp-form-units="mesh=2x2x2" 2>&1 | FileCheck %s --check-prefix=DIMS
// RUN: not shardc-opt %s --fsdp-form-units="mesh=replicate=2,tensor=4" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not shardc-opt %s --fsdp-form-units="mesh=shard=2,dp_shard=4" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not shardc-opt %s --fsdp-form-units="mesh=shard=2,replicate=4" 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not shardc-opt %s --fsdp-form-units="mesh=8 strategy=hybrid" 2>&1 | FileCheck %s --check-prefix=ONE-DIM
// RUN: not shardc-opt %s --fsdp-form-units="mesh=1 strategy=hybrid_opt" 2>&1 | FileCheck %s --check-prefix=ONE-RANK
// RUN: not shardc-opt %s --fsdp-form-units="mesh=2 strategy=zero3" 2>&1 | FileCheck %s --check-prefix=STRATEGY
// RUN: not shardc-opt %s --fsdp-form-units="mesh=4 reshard=half" 2>&1 | FileCheck %s --check-prefix=RESHARD
// RUN: not shardc-opt %s --fsdp-form-units="mesh=4 reshard=0" 2>&1 | FileCheck %s --check-prefix=RESHARD-0
// RUN: not shardc-opt %s --fsdp-form-units="mesh=12 reshard=5" 2>&1 | FileCheck %s --check-prefix=DIVISOR
// RUN: not shardc-opt %s --fsdp-form-units="mesh=3 reshard=3" 2>&1 | FileCheck %s --check-prefix=PRIME
// RUN: not shardc-opt %s --fsdp-form-units="mesh=2x4 reshard=8" 2>&1 | FileCheck %s --check-prefix=INSIDE
// RUN: not shardc-opt %s --fsdp-form-units="mesh=4 strategy=opt reshard=never" 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: not shardc-opt %s --fsdp-form-units="mesh=4 strategy=grad_op reshard=always" 2>&1 | FileCheck %s --check-prefix=KEPT
// RUN: not shardc-opt %s --fsdp-form-units="mesh=2x2 strategy=hybrid_grad_op reshard=2" 2>&1 | FileCheck %s --check-prefix=KEPT-HYBRID
// RUN: not shardc-opt %s --fsdp-form-units="mesh=4 unit-options={{match=w,reshard=3}}" 2>&1 | FileCheck %s --check-prefix=OWN-DIVISOR
// RUN: not shardc-opt %s --fsdp-form-units="mesh=4 unit-options={{match=w,reshard=half}}" 2>&1 | FileCheck %s --check-prefix=OWN-RESHARD
// RUN: not shardc-opt %s --fsdp-form-units="mesh=4 unit-options={{match=w,reshard}}" 2>&1 | FileCheck %s --check-prefix=COMMA
// RUN: not shardc-opt %s --fsdp-form-units="mesh=4 unit-options={{match=w,reshard=}}" 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: not shardc-opt %s --fsdp-form-units="mesh=4 unit-options={{match=w,wrap=yes}}" 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not shardc-opt %s --fsdp-form-units="mesh=4 unit-options={{match=w,reshard=never,reshard=2}}" 2>&1 | FileCheck %s --check-prefix=KEY-TWICE
// RUN: not shardc-opt %s --fsdp-form-units="mesh=4 unit-options=reshard=never" 2>&1 | FileCheck %s --check-prefix=MATCH
// RUN: not shardc-opt %s --fsdp-form-units="mesh=4 unit-options={{match=*w,reshard=never}}" 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not shardc-opt %s --fsdp-form-units="mesh=4 unit-options={{match=layers,reshard=never}}" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not shardc-opt %s --fsdp-form-units --fsdp-form-units 2>&1 | FileCheck %s --check-prefix=AGAIN

// ZERO: error: mesh 0: a mesh dimension must be at least 1
// MANY: error: mesh {{[0-9x]+}}: a mesh has at most 1048576 ranks
// FORM: error: mesh {{-2|2x|shard=}}: expected a number of ranks (8), two (2x8), or names (replicate=2,shard=8)
// DIMS: error: mesh 2x2x2: a mesh has one or two dimensions, got 3
// NAME: error: mesh replicate=2,tensor=4: there is no dimension 'tensor'; dimensions are replicate and shard
// TWICE: error: mesh shard=2,dp_shard=4: names shard twice
// ORDER: error: mesh shard=2,replicate=4: expected replicate before shard: the ranks of a shard group are neighbours
// ONE-DIM: error: strategy hybrid: the mesh has one dimension of 8; hybrid strategies shard inside dimension 1 and replicate over dimension 0, as in --mesh 2x4
// ONE-RANK: error: strategy hybrid_opt: the mesh has one dimension of 1; {{.*}} as in --mesh 2x1
// STRATEGY: error: strategy zero3: there are full, grad_op, hybrid, hybrid_grad_op, hybrid_opt, opt and none
// RESHARD: error: --reshard-after-forward half: expected default, always, never, or the number of ranks that gather among themselves in backward
// RESHARD-0: error: --reshard-after-forward 0: expected default, always, never, or the number of ranks
// DIVISOR: error: --reshard-after-forward 5: expected a divisor of the 12 shards other than 1 and 12: 2, 3, 4, 6
// PRIME: error: --reshard-after-forward 3: expected a divisor of the 3 shards other than 1 and 3, of which there is none
// INSIDE: error: --reshard-after-forward 8: expected a divisor of the 4 shards other than 1 and 4: 2
// WHOLE: error: --reshard-after-forward: strategy opt keeps all parameters on every rank; there is nothing to reshard
// KEPT: error: --reshard-after-forward: strategy grad_op keeps parameters gathered until backward; use full
// KEPT-HYBRID: error: --reshard-after-forward: strategy hybrid_grad_op keeps parameters gathered until backward; use hybrid
// OWN-DIVISOR: error: --unit-option match=w,reshard=3: reshard 3: expected a divisor of the 4 shards other than 1 and 4: 2
// OWN-RESHARD: error: --unit-option match=w,reshard=half: reshard half: expected default, always, never, or the number of ranks that gather among themselves in backward
// COMMA: error: --unit-option match=w,reshard: says nothing; add reshard=..., after-backward=... or precision=...
// VALUE: error: --unit-option match=w,reshard=: expected KEY=VALUE, got 'reshard='
// KEY: error: --unit-option match=w,wrap=yes: there is no 'wrap'; there are match, reshard, after-backward and precision
// KEY-TWICE: error: --unit-option match=w,reshard=never,reshard=2: 'reshard' is given twice
// MATCH: error: --unit-option reshard=never: expected match=REGEX, which says for which units
// REGEX: error: --unit-option match=*w,reshard=never: match is no regular expression: {{.+}}
// NONE: error: --unit-option match=layers: matches no unit; there are root
// AGAIN: error: expects a module without fsdp.mesh; units are formed once
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
func.func @model(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %w = nn.get_parameter @w : tensor<4x4xf32>
  %y = nn.linear %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
