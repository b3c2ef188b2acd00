/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/svg.h"

#include <assert.h>
#include <string.h>

#define STYLE                                                               \
    "text{font:11px monospace;fill:#222}rect{stroke:#666}line{stroke:#999}" \
    "svg{background:#fff}"

/* Bytes of the UTF-8 character at text; 0: that is not UTF-8. */
static size_t character_bytes(const char *text)
{
    unsigned char first = (unsigned char)text[0];
    size_t bytes = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;

    if ((first >= 0x80 && first < 0xc2) || first > 0xf4)
        return 0;
    for (size_t i = 1; i < bytes; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            return 0;
    }
    return bytes;
}

static void put_escaped(struct buffer *out, const char *text)
{
    while (*text != '\0') {
        size_t bytes = character_bytes(text);

        if (bytes == 0 || (unsigned char)*text < ' ' || *text == 0x7f)
            buffer_append_string(out, "?");
        else if (*text == '<')
            buffer_append_string(out, "&lt;");
        else if (*text == '>')
            buffer_append_string(out, "&gt;");
        else if (*text == '&')
            buffer_append_string(out, "&amp;");
        else if (*text == '"')
            buffer_append_string(out, "&quot;");
        else
            buffer_printf(out, "%.*s", (int)bytes, text);
        text += bytes > 0 ? bytes : 1;
    }
}

void svg_begin(struct buffer *out, uint32_t width, uint32_t height, const char *title)
{
    assert(width > 0 && height > 0);
    buffer_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
                  "viewBox=\"0 0 %u %u\">\n<style>" STYLE "</style>\n<title>",
                  width, height, width, height);
    put_escaped(out, title);
    buffer_append_string(out, "</title>\n");
}

void svg_end(struct buffer *out)
{
    buffer_append_string(out, "</svg>\n");
}

void svg_rectangle(struct buffer *out, struct svg_box box, const char *fill, const char *tip)
{
    assert(box.width > 0 && box.height > 0);
    buffer_printf(out, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" rx=\"3\" fill=\"%s\">",
                  box.x, box.y, box.width, box.height, fill);
    if (tip != NULL) {
        buffer_append_string(out, "<title>");
        put_escaped(out, tip);
        buffer_append_string(out, "</title>");
    }
    buffer_append_string(out, "</rect>\n");
}

void svg_text(struct buffer *out, uint32_t x, uint32_t y, const char *text)
{
    assert(text != NULL);
    buffer_printf(out, "<text x=\"%u\" y=\"%u\">", x, y);
    put_escaped(out, text);
    buffer_append_string(out, "</text>\n");
}

void svg_line(struct buffer *out, uint32_t x1, uint32_t y1, uint32_t x2, uint32_t y2)
{
    buffer_printf(out, "<line x1=\"%u\" y1=\"%u\" x2=\"%u\" y2=\"%u\"/>\n", x1, y1, x2, y2);
}
