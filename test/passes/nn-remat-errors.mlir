// RUN: shardc-opt %s -nn-remat=policy=everything -split-input-file -verify-diagnostics

// expected-error @below {{remat everything: there are all, cheap and none}}
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
