# SPDX-License-Identifier: BSD-3-Clause
#
# doc/ as HTML and man pages: `make html`, which copies it to a directory of the build, adds the reference pages and the
# pictures, and has Sphinx read it there (doc/html.sh).
import os

from docutils import nodes

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

# Sections 1, 3 and 8 are troff in doc/; what is prose becomes section 7.
man_pages = [
    (page, "banyan-" + page.replace("/", "-"), description, [], 7)
    for page, description in (
        ("tutorial", "half an hour with banyan, on one machine"),
        ("howto/laptop", "parallel jobs on one machine"),
        ("howto/ssh", "parallel jobs on nodes reached by ssh"),
        ("howto/slurm", "parallel jobs in Slurm"),
        ("howto/pbs", "parallel jobs in PBS Pro or Torque"),
        ("howto/lsf", "parallel jobs in LSF"),
        ("howto/kubernetes", "parallel jobs in Kubernetes"),
        ("howto/containers", "parallel jobs in containers"),
        ("troubleshooting", "what to do when a parallel job does not work"),
        ("glossary", "the terms of banyan"),
    )
]


def make_man(app, doctree, _name):
    """No figures, whose captions say nothing without them; what stands before the first heading is the description."""
    if app.builder.name != "man":
        return
    for figure in list(doctree.findall(nodes.figure)):
        figure.parent.remove(figure)
    page = next(doctree.findall(nodes.section))
    title = page.index(next(page.findall(nodes.title))) + 1
    sections = [page.index(node) for node in page.children if isinstance(node, nodes.section)]
    lead = page.children[title:min(sections, default=len(page))]
    if lead:
        for node in lead:
            page.remove(node)
        page.insert(title, nodes.section("", nodes.title("", "Description"), *lead, ids=["description"]))


def setup(app):
    app.connect("doctree-resolved", make_man)
