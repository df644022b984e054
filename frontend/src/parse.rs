//! Text to [`ast`](crate::ast), by `ruff_python_parser`: the one file that knows that parser.
