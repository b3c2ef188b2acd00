# SPDX-License-Identifier: BSD-3-Clause
#
# doc/ as HTML: `make html`, which copies it to a directory of the build, adds the man pages and the pictures, and has
# Sphinx read it there (doc/html.sh).
import os

project = "banyan"
author = "the authors of banyan"
version = release = os.environ.get("BANYAN_VERSION", "")
root_doc = "index"
exclude_patterns = []
# `word` alone is a literal in none of our pages, and no language is the default of a block.
highlight_language = "none"
html_theme = "alabaster"
html_theme_options = {
    "description": "a runtime for parallel jobs",
    "fixed_sidebar": True,
    "page_width": "1100px",
    "sidebar_width": "240px",
}
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["banyan.css"]
