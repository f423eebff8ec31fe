// Vector clocks: what is known to have happened before. Each stream, and each
// branch of a graph that is launched, has a place in them.
#ifndef SHARDC_TEST_EMULATEDCUDA_DRIVER_CLOCK_H
#define SHARDC_TEST_EMULATEDCUDA_DRIVER_CLOCK_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardc::test::cuda {

class Clock {
public:
  uint32_t at(uint32_t place) const {
    return place < times.size() ? times[place] : 0;
  }
  void set(uint32_t place, uint32_t time) {
    if (place >= times.size())
      times.resize(place + 1);
    times[place] = time;
  }
  void join(const Clock &other) {
    if (other.times.size() > times.size())
      times.resize(other.times.size());
    for (size_t i = 0; i < other.times.size(); ++i)
      times[i] = std::max(times[i], other.times[i]);
  }

private:
  std::vector<uint32_t> times;
};

} // namespace shardc::test::cuda

#endif
