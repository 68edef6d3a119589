"""How the documentation is built: Sphinx with MyST and furo, from files on this disk alone."""

import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from evenhand import __version__
from evenhand.look import DARK, LIGHT

logging.getLogger("evenhand").setLevel(logging.WARNING)  # how it solves is not what a build is to say

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


def of_the_theme(colours: dict[str, str]) -> dict[str, str]:
    """Return the colours as the variables of pages: links are ink, as all that is no status."""
    own = {f"eh-{name}": colour for name, colour in colours.items()}
    ours = {
        "color-foreground-primary": "ink",
        "color-foreground-secondary": "ink-2",
        "color-foreground-muted": "ink-3",
        "color-background-primary": "bg",
        "color-background-secondary": "surface",
        "color-background-border": "rule",
        "color-brand-primary": "ink",
        "color-brand-content": "ink",
        "color-link-underline": "ink-3",
        "color-link-underline--visited": "ink-3",
        "color-link--visited": "ink",
        "color-link--visited--hover": "ink",
    }
    fonts = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"
    return own | {name: colours[token] for name, token in ours.items()} | {"font-stack": fonts}


html_theme = "furo"
html_title = f"evenhand {release}"
html_static_path = ["_static"]
html_css_files = ["evenhand.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": of_the_theme(LIGHT),
    "dark_css_variables": of_the_theme(DARK),
}
