/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/svg.h"

#include "test/support/tap.h"

static void is_text(const char *text, const char *expected, const char *name)
{
    struct buffer out = {0};

    svg_text(&out, 1, 2, text);
    is_string(buffer_string(&out), expected, "%s", name);
    buffer_fini(&out);
}

static void test_text(void)
{
    is_text("n1", "<text x=\"1\" y=\"2\">n1</text>\n", "text");
    is_text("<a & \"b\">", "<text x=\"1\" y=\"2\">&lt;a &amp; &quot;b&quot;&gt;</text>\n",
            "what XML would take for markup");
    is_text("\x1b[1m\x7f", "<text x=\"1\" y=\"2\">?[1m?</text>\n", "control characters");
    is_text("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8c\xb3",
            "<text x=\"1\" y=\"2\">caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8c\xb3</text>\n", "UTF-8");
    is_text("\xff\xc3",
            "<text x=\"1\" y=\"2\">?"
            "?</text>\n",
            "what is not UTF-8");
}

static void test_drawing(void)
{
    struct buffer out = {0};

    svg_begin(&out, 100, 50, "a <tree>");
    svg_rectangle(&out, (struct svg_box){1, 2, 3, 4}, "#fff", "tip & more");
    svg_rectangle(&out, (struct svg_box){5, 6, 7, 8}, "none", NULL);
    svg_line(&out, 1, 2, 3, 4);
    svg_end(&out);
    has_string(buffer_string(&out),
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100\" "
               "height=\"50\" viewBox=\"0 0 100 50\">\n",
               "it has a size");
    has_string(buffer_string(&out), "<title>a &lt;tree&gt;</title>\n", "and a title");
    has_string(buffer_string(&out),
               "<rect x=\"1\" y=\"2\" width=\"3\" height=\"4\" rx=\"3\" fill=\"#fff\">"
               "<title>tip &amp; more</title></rect>\n",
               "a rectangle with a tip");
    has_string(buffer_string(&out),
               "<rect x=\"5\" y=\"6\" width=\"7\" height=\"8\" rx=\"3\" fill=\"none\"></rect>\n",
               "one without");
    has_string(buffer_string(&out), "<line x1=\"1\" y1=\"2\" x2=\"3\" y2=\"4\"/>\n</svg>\n",
               "a line, and the end");
    buffer_fini(&out);
}

int main(void)
{
    test_text();
    test_drawing();
    return done_testing();
}
