// RUN: shardc-opt %s -step-lower -split-input-file -verify-diagnostics

// expected-error @+1 {{has no function @train or @eval to lower}}
module {
}

// -----

module {
  // expected-error @+1 {{expects no results; hand them to fsdp.metric before step-lower}}
  func.func @eval(%x: tensor<f32> {nn.name = "x"}) -> tensor<f32> {
    return %x : tensor<f32>
  }
}

// -----

module {
  fsdp.group @world {stride = 1 : i64, size = 2 : i64}
  func.func @eval(%x: tensor<4xf32> {nn.name = "x"}) {
    // expected-error @+1 {{is no library call, view, constant or launch; run step-outline-kernels before step-lower}}
    %y = nn.exp %x : tensor<4xf32>
    %s = nn.cumsum %y {axis = 0 : i64} : tensor<4xf32>
    %n = nn.reshape %s : (tensor<4xf32>) -> tensor<4xf32>
    %k = nn.cumsum %n {axis = 0 : i64} : tensor<4xf32>
    %t = fsdp.all_reduce_start forward(%k) over @world {norms = array<i1: false>} : tensor<4xf32>
    return
  }
}

// -----

module {
  // expected-error @+1 {{expects nn.name or nn.role of argument 0}}
  func.func @eval(%x: tensor<4xf32>) {
    return
  }
}

// -----

module {
  func.func @train(%x: tensor<4xf32> {nn.name = "x"}) {
    return
  }
  // expected-error @+1 {{expects input "x" of one type in all functions, got 'memref<4xf32>' and 'tensor<8xf32>'}}
  func.func @eval(%x: tensor<8xf32> {nn.name = "x"}) {
    return
  }
}
