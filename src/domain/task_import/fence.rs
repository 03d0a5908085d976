//! Fenced code blocks in Markdown: their lines are neither items nor dependencies.

/// An open code block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CodeFence {
    /// The character of the fence, `` ` `` or `~`.
    mark: char,
    /// The number of these characters in the first line.
    length: usize,
}

impl CodeFence {
    /// Returns the code block that `line` opens; `None` if it opens none. `line` has no blanks around it.
    pub(super) fn open(line: &str) -> Option<CodeFence> {
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let rest = line.trim_start_matches(mark);
        let length = line.len() - rest.len();
        // Inline code may also begin with several backticks; then there are further ones in the line.
        let is_inline = mark == '`' && rest.contains('`');
        (length >= 3 && !is_inline).then_some(CodeFence { mark, length })
    }

    /// Returns whether `line` closes the code block. `line` has no blanks around it.
    pub(super) fn is_closed_by(self, line: &str) -> bool {
        line.len() >= self.length && line.chars().all(|c| c == self.mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fence_is_closed_by_as_many_of_the_same_character() {
        for (line, is_fence) in [
            ("```", true),
            ("~~~~ rust", true),
            ("``", false),
            ("```a``` b", false),
            ("", false),
        ] {
            assert_eq!(CodeFence::open(line).is_some(), is_fence, "{line}");
        }
        let fence = CodeFence::open("~~~~ rust").unwrap();
        for (line, is_closed) in [
            ("~~~~", true),
            ("~~~~~", true),
            ("~~~", false),
            ("````", false),
        ] {
            assert_eq!(fence.is_closed_by(line), is_closed, "{line}");
        }
    }
}
