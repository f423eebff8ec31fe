// The rate at which one thread multiplies and adds float32 in registers alone.
#ifndef SHARDC_TEST_BENCH_PEAKRATE_H
#define SHARDC_TEST_BENCH_PEAKRATE_H

/// FLOP/s / 1e9, over `duration` seconds, with the widest registers that the
/// processor has; 0 where it has no FMA.
double peakRate(double duration);

#endif
