// Attention, as calls.
#include "runtime/cpu/attention/Attention.h"
#include "runtime/cpu/bind/Bind.h"

namespace shardc::runtime::cpu {

static Attention operandsOf(const entry::AttentionOperands &from) {
  return {from.query, from.key,     from.value,    from.bias, from.keyMask,
          from.sinks, from.scale,   from.softcap,  from.left, from.right,
          from.words, from.samples, from.rowStride};
}

Task bind(CpuDevice &device, const entry::Attention &entry) {
  Attention a = operandsOf(entry.operands);
  int workers = workersFor(device, entry.workspace, attentionWorkspace(a));
  return [=, &device] {
    attention(a, entry.output, entry.logSumExp, entry.workspace.data, workers,
              device.pool);
  };
}

Task bind(CpuDevice &device, const entry::AttentionGrad &entry) {
  Attention a = operandsOf(entry.operands);
  AttentionGradients g{entry.gradient,    entry.output,
                       entry.logSumExp,   entry.queryGradient,
                       entry.keyGradient, entry.valueGradient};
  int workers = workersFor(device, entry.workspace, attentionGradWorkspace(a));
  return [=, &device] {
    attentionGrad(a, g, entry.workspace.data, workers, device.pool);
  };
}

} // namespace shardc::runtime::cpu
