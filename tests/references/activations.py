"""The activations as formulas, differentiable by autograd; `rep_relu` as a value and a derivative that don't match."""

import math

import torch


def normal_cdf(z):
    return (1 + torch.erf(z / math.sqrt(2))) / 2


def normal_density(z):
    return torch.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)


def gelu(z):
    return z * normal_cdf(z)


def gelu_derivative(z):
    return normal_cdf(z) + z * normal_density(z)


def relu(z):
    return torch.where(z > 0, z, 0 * z)


def rep_relu(z):
    return gelu(z) + (relu(z) - gelu(z)).detach()


FORMULAS = {
    "rep_relu": rep_relu,
    "relu": relu,
    "softplus": lambda z: torch.log(1 + torch.exp(z)),
    "sigmoid": lambda z: 1 / (1 + torch.exp(-z)),
    "exp": lambda z: torch.where(z > 11, math.exp(11) + 0 * z, torch.exp(z)),
    "identity": lambda z: z,
    "gelu": gelu,
    "leaky_relu": lambda z: torch.where(z > 0, z, 0.01 * z),
}
