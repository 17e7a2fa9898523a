//! What Python takes for a name.

/// Whether a text can stand as a name, after a dot or before a `=`.
pub(super) fn is_identifier(text: &str) -> bool {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let is_name = if is_plain {
        text.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())
    } else {
        let mut chars = text.chars();
        chars.next().is_some_and(|c| c == '_' || c.is_alphabetic()) && chars.all(|c| c == '_' || c.is_alphanumeric())
    };
    is_name && !is_keyword(text)
}

fn is_keyword(text: &str) -> bool {
    (2..=8).contains(&text.len())
        && matches!(
            text,
            "False"
                | "None"
                | "True"
                | "and"
                | "as"
                | "assert"
                | "async"
                | "await"
                | "break"
                | "class"
                | "continue"
                | "def"
                | "del"
                | "elif"
                | "else"
                | "except"
                | "finally"
                | "for"
                | "from"
                | "global"
                | "if"
                | "import"
                | "in"
                | "is"
                | "lambda"
                | "nonlocal"
                | "not"
                | "or"
                | "pass"
                | "raise"
                | "return"
                | "try"
                | "while"
                | "with"
                | "yield"
        )
}
