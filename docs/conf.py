"""Sphinx configuration: `make docs` builds the site into build/docs, without any network."""

from __future__ import annotations

import os
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS / "_ext")]

import neuraltrees  # noqa: E402  after the path

project = "neuraltrees"
author = "The neuraltrees developers"
project_copyright = "the neuraltrees developers"
release = version = neuraltrees.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "api_pages", "offline"]
exclude_patterns = ["results", "requirements.txt", "_ext", "_static", "_templates"]
templates_path = ["_templates"]

# Pages
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 3
myst_url_schemes = ["http", "https"]
_kernel = DOCS.parent / "build" / "ipython" / "profile_default"  # not that of whoever builds the site
_kernel.mkdir(parents=True, exist_ok=True)
_settings = """
c = get_config()
c.IPKernelApp.log_level = 40
c.InteractiveShellApp.matplotlib = "inline"
c.InlineBackend.figure_formats = {"svg"}
c.InteractiveShellApp.exec_lines = ["import warnings; warnings.filterwarnings('ignore', 'IProgress not found')"]
"""
(_kernel / "ipython_kernel_config.py").write_text(_settings)
os.environ["IPYTHONDIR"] = str(_kernel.parent)
nb_execution_mode = "cache"
nb_execution_cache_path = str(DOCS.parent / "build" / "notebooks")
nb_execution_in_temp = True  # what a tutorial writes is not left beside it
nb_execution_timeout = 240
nb_execution_raise_on_error = True
nb_merge_streams = True
html_math_renderer = "text"  # of docs/_ext: no script is loaded

# Reference
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
autodoc_inherit_docstrings = False
autoclass_content = "class"
python_use_unqualified_type_names = True
add_module_names = False
default_role = "name"  # of docs/_ext: a link where it is a public name, else code
napoleon_numpy_docstring = False
napoleon_custom_sections = [("Shapes", "notes_style")]
toc_object_entries_show_parents = "hide"

# Look
html_theme = "pydata_sphinx_theme"
html_title = "neuraltrees"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_sidebars = {"index": [], "start": []}
html_copy_source = False
html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "navbar_start": ["navbar-logo"],
    "navbar_end": ["theme-switcher"],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "use_edit_page_button": False,
}
