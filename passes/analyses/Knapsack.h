// What to take along where there is room for a part.
#ifndef SHARDC_PASSES_ANALYSES_KNAPSACK_H
#define SHARDC_PASSES_ANALYSES_KNAPSACK_H

#include <vector>

namespace shardc {

/// By item, whether it is among those that fit into `room` together and are
/// worth most, but for 4096ths of the room by which sizes are rounded; of equals
/// the first. What that leaves free is filled in order of worth by size.
std::vector<bool> packKnapsack(const std::vector<double> &sizes,
                               const std::vector<double> &worths, double room);

} // namespace shardc

#endif
