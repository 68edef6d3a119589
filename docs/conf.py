"""How the documentation is built: Sphinx with MyST and furo, from files on this disk alone."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from evenhand import __version__

project = "evenhand"
author = "The evenhand developers"
copyright = "2026, The evenhand developers"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "offline_math",
    "from_code",
]
exclude_patterns = ["_build"]
nitpicky = False
highlight_language = "text"

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
autodoc_default_options = {"members": True}
maximum_signature_line_length = 88

html_theme = "furo"
html_title = f"evenhand {release}"
html_static_path = ["_static"]
html_css_files = ["evenhand.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5f5b", "color-brand-content": "#1f5f5b"},
    "dark_css_variables": {"color-brand-primary": "#7cc7c1", "color-brand-content": "#7cc7c1"},
}
