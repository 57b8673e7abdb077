# SPDX-License-Identifier: GPL-2.0-or-later
#
# plot.awk - a plot as SVG, of lines with tabs between their fields:
#
#   title TEXT | desc TEXT
#   x|y LABEL log|linear MIN MAX TICK...
#   series NAME COLOUR line|dash|dots|rings [SHIFT]    then its points: X Y
#
# Series are named beside their last points; SHIFT lowers the name.

BEGIN {
    FS = "\t"
    left = 90; right = 550; top = 34; bottom = 300; width = 720; height = 344
    look["line"] = "stroke-width='2.5'"
    look["dash"] = look["line"] " stroke-dasharray='7 4'"
    look["dots"] = "stroke-width='3' stroke-linecap='round' stroke-opacity='.6'"
}
function place (axis, value,    part)
{
    part = log_scale[axis] \
        ? log(value / low[axis]) / log(high[axis] / low[axis]) \
        : (value - low[axis]) / (high[axis] - low[axis])
    return axis == "x" ? left + part * (right - left) \
        : bottom - part * (bottom - top)
}
function commas (n,    i)
{
    if (n !~ /[.]/)
        for (i = length(n) - 3; i > 0; i -= 3)
            n = substr(n, 1, i) "," substr(n, i + 1)
    return n
}
function text (x, y, attributes, what)
{
    printf "<text x='%.0f' y='%.0f' %s>%s</text>\n", x, y, attributes, what
}
function frame (    i, at)
{
    printf "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' " \
        "font-family='sans-serif' font-size='12' role='img' " \
        "aria-labelledby='t d'>\n", width, height
    print "<!-- SPDX-License-Identifier: GPL-2.0-or-later -->"
    printf "<title id='t'>%s</title><desc id='d'>%s</desc>\n", said["title"],
        said["desc"]
    printf "<rect width='%d' height='%d' fill='#fff'/>\n", width, height
    for (i = 1; i <= ticks["y"]; i++) {
        at = place("y", tick["y", i])
        printf "<path d='M%d %.0fH%d' stroke='#e3e7eb'/>", left, at, right
        text(left - 8, at + 4, "text-anchor='end'", commas(tick["y", i]))
    }
    for (i = 1; i <= ticks["x"]; i++) {
        at = place("x", tick["x", i])
        printf "<path d='M%.0f %dv5' stroke='#44505c'/>", at, bottom
        text(at, bottom + 18, "text-anchor='middle'", commas(tick["x", i]))
    }
    printf "<path d='M%d %dV%dH%d' stroke='#44505c' fill='none'/>\n", left, top,
        bottom, right
    text((left + right) / 2, bottom + 38, "text-anchor='middle'", label["x"])
    text(8, top - 16, "", label["y"])
}
function draw (    i, at, path)
{
    for (i = 1; i <= points; i++) {
        at = sprintf("%.0f %.0f", place("x", px[i]), place("y", py[i]))
        path = path (style == "dots" ? "M" at "h0" : (i > 1 ? "L" : "M") at)
    }
    if (points > 0 && style in look)
        printf "<path d='%s' stroke='%s' fill='none' %s/>\n", path, colour,
            look[style]
    for (i = 1; i <= points && style != "dots"; i++)
        printf "<circle cx='%.0f' cy='%.0f' r='3.5' stroke='%s' fill='%s'/>\n",
            place("x", px[i]), place("y", py[i]), colour,
            style == "rings" ? "#fff" : colour
    if (points > 0 && name != "")
        text(place("x", px[points]) + 9, place("y", py[points]) + 4 + shift,
            "fill='" colour "' stroke='#fff' stroke-width='3' " \
            "paint-order='stroke' font-weight='bold'", name)
    points = 0
}
$1 == "title" || $1 == "desc" { said[$1] = $2; next }
$1 == "x" || $1 == "y" {
    label[$1] = $2
    log_scale[$1] = $3 == "log"
    low[$1] = $4
    high[$1] = $5
    for (i = 6; i <= NF; i++)
        tick[$1, ++ticks[$1]] = $i
    next
}
$1 == "series" {
    if (!begun++)
        frame()
    draw()
    name = $2
    colour = $3
    style = $4
    shift = $5
    next
}
NF == 2 { px[++points] = $1; py[points] = $2 }
END {
    draw()
    print "</svg>"
}
