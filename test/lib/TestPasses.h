// Passes that check the nn ops against each other: gradients against finite
// differences, kernel bodies and compiled kernels against reference evaluation.
#ifndef SHARDC_TEST_LIB_TESTPASSES_H
#define SHARDC_TEST_LIB_TESTPASSES_H

namespace shardc::test {

void registerNNEvaluatePass();
void registerNNGradientsPass();
void registerNNKernelsPass();
void registerStepKernelsPass();

} // namespace shardc::test

#endif
