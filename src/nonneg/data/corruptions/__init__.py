"""Changed pictures: the 15 corruptions of ImageNet-C (Hendrycks & Dietterich, ICLR 2019, arXiv:1903.12261), in batches.

corrupt    any of them by its name, at a severity of 1 to 5, by a seed
noise      gaussian_noise, shot_noise, impulse_noise
blur       defocus_blur, glass_blur, motion_blur, zoom_blur
weather    snow, frost, fog, brightness
digital    contrast, elastic_transform, pixelate, jpeg_compression
stand_ins  edges and stylised pictures, for when a data set of sketches or of stylised pictures is not at hand

The constants are those of CIFAR-10-C for pictures of at most 64 pixels a side and of ImageNet-C for larger ones, as in
the authors' programs (github.com/hendrycks/robustness, ImageNet-C). Those, and the package `imagecorruptions` after
them, are no longer maintained and need wand, OpenCV or scikit-image; here it is torch on whole batches, and Pillow for
JPEG. Frost is not the published one, which lays photographs over a picture; here the ice is drawn (`weather.frost`).
Numbers to be set beside those of papers are measured on the files of CIFAR-10-C and ImageNet-C themselves.
"""

from nonneg.data.corruptions.corrupt import NAMES, STAND_INS, corrupt
from nonneg.data.corruptions.stand_ins import edges, stylise

__all__ = ["NAMES", "STAND_INS", "corrupt", "edges", "stylise"]
