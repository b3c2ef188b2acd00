# SPDX-License-Identifier: BSD-3-Clause
#
# doc/ as HTML and man pages. `make` has Sphinx make the man pages of the reference (-t reference); `make html` copies
# doc/ to a directory of the build, adds the pictures, and has Sphinx make all of it there (doc/html.sh).
import os
import pathlib
import re

from docutils import nodes
from sphinx import addnodes
from sphinx.writers.manpage import ManualPageTranslator

project = "banyan"
author = "the authors of banyan"
version = release = os.environ.get("BANYAN_VERSION", "")
root_doc = "index"
exclude_patterns = []
of_reference = tags.has("reference")  # Sphinx defines them.
if of_reference:
    root_doc = "reference/index"
    exclude_patterns = ["*.rst", "howto", "build"]
# Options are shown as they are typed.
smartquotes = False
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


def reference():
    """The pages of the reference, by their titles: `banyan-run(1) - run a parallel program`."""
    for path in sorted(pathlib.Path(__file__).with_name("reference").glob("banyan*.rst")):
        title = re.search(r"^(\S+)\(([138])\) - (.*)\n===", path.read_text("utf-8"), re.M)
        if title is None:
            raise ValueError(f"{path}: its title is not NAME(SECTION) - DESCRIPTION")
        yield ("reference/" + path.stem, title[1], title[3], [], int(title[2]))


man_pages = list(reference())
# What is prose becomes section 7.
if not of_reference:
    man_pages += [
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


class ManPage(ManualPageTranslator):
    """The header and footer have no date, which would differ from build to build; only what is marked in a term is
    bold or italic."""

    kinds = {1: "User Commands", 3: "Library routines", 7: "Guides", 8: "System Administration"}

    def header(self):
        self._docinfo.update(date="", version="banyan", manual_group=self.kinds[self._docinfo["manual_section"]])
        return super().header()

    def visit_term(self, node):
        self.body.append("\n")


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


def link_man_pages(app, doctree, name):
    """In HTML :manpage:`banyan-run(1)` is a link to that page, if it is one of ours and not the same."""
    if app.builder.format != "html":
        return
    for node in list(doctree.findall(addnodes.manpage)):
        page = "reference/" + node.astext().partition("(")[0]
        if page in app.env.found_docs and page != name:
            link = nodes.reference("", "", internal=True, refuri=app.builder.get_relative_uri(name, page))
            node.replace_self(link)
            link += node


def link_options(app, doctree, name):
    """In HTML each option of the reference has an anchor, banyan-run.html#--map-by, shown as headings have theirs."""
    if app.builder.format != "html" or not name.startswith("reference/"):
        return
    known = set()
    for term in list(doctree.findall(nodes.term)):
        options = [option for option in re.findall(r"(?<!\S)--?[a-zA-Z][\w-]*", term.astext()) if option not in known]
        if options:
            known.update(options)
            options.sort(key=lambda option: not option.startswith("--"))
            term["ids"] = options
            term += nodes.reference("", "\N{PILCROW SIGN}", refuri="#" + options[0], classes=["headerlink"])


def setup(app):
    app.set_translator("man", ManPage)
    app.connect("doctree-resolved", make_man)
    app.connect("doctree-resolved", link_man_pages)
    app.connect("doctree-resolved", link_options)
