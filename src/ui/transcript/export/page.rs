//! The HTML form of an exported conversation: a page that needs no other file, loads nothing and runs no script.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::{Entry, ExportHead, Part, about, escape};

const STYLE: &str = include_str!("page.css");
/// The content security policy of an exported page. It forbids the page to load or run anything except its own styles.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";
/// The URL schemes that a link may have.
const SCHEMES: &[&str] = &["http", "https", "mailto"];

/// Returns an HTML page with `entries`. `dropped` is the number of older entries that are missing in the conversation.
pub(super) fn page(head: &ExportHead, dropped: u64, entries: &[Entry]) -> String {
    let title = escape(&format!("Conversation with {}", head.agent));
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header><h1>{title}</h1>\n"
    );
    for line in about(head, dropped) {
        out.push_str(&format!("<p>{}</p>\n", escape(&line)));
    }
    out.push_str("</header>\n");
    for Entry {
        class,
        heading,
        remark,
        is_folded,
        parts,
    } in entries
    {
        let (heading, remark) = (escape(heading), escape(remark));
        out.push_str(&match is_folded {
            true => format!(
                "<details class=\"{class}\"><summary>{heading} <span>{remark}</span></summary>\n"
            ),
            false if heading.is_empty() => format!("<section class=\"{class}\">\n"),
            false => format!("<section class=\"{class}\"><h2>{heading}</h2>\n"),
        });
        for part in parts {
            match part {
                Part::Markdown(text) => html::push_html(&mut out, safe_events(text)),
                Part::Text(text) => {
                    out.push_str(&format!("<div class=\"text\">{}</div>\n", escape(text)));
                }
                Part::Code { text, .. } => {
                    out.push_str(&format!("<pre><code>{}</code></pre>\n", escape(text)));
                }
            }
        }
        out.push_str(if *is_folded {
            "</details>\n"
        } else {
            "</section>\n"
        });
    }
    out.push_str("</body>\n</html>\n");
    out
}

/// Parses the Markdown of an answer into events that are safe as HTML: HTML in the answer becomes text, images become
/// links, links that could run a script lose their target, and a link inside a link becomes text.
fn safe_events(text: &str) -> impl Iterator<Item = Event<'_>> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut depth = 0;
    Parser::new_ext(text, options).map(move |event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::Link { .. } | Tag::Image { .. }) if depth > 0 => {
            depth += 1;
            Event::Text(CowStr::Borrowed(""))
        }
        Event::Start(
            Tag::Link {
                link_type,
                dest_url,
                title,
                id,
            }
            | Tag::Image {
                link_type,
                dest_url,
                title,
                id,
            },
        ) => {
            depth += 1;
            Event::Start(Tag::Link {
                link_type,
                dest_url: if is_safe(&dest_url) {
                    dest_url
                } else {
                    CowStr::Borrowed("")
                },
                title,
                id,
            })
        }
        Event::End(TagEnd::Link | TagEnd::Image) if depth > 1 => {
            depth -= 1;
            Event::Text(CowStr::Borrowed(""))
        }
        Event::End(TagEnd::Link | TagEnd::Image) => {
            depth = 0;
            Event::End(TagEnd::Link)
        }
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        event => event,
    })
}

/// Returns whether `address`, the target of a link, has no URL scheme or one of [`SCHEMES`].
fn is_safe(address: &str) -> bool {
    let scheme = address
        .split(['/', '?', '#'])
        .next()
        .and_then(|start| start.split_once(':'));
    scheme.is_none_or(|(scheme, _)| {
        SCHEMES
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known))
    })
}
