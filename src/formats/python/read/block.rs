//! Lines on their way to the parser.

use super::function::Function;
use crate::formats::python::lines::Line;
use crate::formats::python::source::Source;
use crate::ir::{Error, Result};
use ruff_python_ast::Stmt;

/// Lines of one indentation that are parsed together.
#[derive(Default)]
pub(super) struct Block {
    /// From the line's beginning, indentation included, to the end of the last line.
    range: Option<(usize, usize, usize)>,
    /// Where comments begin and end.
    comments: Vec<(usize, usize)>,
    /// Where names are cleared: nothing that the parser has to see.
    clears: Vec<(usize, usize)>,
}

/// So much text is parsed at a time: enough for the parser to work at full speed, and little enough
/// for its tree to be small beside the graph.
const BLOCK: usize = 16 * 1024;

impl Block {
    /// Takes one more line; what comes before it may be parsed.
    pub(super) fn line(&mut self, function: &mut Function<'_, '_>, line: Line) -> Result<()> {
        let text = &function.source.text;
        if text.as_bytes().get(line.start) == Some(&b'#') {
            match self.range {
                Some(_) => self.comments.push((line.start, line.end)),
                None => {
                    let comment = text.get(line.start..line.end).unwrap_or_default();
                    function.comment(comment);
                }
            }
            return Ok(());
        }
        let (start, _, indent) = *self.range.get_or_insert((line.start - line.indent, line.end, line.indent));
        self.range = Some((start, line.end, indent));
        if line.cleared < line.end {
            self.clears.push((line.cleared, line.end));
        }
        match line.end - start >= BLOCK {
            true => self.flush(function),
            false => Ok(()),
        }
    }

    /// Parses what is there, and runs through its statements.
    pub(super) fn flush(&mut self, function: &mut Function<'_, '_>) -> Result<()> {
        let comments = std::mem::take(&mut self.comments);
        let source = function.source;
        let comment_text = |&(start, end): &(usize, usize)| source.text.get(start..end).unwrap_or_default();
        if let Some((start, end, indent)) = self.range.take() {
            let text = source.text.get(start..end).unwrap_or_default();
            const HEAD: &str = "if 1:\n";
            let head = if indent > 0 { HEAD } else { "" };
            let base = start as isize - head.len() as isize;
            let mut code = String::with_capacity(head.len() + text.len());
            code.push_str(head);
            let mut at = start;
            for (from, to) in std::mem::take(&mut self.clears) {
                code.push_str(source.text.get(at..from).unwrap_or_default());
                // As long as what it stands for, so that places stay what they are.
                code.push_str(&" ".repeat(to - from));
                at = to;
            }
            code.push_str(source.text.get(at..end).unwrap_or_default());
            let parsed = ruff_python_parser::parse_module(&code).map_err(|error| syntax(source, &error, base))?;
            function.set_base(base);
            let module = parsed.into_syntax();
            let statements = match module.body.as_slice() {
                [Stmt::If(block)] if indent > 0 => &block.body[..],
                statements => statements,
            };
            let mut comments = comments.iter().peekable();
            let mut index = 0;
            while let Some(statement) = statements.get(index) {
                let at = function.at(statement);
                while let Some(comment) = comments.next_if(|&&(start, _)| start < at) {
                    function.comment(comment_text(comment));
                }
                index = function.statement(statements, index)?;
            }
            comments.for_each(|comment| function.comment(comment_text(comment)));
        } else {
            comments.iter().for_each(|comment| function.comment(comment_text(comment)));
        }
        Ok(())
    }
}

/// What the parser says, at its place in the source.
pub(super) fn syntax(source: &Source<'_>, error: &ruff_python_parser::ParseError, base: isize) -> Error {
    let at = usize::try_from(base + error.location.start().to_u32() as isize).unwrap_or(0);
    source.error(at, &error.error.to_string())
}
