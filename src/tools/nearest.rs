//! Finds the known name that is closest to a misspelled name.

/// Maximum length, in bytes, of a name for which the closest known name is searched. For a longer name, none is
/// returned.
const NAME_MAX: usize = 200;

/// Returns the name among the known names `there` that is closest to `name`; `None` if no name is similar.
pub fn nearest<'a>(name: &str, there: &[&'a str]) -> Option<&'a str> {
    if name.len() > NAME_MAX {
        return None;
    }
    there
        .iter()
        .map(|known| (strsim::jaro_winkler(name, known), *known))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(alike, _)| *alike > 0.75)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn long_names_are_not_compared() {
        assert_eq!(nearest("bsh", &["bash"]), Some("bash"));
        let long = format!("bash{}", " ".repeat(NAME_MAX));
        assert_eq!(nearest(&long, &["bash"]), None);
    }
}
