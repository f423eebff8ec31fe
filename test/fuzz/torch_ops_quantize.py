"""Operators in torch: what is quantized to integers, and made floats again. Gradients go straight
through both, as torch.fake_quantize_per_tensor_affine has them."""
import torch

from torch_ops import op


def per_element(call, index):
    given, shape = call[index], call[0].shape
    if given.numel() == 1:
        return given.reshape(())
    axis = 0 if len(shape) == 1 else call.attribute("axis", 1) % len(shape)
    if block := call.attribute("block_size", 0):
        return given.repeat_interleave(block, axis).narrow(axis, 0, shape[axis])
    return given.reshape([-1 if d == axis else 1 for d in range(len(shape))])


def quantized(x, scale, zero, dtype):
    places, bounds = torch.round(x / scale) + zero, torch.iinfo(dtype)
    result = places.clamp(bounds.min, bounds.max).to(dtype)
    # For whoever makes floats of it: what is learned.
    inside = (places >= bounds.min) & (places <= bounds.max)
    result.through = torch.where(inside, x, torch.zeros_like(x))
    return result


@op("QuantizeLinear")
def quantize(call):
    zero = 0 if call[2] is None else per_element(call, 2)
    dtype = torch.uint8 if call[2] is None else call[2].dtype
    return [quantized(call[0], per_element(call, 1), zero, dtype)]


@op("DequantizeLinear")
def dequantize(call):
    zero = 0 if call[2] is None else per_element(call, 2).double()
    value = ((call[0].double() - zero) * per_element(call, 1)).detach()
    through = getattr(call[0], "through", None)
    return [value if through is None else value + (through - through.detach())]


@op("DynamicQuantizeLinear")
def quantize_dynamically(call):
    x = call[0].detach()
    low, high = x.min().clamp(max=0), x.max().clamp(min=0)
    scale = (high - low) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-low / scale).clamp(0, 255)
    return [quantized(call[0], scale, zero, torch.uint8), scale, zero.to(torch.uint8)]
