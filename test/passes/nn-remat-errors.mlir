// RUN: shardc-opt %s -nn-remat=policy=everything -split-input-file -verify-diagnostics
// RUN: not shardc-opt %s -split-input-file -nn-remat=policy=pareto 2>&1 | FileCheck %s --check-prefix=PARETO
// RUN: not shardc-opt %s -split-input-file -nn-remat=policy=budget=much 2>&1 | FileCheck %s --check-prefix=BUDGET
// RUN: not shardc-opt %s -split-input-file -nn-remat=policy=time=fast 2>&1 | FileCheck %s --check-prefix=TIME
// RUN: not shardc-opt %s -split-input-file -nn-remat=policy=class:norm,norms 2>&1 | FileCheck %s --check-prefix=CLASS
// RUN: not shardc-opt %s -split-input-file "-nn-remat=policy=scope:(" 2>&1 | FileCheck %s --check-prefix=SCOPE

// PARETO: error: remat pareto compares policies, and is none: shardc runs them
// BUDGET: error: --remat budget=much: expects a number of bytes from 1 on, with kB, MB, GB, KiB, MiB or GiB after it; accepted are none, cheap, all, selective, unit, budget=SIZE
// TIME: error: --remat time=fast: expects percent of the step's arithmetic, from 0 to 1000; accepted are
// CLASS: error: --remat class:norm,norms: there is no class norms; accepted are {{.*}}class:NAME[,NAME] of norm, activation, softmax, attention, product
// SCOPE: error: --remat scope:(: {{.*}}; accepted are

// expected-error @below {{--remat everything: unknown policy; accepted are none, cheap, all, selective, unit, budget=SIZE (budget=20GB), time=PERCENT (time=5), class:NAME[,NAME] of norm, activation, softmax, attention, product, rope, embedding, reduction, cast, elementwise, movement, scope:REGEX (scope:layers\.\d+\.mlp), and pareto}}
module {
  func.func @train(%x: tensor<f32>) -> tensor<f32> {
    return %x : tensor<f32>
  }
}

// -----

// expected-error @below {{expects @train with its loss; run nn-differentiate first}}
module {
  func.func @model(%x: tensor<f32>) -> tensor<f32> {
    return %x : tensor<f32>
  }
}
