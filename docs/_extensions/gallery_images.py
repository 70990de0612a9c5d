"""Animations of a gallery's script as its pictures: the file that it saves, and a still of it."""

import ctypes
import sys

import collection
import jax
from PIL import Image
from sphinx_gallery.scrapers import figure_rst

from jaxspark.pictures import Animation


collection.seldom()  # every process that runs scripts imports this module


def of_animations(block, block_vars, gallery_conf):
    """What a block made: every `Animation` of its names that was not shown before."""
    names = block_vars["example_globals"]
    shown = names.setdefault("__shown__", set())
    paths = []
    for name, value in list(names.items()):
        if isinstance(value, Animation) and id(value) not in shown:
            shown.add(id(value))
            path = next(block_vars["image_path_iterator"])
            Image.fromarray(value.frames[len(value.frames) // 3]).save(path)
            value.save(path.removesuffix(".png") + ".webp")
            paths.append(path.removesuffix(".png") + ".webp")
    return figure_rst(paths, gallery_conf["src_dir"], "A mechanism in motion")


def forget(gallery_conf, name):
    """Drop compiled programs, and give their memory back: a process that grows is replaced."""
    jax.clear_caches()
    if sys.platform == "linux":
        getattr(ctypes.CDLL(None), "malloc_trim", abs)(0)  # of glibc
