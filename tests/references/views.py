"""Views as slow, obvious loops over pictures, channels and pixels, in float64 on numpy arrays (c, h, w) from 0 to 1."""

import colorsys
import math

import numpy as np

GREY = (0.2989, 0.587, 0.114)


def view(picture, drawn, row, size):
    """Row `row` of what was drawn, applied to one picture of whole numbers from 0 to 255."""
    x = picture.astype(np.float64) / 255
    if drawn.crop is not None:
        x = resized_crop(x, drawn.crop[row].tolist(), size)
    if drawn.flip[row]:
        x = mirrored(x)
    brightness_by, contrast_by, saturation_by, hue_by = drawn.factors[row].double().tolist()
    changes = (
        lambda x: brightness(x, brightness_by),
        lambda x: contrast(x, contrast_by),
        lambda x: saturation(x, saturation_by) if len(x) == 3 else x,
        lambda x: hue(x, hue_by) if len(x) == 3 else x,
    )
    for i in drawn.order.tolist():
        x = changes[i](x)
    if drawn.grey[row] and len(x) == 3:
        x = np.stack([grey(x)] * 3)
    if drawn.sigma[row] > 0:
        x = blurred(x, drawn.sigma[row].item())
    if drawn.solarise[row]:
        x = solarised(x)
    return x


def resized_crop(x, box, size):
    top, left, height, width = box
    part = x[:, top : top + height, left : left + width]
    rows, columns = triangles(height, size), triangles(width, size)
    out = np.zeros((len(x), size, size))
    for channel, i, j in np.ndindex(out.shape):
        for a in range(height):
            for b in range(width):
                out[channel, i, j] += rows[i][a] * columns[j][b] * part[channel, a, b]
    return out


def triangles(old, new):
    """For each new pixel the weights of the old ones: a triangle around its centre, as wide as the coarser pixel."""
    wide = max(old / new, 1)
    weights = []
    for i in range(new):
        centre = (i + 0.5) * old / new
        row = [max(0.0, 1 - abs(j + 0.5 - centre) / wide) for j in range(old)]
        weights.append([w / sum(row) for w in row])
    return weights


def mirrored(x):
    return x[:, :, ::-1]


def grey(x):
    return x[0] if len(x) == 1 else sum(weight * channel for weight, channel in zip(GREY, x, strict=True))


def brightness(x, factor):
    return np.clip(x * factor, 0, 1)


def contrast(x, factor):
    return np.clip(factor * x + (1 - factor) * grey(x).mean(), 0, 1)


def saturation(x, factor):
    return np.clip(factor * x + (1 - factor) * grey(x), 0, 1)


def hue(x, turns):
    out = np.empty_like(x)
    for i, j in np.ndindex(x.shape[1:]):
        h, s, v = colorsys.rgb_to_hsv(*x[:, i, j])
        out[:, i, j] = colorsys.hsv_to_rgb((h + turns) % 1, s, v)
    return out


def blurred(x, sigma):
    """A Gaussian as wide as the picture, its weights summing to 1 at the edges too."""
    out = np.empty_like(x)
    for channel in range(len(x)):
        out[channel] = gaussian(x.shape[1], sigma) @ x[channel] @ gaussian(x.shape[2], sigma).T
    return out


def gaussian(size, sigma):
    weights = np.array([[math.exp(-((i - j) ** 2) / (2 * sigma**2)) for j in range(size)] for i in range(size)])
    return weights / weights.sum(1, keepdims=True)


def solarised(x):
    return np.where(x >= 0.5, 1 - x, x)
