"""The site: `python -m sphinx -W --keep-going -j auto docs docs/_build/html`."""

import importlib.metadata
import os
import pathlib
import sys
import warnings


HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE / "_extensions"), str(HERE.parent)]

project = "jaxspark"
author = "The jaxspark authors"
copyright = "The jaxspark authors, Apache-2.0"  # noqa: A001
version = release = importlib.metadata.version("jaxspark")

extensions = [
    "myst_nb",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
    "mathml",
    "message_index",
    "reference_pages",
    "tutorials",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "examples", "gallery", "mechanisms/*.ipynb", "mechanisms/*.py"]
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"^(?!jaxspark\.).*")]

# Notebooks and scripts run while the site is built, in many short processes whose time goes into
# compiling: code that is compiled faster and runs slower is right there.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
# A process of the gallery that has grown is replaced, which is no fault of the site.
warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
nb_execution_mode = "off"  # `tutorials` runs them
nb_merge_streams = True
myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_heading_slug_func = "tutorials.slug"
myst_dmath_double_inline = True

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "mechanisms",
    "filename_pattern": "/",
    "image_scrapers": ("gallery_images.of_animations",),
    "capture_repr": (),
    "remove_config_comments": True,
    "show_memory": False,
    "download_all_examples": False,
    "min_reported_time": 1e9,
    "thumbnail_size": (160, 160),
    "reset_modules": ("gallery_images.forget",),
    "reset_modules_order": "after",
    "parallel": 2,
}

html_theme = "pydata_sphinx_theme"
html_context = {"default_mode": "auto"}
html_title = "jaxspark"
html_math_renderer = "mathml"
html_favicon = "_static/favicon.svg"
html_show_search_summary = False  # it would load every page that is found
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_sidebars = {"index": [], "start": [], "why": []}
html_theme_options = {
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
