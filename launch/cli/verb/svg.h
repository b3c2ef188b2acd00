/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The few elements of SVG that banyan's drawings consist of.  Lengths are pixels; text is a font of
 * fixed width, so that its length is known without asking a font.  What is not UTF-8 or controls a
 * terminal is replaced by '?'.
 */
#ifndef LAUNCH_CLI_VERB_SVG_H
#define LAUNCH_CLI_VERB_SVG_H

#include <stdint.h>

#include "base/buffer.h"

#define SVG_CHARACTER_WIDTH 7u /* of a character of text, rounded up */
#define SVG_LINE_HEIGHT     18u

struct svg_box {
    uint32_t x, y, width, height;
};

void svg_begin(struct buffer *out, uint32_t width, uint32_t height, const char *title);
void svg_end(struct buffer *out);
/* fill: a colour as SVG writes it, as "#88aadd" or "none".  tip: shown where the pointer rests; NULL: none. */
void svg_rectangle(struct buffer *out, struct svg_box box, const char *fill, const char *tip);
/* y is that of the baseline. */
void svg_text(struct buffer *out, uint32_t x, uint32_t y, const char *text);
void svg_line(struct buffer *out, uint32_t x1, uint32_t y1, uint32_t x2, uint32_t y2);

#endif
