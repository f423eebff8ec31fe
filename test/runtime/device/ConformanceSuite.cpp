// A rank, its device, and programs of entries on it.
#include "test/runtime/device/ConformanceSuite.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {

Layout spaced(const std::vector<int64_t> &shape, int64_t gap) {
  Layout layout{rowMajorStrides(shape), gap};
  int64_t stride = shape.empty() ? 1 : shape.back() + gap;
  for (size_t dim = shape.size(); dim-- > 1;) {
    layout.strides[dim - 1] = stride;
    stride *= shape[dim - 1];
  }
  return layout;
}

Layout permuted(const std::vector<int64_t> &shape,
                const std::vector<int64_t> &order) {
  Layout layout{std::vector<int64_t>(shape.size()), 0};
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    layout.strides[order[i]] = stride;
    stride *= shape[order[i]];
  }
  return layout;
}

Bench::Bench(const TestedDevice &tested, Communicator &world)
    : world(world), device(tested.make(world)), tested(tested),
      ran(std::variant_size_v<entry::Any>) {}

Bench::~Bench() = default;

/// Calls visit(byte offset from the tensor's data) for all elements.
static void forElements(const Tensor &tensor,
                        const std::function<void(int64_t)> &visit) {
  forIndices(tensor.shape, [&](const std::vector<int64_t> &index, int64_t) {
    int64_t offset = 0;
    for (size_t dim = 0; dim < index.size(); ++dim)
      offset += index[dim] * tensor.strides[dim];
    visit(offset * sizeOf(tensor.dtype));
  });
}

Tensor Bench::allocate(plan::DType dtype, const std::vector<int64_t> &shape,
                       const Layout &layout, const Numbers *numbers) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape = shape;
  tensor.strides =
      layout.strides.empty() ? rowMajorStrides(shape) : layout.strides;
  int64_t size = sizeOf(dtype), last = 0;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    last += std::max<int64_t>(0, shape[dim] - 1) * tensor.strides[dim];
  // Room behind it, where nothing may be written.
  int64_t bytes = (layout.offset + last + 1) * size + 64;
  Allocation allocation{device->allocate("operand", bytes),
                        std::vector<std::byte>(bytes, std::byte(0xFF)), size};
  int64_t begin = layout.offset * size;
  tensor.data = allocation.begin + begin;
  if (numbers) {
    int64_t position = 0;
    forElements(tensor, [&](int64_t offset) {
      encode((*numbers)[position++], dtype,
             allocation.content.data() + begin + offset);
    });
  }
  device->upload(allocation.begin, allocation.content.data(), bytes);
  allocations.push_back(std::move(allocation));
  return tensor;
}

Tensor Bench::put(const Numbers &numbers, const Layout &layout) {
  return allocate(numbers.dtype, numbers.shape, layout, &numbers);
}
Tensor Bench::room(plan::DType dtype, const std::vector<int64_t> &shape,
                   const Layout &layout) {
  return allocate(dtype, shape, layout, nullptr);
}
Tensor Bench::scratch(int64_t bytes) {
  return allocate(plan::UINT8, {bytes}, {}, nullptr);
}

const Bench::Allocation &Bench::allocationOf(const Tensor &tensor) const {
  for (const Allocation &each : allocations)
    if (tensor.data >= each.begin &&
        tensor.data < each.begin + each.content.size())
      return each;
  fail("a tensor of no allocation");
}

Tensor Bench::onHost(plan::DType dtype, int64_t elements) {
  int64_t bytes = elements * sizeOf(dtype);
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape = {elements};
  tensor.strides = {1};
  tensor.data = device->allocateHost("host", bytes);
  allocations.push_back(
      {tensor.data, std::vector<std::byte>(bytes), sizeOf(dtype)});
  return tensor;
}

DeviceProgram &Bench::programOf(std::vector<entry::Any> entries) {
  programs.push_back(device->newProgram());
  DeviceProgram &program = *programs.back();
  for (entry::Any &entry : entries) {
    ran[entry.index()] = true;
    program.add(
        {std::move(entry), 0, "entry " + std::to_string(program.size())});
  }
  return program;
}

void Bench::run(std::vector<entry::Any> entries, const StepNumbers &numbers) {
  for (entry::Any &entry : entries)
    std::visit(
        [&](auto &what) {
          if constexpr (requires { what.workspace; })
            if (!what.workspace)
              giveWorkspace(what);
        },
        entry);
  DeviceProgram &program = programOf(entries);
  Measurements measurements;
  program.run(0, program.size(), numbers, measurements);
  device->settle();
  compare(entries, true);
}

std::string Bench::errorOf(std::vector<entry::Any> entries,
                           const StepNumbers &numbers) {
  try {
    run(std::move(entries), numbers);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

void Bench::compare(const std::vector<entry::Any> &entries,
                    bool expectUnchanged) {
  std::vector<std::vector<bool>> written;
  for (const Allocation &each : allocations)
    written.emplace_back(each.content.size());
  auto mark = [&](const Tensor &tensor, entry::Access access, const char *) {
    if (access == entry::Access::Read)
      return;
    const Allocation &of = allocationOf(tensor);
    std::vector<bool> &bytes = written[&of - allocations.data()];
    int64_t begin = tensor.data - of.begin, size = sizeOf(tensor.dtype);
    forElements(tensor, [&](int64_t offset) {
      std::fill_n(bytes.begin() + begin + offset, size, true);
    });
  };
  for (const entry::Any &entry : entries)
    std::visit([&](const auto &what) { forOperands(what, mark); }, entry);
  for (Allocation &each : allocations) {
    std::vector<std::byte> now(each.content.size());
    device->download(now.data(), each.begin, int64_t(now.size()));
    const std::vector<bool> &may = written[&each - allocations.data()];
    for (size_t i = 0; expectUnchanged && i < now.size(); ++i)
      if (!may[i] && now[i] != each.content[i]) {
        ADD_FAILURE() << "byte " << i << " of allocation "
                      << &each - allocations.data()
                      << ", which no operand covers that is written, changed";
        break;
      }
    each.content = std::move(now);
  }
}

std::vector<double> Bench::get(const Tensor &tensor) const {
  const Allocation &of = allocationOf(tensor);
  const std::byte *data = of.content.data() + (tensor.data - of.begin);
  std::vector<double> values;
  forElements(tensor, [&](int64_t offset) {
    values.push_back(decode(data + offset, tensor.dtype));
  });
  return values;
}

std::vector<std::byte> Bench::bytesOf(const Tensor &tensor) const {
  const Allocation &of = allocationOf(tensor);
  const std::byte *data = of.content.data() + (tensor.data - of.begin);
  std::vector<std::byte> bytes;
  forElements(tensor, [&](int64_t offset) {
    bytes.insert(bytes.end(), data + offset,
                 data + offset + sizeOf(tensor.dtype));
  });
  return bytes;
}

void Bench::expect(const Tensor &tensor, const Expected &expected,
                   const char *what) {
  std::string text = mismatch(get(tensor), expected, tensor.dtype);
  if (!text.empty())
    ADD_FAILURE() << what << ": " << text;
}

bool Bench::hasRun(size_t kind) const { return ran[kind]; }

} // namespace shardc::runtime
