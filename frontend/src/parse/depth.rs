//! How deeply a text's syntax can nest, seen from its tokens alone, before anything recurses over it.

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::Mode;

/// What one open bracket adds to the nesting of what is written now.
#[derive(Default, Clone, Copy)]
struct Level {
    /// Operators since the last comma: each may be a level of the tree (`-x`, `a + b + c`, `f()()`, `a.b`).
    chain: usize,
    /// `lambda`: commas may stand between its parameters, so that they end nothing.
    lambdas: usize,
    /// An f-string: its texts may yet turn out to be code.
    text: bool,
}

/// An upper bound, usually far above the truth, on the nesting of the syntax tree of `text`.
pub(super) fn bound(text: &str) -> usize {
    let mut lexer = ruff_python_parser::lexer::lex(text, Mode::Module);
    let mut open = vec![Level::default()];
    let mut indents = 0usize;
    // The sum over `open` of both counts.
    let mut total = 0usize;
    let mut deepest = 0usize;
    loop {
        let kind = lexer.next_token();
        let top = open.last_mut().map_or(Level::default(), |level| *level);
        let mut level = top;
        match kind {
            TokenKind::EndOfFile => return deepest,
            TokenKind::Indent => indents += 1,
            TokenKind::Dedent => indents = indents.saturating_sub(1),
            TokenKind::Comma => level.chain = 0,
            TokenKind::Newline | TokenKind::Semi => {
                level = Level {
                    text: level.text,
                    ..Level::default()
                };
            }
            TokenKind::Lambda => level.lambdas += 1,
            // A string without end in an f-string: the parser reads it again, as code, to its end.
            TokenKind::Unknown if top.text => level.chain += text.len(),
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace => {}
            kind if kind.is_operator()
                || kind.is_keyword()
                || starts_text(kind)
                || kind == TokenKind::Unknown =>
            {
                level.chain += 1;
            }
            _ => {}
        }
        total = total - top.chain - top.lambdas + level.chain + level.lambdas;
        if let Some(last) = open.last_mut() {
            *last = level;
        }
        match kind {
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace => open.push(Level {
                text: top.text,
                ..Level::default()
            }),
            kind if starts_text(kind) => open.push(Level {
                text: true,
                ..Level::default()
            }),
            TokenKind::Rpar
            | TokenKind::Rsqb
            | TokenKind::Rbrace
            | TokenKind::FStringEnd
            | TokenKind::TStringEnd
                if open.len() > 1 =>
            {
                if let Some(level) = open.pop() {
                    total -= level.chain + level.lambdas;
                }
            }
            _ => {}
        }
        deepest = deepest.max(total + 2 * indents);
    }
}

fn starts_text(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::FStringStart | TokenKind::TStringStart)
}
