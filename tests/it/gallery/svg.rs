//! Renders a terminal screen as SVG: text runs at their cells, symbols as shapes, equal parts merged. Pure: the same screen gives
//! the same bytes.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::cells::{Glyph, TextStyle, colors, glyph, text_style};
use super::color::{Palette, Rgb, mix};
use super::shapes::{DrawMode, HEIGHT, Shape, WIDTH, Weight, number};

/// Margin around the screen, in picture units.
const MARGIN: f64 = 12.0;
/// Height above the screen for the title, in picture units.
const TITLE_HEIGHT: f64 = 32.0;
/// Distance from the top of a cell to the text baseline, in picture units.
const BASELINE: f64 = 14.0;
/// Monospaced fonts of common systems.
const FONTS: &str =
    "ui-monospace,SFMono-Regular,Menlo,\"DejaVu Sans Mono\",\"Liberation Mono\",Consolas,monospace";

/// Renders `screen` as an SVG document with `title` in the title bar.
pub fn svg(screen: &vt100::Screen, title: &str, palette: &Palette) -> String {
    let (rows, cols) = screen.size();
    let corner = screen
        .cell(0, 0)
        .map_or(palette.background, |cell| colors(cell, palette).1);
    let mut layers = Layers::default();
    for row in 0..rows.get() {
        layers.add_row(screen, row, corner, palette);
    }
    if !screen.hide_cursor() {
        let (row, col) = screen.cursor_position();
        layers.cursor = Some((col, row));
    }
    let size = (
        f64::from(cols.get()) * WIDTH + 2.0 * MARGIN,
        f64::from(rows.get()) * HEIGHT + TITLE_HEIGHT + MARGIN,
    );
    layers.document(title, size, corner, palette)
}

/// Text with one style in adjacent cells.
struct TextRun {
    col: u16,
    cells: u16,
    text: String,
    style: TextStyle,
}

/// The layers of the picture, bottom first.
#[derive(Default)]
struct Layers {
    /// By colour: column, row, width and height of each rectangle, in cells.
    backgrounds: BTreeMap<Rgb, Vec<[u16; 4]>>,
    /// By colour: column, row and width of each underline, in cells.
    underlines: BTreeMap<Rgb, Vec<[u16; 3]>>,
    /// Straight lines, in half cells: by colour, weight and position across the line, the start and end of each span.
    horizontal: BTreeMap<(Rgb, Weight, u16), Vec<(u16, u16)>>,
    vertical: BTreeMap<(Rgb, Weight, u16), Vec<(u16, u16)>>,
    /// SVG paths of the shapes.
    paths: BTreeMap<(DrawMode, Rgb), String>,
    styles: Vec<TextStyle>,
    text: String,
    cursor: Option<(u16, u16)>,
}

impl Layers {
    fn add_row(&mut self, screen: &vt100::Screen, row: u16, corner: Rgb, palette: &Palette) {
        let mut run: Option<TextRun> = None;
        let mut gap = 0;
        for col in 0..screen.size().1.get() {
            let Some(cell) = screen.cell(row, col) else {
                continue;
            };
            let (color, background) = colors(cell, palette);
            if background != corner {
                self.add_background(background, col, row);
            }
            if cell.underline() {
                let spans = self.underlines.entry(color).or_default();
                match spans.last_mut() {
                    Some([from, at, wide]) if *at == row && *from + *wide == col => *wide += 1,
                    _ => spans.push([col, row, 1]),
                }
            }
            if cell.is_wide_continuation() {
                continue;
            }
            let style = text_style(cell, color);
            match glyph(cell) {
                Glyph::Blank => gap += 1,
                Glyph::Text => {
                    match &mut run {
                        Some(open) if open.style == style && gap <= 1 => {
                            open.text.push_str(&" ".repeat(gap));
                            open.text.push_str(cell.contents());
                            open.cells = col + 1 - open.col;
                        }
                        _ => {
                            self.write_run(run.take(), row);
                            run = Some(TextRun {
                                col,
                                cells: 1,
                                text: cell.contents().to_string(),
                                style,
                            });
                        }
                    }
                    gap = 0;
                }
                Glyph::Shape(shape) => {
                    self.write_run(run.take(), row);
                    self.add_shape(&shape, col, row, color, background);
                    gap = 0;
                }
                Glyph::Centred => {
                    self.write_run(run.take(), row);
                    let cells = if cell.is_wide() { 2.0 } else { 1.0 };
                    let x = number((f64::from(col) + cells / 2.0) * WIDTH);
                    self.write_text(&x, row, "m", style, "", cell.contents());
                    gap = 0;
                }
            }
        }
        self.write_run(run.take(), row);
    }

    /// Adds the background of a cell, and extends the rectangle on its left if it has the same colour.
    fn add_background(&mut self, color: Rgb, col: u16, row: u16) {
        let all = self.backgrounds.entry(color).or_default();
        match all.last_mut() {
            Some([from, at, wide, _]) if *at == row && *from + *wide == col => *wide += 1,
            _ => all.push([col, row, 1, 1]),
        }
    }

    fn write_run(&mut self, run: Option<TextRun>, row: u16) {
        let Some(run) = run else { return };
        let x = number(f64::from(run.col) * WIDTH);
        // `textLength` keeps the text in its cells if the font is wider or narrower.
        let width = match run.cells {
            1 => String::new(),
            cells => format!(" textLength=\"{}\"", number(f64::from(cells) * WIDTH)),
        };
        self.write_text(&x, row, "", run.style, &width, &run.text);
    }

    fn write_text(
        &mut self,
        x: &str,
        row: u16,
        class: &str,
        style: TextStyle,
        more: &str,
        text: &str,
    ) {
        let at = self.styles.iter().position(|known| *known == style);
        let at = at.unwrap_or_else(|| {
            self.styles.push(style);
            self.styles.len() - 1
        });
        let y = number(f64::from(row) * HEIGHT + BASELINE);
        let class = format!("{class} w{at}");
        let (class, text) = (class.trim_start(), escape_xml(text));
        let _ = writeln!(
            self.text,
            "<text x=\"{x}\" y=\"{y}\" class=\"{class}\"{more}>{text}</text>"
        );
    }

    fn add_shape(&mut self, shape: &Shape, col: u16, row: u16, color: Rgb, background: Rgb) {
        match shape {
            Shape::Arms(arms) => {
                let (x, y) = (col * 2 + 1, row * 2 + 1);
                let spans = [(x - 1, x), (x, x + 1), (y - 1, y), (y, y + 1)];
                for (at, (weight, span)) in arms.iter().zip(spans).enumerate() {
                    let Some(weight) = *weight else { continue };
                    let (lines, across) = if at < 2 {
                        (&mut self.horizontal, y)
                    } else {
                        (&mut self.vertical, x)
                    };
                    lines.entry((color, weight, across)).or_default().push(span);
                }
            }
            Shape::Parts(parts) => {
                for part in parts {
                    let (mode, color) = match part.mode {
                        DrawMode::Fill(percent) => {
                            (DrawMode::Fill(100), mix(color, background, percent))
                        }
                        mode => (mode, color),
                    };
                    let x = number(f64::from(col) * WIDTH + part.from.0);
                    let y = number(f64::from(row) * HEIGHT + part.from.1);
                    let path = self.paths.entry((mode, color)).or_default();
                    let _ = write!(path, "M{x} {y}{}", part.path);
                }
            }
        }
    }

    /// Turns straight lines into paths. Ends inside a cell are extended by 0.5 units, so that corners have no gaps.
    fn merge_lines(&mut self) {
        let horizontal = std::mem::take(&mut self.horizontal);
        let vertical = std::mem::take(&mut self.vertical);
        let (half_x, half_y) = (WIDTH / 2.0, HEIGHT / 2.0);
        for (lines, is_horizontal) in [(horizontal, true), (vertical, false)] {
            for ((color, weight, across), spans) in lines {
                let path = self
                    .paths
                    .entry((DrawMode::Line(weight), color))
                    .or_default();
                for (from, to) in merge_spans(spans) {
                    let (along, off) = if is_horizontal {
                        (half_x, half_y)
                    } else {
                        (half_y, half_x)
                    };
                    let reach = |end: u16| if end % 2 == 1 { 0.5 } else { 0.0 };
                    let begin = f64::from(from) * along - reach(from);
                    let length = f64::from(to) * along + reach(to) - begin;
                    let (begin, length) = (number(begin), number(length));
                    let across = number(f64::from(across) * off);
                    let _ = if is_horizontal {
                        write!(path, "M{begin} {across}h{length}")
                    } else {
                        write!(path, "M{across} {begin}v{length}")
                    };
                }
            }
        }
    }

    fn document(
        mut self,
        title: &str,
        (width, height): (f64, f64),
        corner: Rgb,
        palette: &Palette,
    ) -> String {
        self.merge_lines();
        let title = escape_xml(title);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{title}</title>\n<style>\n\
             text{{font:15px {FONTS}}}\n.m{{text-anchor:middle}}\n"
        );
        for (at, style) in self.styles.iter().enumerate() {
            let bold = if style.is_bold {
                ";font-weight:700"
            } else {
                ""
            };
            let italic = if style.is_italic {
                ";font-style:italic"
            } else {
                ""
            };
            let _ = writeln!(out, ".w{at}{{fill:{}{bold}{italic}}}", style.color);
        }
        let foreground = contrast_color(corner, palette);
        let bar = mix(foreground, corner, 8);
        let _ = write!(
            out,
            "</style>\n<clipPath id=\"f\"><rect width=\"{width}\" height=\"{height}\" rx=\"9\"/></clipPath>\n\
             <g clip-path=\"url(#f)\"><rect width=\"{width}\" height=\"{height}\" fill=\"{corner}\"/>\
             <rect width=\"{width}\" height=\"24\" fill=\"{bar}\"/></g>\n\
             <rect x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" rx=\"8.5\" fill=\"none\" stroke=\"#808080\" \
             stroke-opacity=\".5\"/>\n\
             <text x=\"50%\" y=\"17\" class=\"m\" style=\"font-size:13px;fill:{}\">{title}</text>\n\
             <g transform=\"translate({} {})\">\n",
            number(width - 1.0),
            number(height - 1.0),
            mix(foreground, corner, 60),
            number(MARGIN),
            number(TITLE_HEIGHT),
        );
        self.write_backgrounds(&mut out);
        for ((mode, color), path) in &self.paths {
            let attributes = match mode {
                DrawMode::Fill(_) => format!("fill=\"{color}\""),
                DrawMode::Line(Weight::Light) => format!("fill=\"none\" stroke=\"{color}\""),
                DrawMode::Line(Weight::Heavy) => {
                    format!("fill=\"none\" stroke=\"{color}\" stroke-width=\"2.4\"")
                }
                DrawMode::Dots => format!(
                    "fill=\"none\" stroke=\"{color}\" stroke-width=\"1.7\" stroke-linecap=\"round\""
                ),
                DrawMode::Pen => format!(
                    "fill=\"none\" stroke=\"{color}\" stroke-width=\"1.3\" stroke-linecap=\"round\" \
                     stroke-linejoin=\"round\""
                ),
            };
            let _ = writeln!(out, "<path {attributes} d=\"{path}\"/>");
        }
        out.push_str(&self.text);
        if let Some((col, row)) = self.cursor {
            let (x, y) = (f64::from(col) * WIDTH + 0.5, f64::from(row) * HEIGHT);
            let (x, y, color) = (number(x), number(y), mix(foreground, corner, 80));
            let _ = writeln!(
                out,
                "<path stroke=\"{color}\" stroke-width=\"2\" d=\"M{x} {y}v{HEIGHT}\"/>"
            );
        }
        out.push_str("</g>\n</svg>\n");
        out
    }

    fn write_backgrounds(&self, out: &mut String) {
        for (color, all) in &self.backgrounds {
            let mut path = String::new();
            for [col, row, wide, high] in merge_rectangles(all) {
                let (x, y) = (f64::from(col) * WIDTH, f64::from(row) * HEIGHT);
                let (wide, high) = (f64::from(wide) * WIDTH, f64::from(high) * HEIGHT);
                let _ = write!(
                    path,
                    "M{} {}h{}v{}h-{}z",
                    number(x),
                    number(y),
                    number(wide),
                    number(high),
                    number(wide)
                );
            }
            let _ = writeln!(
                out,
                "<path fill=\"{color}\" shape-rendering=\"crispEdges\" d=\"{path}\"/>"
            );
        }
        for (color, all) in &self.underlines {
            let mut path = String::new();
            for [col, row, wide] in all {
                let y = f64::from(*row) * HEIGHT + BASELINE + 2.5;
                let (x, wide) = (f64::from(*col) * WIDTH, f64::from(*wide) * WIDTH);
                let _ = write!(path, "M{} {}h{}", number(x), number(y), number(wide));
            }
            let _ = writeln!(out, "<path fill=\"none\" stroke=\"{color}\" d=\"{path}\"/>");
        }
    }
}

/// Returns a colour that is visible on `background`.
fn contrast_color(background: Rgb, palette: &Palette) -> Rgb {
    let sum = u16::from(background.0) + u16::from(background.1) + u16::from(background.2);
    if sum > 3 * 128 {
        palette.background
    } else {
        palette.foreground
    }
}

/// Merges spans that touch or overlap.
fn merge_spans(mut spans: Vec<(u16, u16)>) -> Vec<(u16, u16)> {
    spans.sort_unstable();
    let mut out: Vec<(u16, u16)> = Vec::new();
    for (from, to) in spans {
        match out.last_mut() {
            Some((_, end)) if from <= *end => *end = to.max(*end),
            _ => out.push((from, to)),
        }
    }
    out
}

/// Merges one-row rectangles with the rectangle directly above if that has the same column and width.
fn merge_rectangles(all: &[[u16; 4]]) -> Vec<[u16; 4]> {
    let mut out: Vec<[u16; 4]> = Vec::new();
    for &[col, row, wide, high] in all {
        let above = out
            .iter_mut()
            .rfind(|r| r[0] == col && r[2] == wide && r[1] + r[3] == row);
        match above {
            Some(found) => found[3] += high,
            None => out.push([col, row, wide, high]),
        }
    }
    out
}

/// Escapes text for XML.
fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
