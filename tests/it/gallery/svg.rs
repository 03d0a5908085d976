//! Writes the picture of a terminal screen as an SVG document. Pure: the same screen gives the same bytes.

use std::fmt::Write;

use super::cells::TextStyle;
use super::color::{Palette, Rgb, mix};
use super::layers::{Piece, contrast_color, corner_color, escape_xml, pieces};
use super::shapes::{HEIGHT, WIDTH, number};

/// Margin around the screen, in picture units.
const MARGIN: f64 = 12.0;
/// Height of the area above the screen that contains the title bar, in picture units.
const TITLE_HEIGHT: f64 = 32.0;
/// The monospaced fonts of common systems, in order of preference.
const FONTS: &str =
    "ui-monospace,SFMono-Regular,Menlo,\"DejaVu Sans Mono\",\"Liberation Mono\",Consolas,monospace";

/// Renders `screen` as an SVG document with `title` in the title bar.
pub fn svg(screen: &vt100::Screen, title: &str, palette: &Palette) -> String {
    let mut styles = Vec::new();
    let pieces = pieces(screen, palette, &mut styles);
    let window = Window::of(screen, palette);
    let mut out = window.head(title, &styles, "");
    window.write_frame(&mut out);
    window.write_title(&mut out, title);
    begin_screen(&mut out);
    write_pieces(&mut out, &pieces);
    out.push_str("</g>\n</svg>\n");
    out
}

/// The window that is drawn around the screen.
pub struct Window {
    pub width: f64,
    pub height: f64,
    background: Rgb,
    foreground: Rgb,
}

impl Window {
    /// Returns a window that fits the size and the background of `screen`.
    pub fn of(screen: &vt100::Screen, palette: &Palette) -> Window {
        let (rows, cols) = screen.size();
        let background = corner_color(screen, palette);
        Window {
            width: f64::from(cols.get()) * WIDTH + 2.0 * MARGIN,
            height: f64::from(rows.get()) * HEIGHT + TITLE_HEIGHT + MARGIN,
            background,
            foreground: contrast_color(background, palette),
        }
    }

    /// Returns the beginning of the document: size, title and style sheet. `more` is added to the style sheet.
    pub fn head(&self, title: &str, styles: &[TextStyle], more: &str) -> String {
        let (width, height, title) = (self.width, self.height, escape_xml(title));
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{title}</title>\n<style>\n\
             text{{font:15px {FONTS}}}\n.m{{text-anchor:middle}}\n"
        );
        for (at, style) in styles.iter().enumerate() {
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
        let _ = writeln!(out, "{more}</style>");
        out
    }

    /// Writes the background, the title bar and the border.
    pub fn write_frame(&self, out: &mut String) {
        let (width, height, background) = (self.width, self.height, self.background);
        let bar = mix(self.foreground, background, 8);
        let _ = writeln!(
            out,
            "<clipPath id=\"f\"><rect width=\"{width}\" height=\"{height}\" rx=\"9\"/></clipPath>\n\
             <g clip-path=\"url(#f)\"><rect width=\"{width}\" height=\"{height}\" fill=\"{background}\"/>\
             <rect width=\"{width}\" height=\"24\" fill=\"{bar}\"/></g>\n\
             <rect x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" rx=\"8.5\" fill=\"none\" stroke=\"#808080\" \
             stroke-opacity=\".5\"/>",
            number(width - 1.0),
            number(height - 1.0),
        );
    }

    fn write_title(&self, out: &mut String, title: &str) {
        let color = mix(self.foreground, self.background, 60);
        let style = format!("font-size:13px;fill:{color}");
        Window::write_title_bar(out, "m", &style, title);
    }

    /// Writes a caption instead of the title. Its text is large, because pages show an animation smaller than it is.
    pub fn write_caption(&self, out: &mut String, classes: &str, caption: &str) {
        let style = format!("font-size:18px;font-weight:700;fill:{}", self.foreground);
        Window::write_title_bar(out, &format!("m {classes}"), &style, caption);
    }

    fn write_title_bar(out: &mut String, classes: &str, style: &str, text: &str) {
        let text = escape_xml(text);
        let _ = writeln!(
            out,
            "<text x=\"50%\" y=\"17\" class=\"{classes}\" style=\"{style}\">{text}</text>"
        );
    }
}

/// Opens the group that contains the pieces of the screen. The caller closes it.
pub fn begin_screen(out: &mut String) {
    let (x, y) = (number(MARGIN), number(TITLE_HEIGHT));
    let _ = writeln!(out, "<g transform=\"translate({x} {y})\">");
}

/// Writes pieces. Adjacent pieces with the same attributes become one path.
pub fn write_pieces<'a>(out: &mut String, pieces: impl IntoIterator<Item = &'a Piece>) {
    let mut open = "";
    for piece in pieces {
        if piece.attributes != open && !open.is_empty() {
            out.push_str("\"/>\n");
        }
        if piece.attributes.is_empty() {
            let _ = writeln!(out, "{}", piece.content);
        } else {
            if piece.attributes != open {
                let _ = write!(out, "<path {} d=\"", piece.attributes);
            }
            out.push_str(&piece.content);
        }
        open = &piece.attributes;
    }
    if !open.is_empty() {
        out.push_str("\"/>\n");
    }
}
