//! The part of Python's syntax that kernels use, with the place of each node.
//!
//! [`parse`](crate::parse) makes it of any file; syntax that no kernel can use (classes with odd bodies, `async`,
//! `match`, …) is kept as [`StmtKind::Other`] and [`ExprKind::Other`] with its name, so that a file in which a
//! kernel sits among arbitrary Python still reads, and only a kernel that reaches such a node is refused.

use std::rc::Rc;

use num_bigint::BigInt;

/// A byte range in the file's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// As a range for [`tilescope_diagnostics::Error::at`].
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// An identifier.
pub type Name = Rc<str>;

/// A name with its place.
#[derive(Debug, Clone)]
pub struct Ident {
    /// The name.
    pub name: Name,
    /// Where it stands.
    pub span: Span,
}

/// An expression.
#[derive(Debug, Clone)]
pub struct Expr {
    /// Where it stands.
    pub span: Span,
    /// What it is.
    pub kind: ExprKind,
}

/// What an expression is.
#[derive(Debug, Clone)]
pub enum ExprKind {
    /// `None`.
    None,
    /// `True`, `False`.
    Bool(bool),
    /// An integer of any size.
    Int(BigInt),
    /// A float.
    Float(f64),
    /// A string; adjacent ones are joined.
    Str(Rc<str>),
    /// `...`.
    Ellipsis,
    /// An f-string.
    Format(Vec<FormatPart>),
    /// A variable.
    Name(Name),
    /// `value.name`.
    Attribute(Box<Expr>, Ident),
    /// `value[index]`; several indices are a tuple.
    Subscript(Box<Expr>, Box<Expr>),
    /// `lower:upper:step`, inside of a subscript.
    Slice(Option<Box<Expr>>, Option<Box<Expr>>, Option<Box<Expr>>),
    /// A call.
    Call(Box<Call>),
    /// `-x`, `not x`, …
    Unary(UnaryOp, Box<Expr>),
    /// `x + y`, …
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a and b and c`, `a or b`.
    Logic(BoolOp, Vec<Expr>),
    /// `a < b <= c`: the first operand, then each comparison with its right operand.
    Compare(Box<Expr>, Vec<(CompareOp, Expr)>),
    /// `then if condition else otherwise`.
    IfElse {
        /// The condition.
        condition: Box<Expr>,
        /// The value when true.
        then: Box<Expr>,
        /// The value when false.
        otherwise: Box<Expr>,
    },
    /// `(a, b)`.
    Tuple(Vec<Expr>),
    /// `[a, b]`.
    List(Vec<Expr>),
    /// `{a, b}`.
    Set(Vec<Expr>),
    /// `{k: v, **other}`; a key of none is a `**`.
    Dict(Vec<(Option<Expr>, Expr)>),
    /// `*x` in a call or a tuple.
    Starred(Box<Expr>),
    /// `name := value`.
    Walrus(Ident, Box<Expr>),
    /// `lambda params: body`.
    Lambda(Rc<Lambda>),
    /// `[element for …]`, `(element for …)`, `{key: value for …}`.
    Comprehension(Rc<Comprehension>),
    /// Syntax that kernels cannot use, by its name (`await`).
    Other(&'static str),
}

/// A piece of an f-string.
#[derive(Debug, Clone)]
pub enum FormatPart {
    /// Text as it stands.
    Text(Rc<str>),
    /// `{value!conversion:spec}`; `{x=}` is a text and such a value.
    Value {
        /// The expression.
        value: Expr,
        /// `r`, `s` or `a`.
        conversion: Option<char>,
        /// The format after the colon, itself with pieces; empty when there is none.
        spec: Vec<FormatPart>,
    },
}

/// A call.
#[derive(Debug, Clone)]
pub struct Call {
    /// What is called.
    pub function: Expr,
    /// Positional arguments; `*args` are [`ExprKind::Starred`].
    pub args: Vec<Expr>,
    /// Keyword arguments; a name of none is `**kwargs`.
    pub keywords: Vec<(Option<Ident>, Expr)>,
}

/// `lambda`.
#[derive(Debug, Clone)]
pub struct Lambda {
    /// Parameters.
    pub params: Params,
    /// The value.
    pub body: Expr,
}

/// Which brackets a comprehension stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComprehensionKind {
    /// `[…]`.
    List,
    /// `(…)`.
    Generator,
    /// `{…}`.
    Set,
    /// `{k: v …}`.
    Dict,
}

/// A comprehension.
#[derive(Debug, Clone)]
pub struct Comprehension {
    /// Its brackets.
    pub kind: ComprehensionKind,
    /// The element; the key of a dictionary.
    pub element: Expr,
    /// The value of a dictionary's entry.
    pub value: Option<Expr>,
    /// `for target in iter if condition …`, outermost first.
    pub loops: Vec<ComprehensionLoop>,
}

/// A loop of a comprehension.
#[derive(Debug, Clone)]
pub struct ComprehensionLoop {
    /// What is assigned.
    pub target: Expr,
    /// What is run through.
    pub iter: Expr,
    /// All must hold.
    pub conditions: Vec<Expr>,
}

/// Unary operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum UnaryOp {
    Neg,
    Pos,
    Not,
    Invert,
}

/// Binary operators that are not comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    Pow,
    Shl,
    Shr,
    And,
    Or,
    Xor,
    MatMul,
}

/// `and`, `or`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum BoolOp {
    And,
    Or,
}

/// Comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum CompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Is,
    IsNot,
    In,
    NotIn,
}

impl UnaryOp {
    /// As Python writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Neg => "-",
            UnaryOp::Pos => "+",
            UnaryOp::Not => "not",
            UnaryOp::Invert => "~",
        }
    }
}

impl BinaryOp {
    /// As Python writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::FloorDiv => "//",
            BinaryOp::Mod => "%",
            BinaryOp::Pow => "**",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::And => "&",
            BinaryOp::Or => "|",
            BinaryOp::Xor => "^",
            BinaryOp::MatMul => "@",
        }
    }
}

impl CompareOp {
    /// As Python writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            CompareOp::Eq => "==",
            CompareOp::Ne => "!=",
            CompareOp::Lt => "<",
            CompareOp::Le => "<=",
            CompareOp::Gt => ">",
            CompareOp::Ge => ">=",
            CompareOp::Is => "is",
            CompareOp::IsNot => "is not",
            CompareOp::In => "in",
            CompareOp::NotIn => "not in",
        }
    }
}

/// A statement.
#[derive(Debug, Clone)]
pub struct Stmt {
    /// Where it stands.
    pub span: Span,
    /// What it is.
    pub kind: StmtKind,
}

/// What a statement is.
#[derive(Debug, Clone)]
pub enum StmtKind {
    /// An expression for its effect; a docstring.
    Expr(Expr),
    /// `a = b = value`.
    Assign {
        /// Left sides, in order.
        targets: Vec<Expr>,
        /// The value.
        value: Expr,
    },
    /// `target op= value`.
    AugAssign {
        /// Read and written.
        target: Expr,
        /// The operator.
        op: BinaryOp,
        /// The right side.
        value: Expr,
    },
    /// `target: annotation = value`.
    AnnAssign {
        /// The left side.
        target: Expr,
        /// The annotation.
        annotation: Expr,
        /// The value, unless only declared.
        value: Option<Expr>,
    },
    /// `if`; an `elif` is an `if` alone in `otherwise`.
    If {
        /// The condition.
        condition: Expr,
        /// Statements when true.
        then: Vec<Stmt>,
        /// Statements when false.
        otherwise: Vec<Stmt>,
    },
    /// `for target in iter: body else: otherwise`.
    For {
        /// What is assigned.
        target: Expr,
        /// What is run through.
        iter: Expr,
        /// The body.
        body: Vec<Stmt>,
        /// Statements after a loop without `break`.
        otherwise: Vec<Stmt>,
    },
    /// `while condition: body else: otherwise`.
    While {
        /// The condition.
        condition: Expr,
        /// The body.
        body: Vec<Stmt>,
        /// Statements after a loop without `break`.
        otherwise: Vec<Stmt>,
    },
    /// `with a as b, c: body`.
    With {
        /// Each context with its name.
        items: Vec<(Expr, Option<Expr>)>,
        /// The body.
        body: Vec<Stmt>,
    },
    /// `return value`.
    Return(Option<Expr>),
    /// `pass`.
    Pass,
    /// `break`.
    Break,
    /// `continue`.
    Continue,
    /// `assert condition, message`.
    Assert {
        /// What must hold.
        condition: Expr,
        /// What is said if not.
        message: Option<Expr>,
    },
    /// `raise value`.
    Raise(Option<Expr>),
    /// `del a, b`.
    Delete(Vec<Expr>),
    /// `global a`, `nonlocal a`.
    Global(Vec<Ident>),
    /// A function.
    Function(Rc<FunctionDef>),
    /// A class.
    Class(Rc<ClassDef>),
    /// `import a.b as c`.
    Import(Vec<Alias>),
    /// `from module import a as b`.
    ImportFrom {
        /// The module's dotted name; empty for `from . import x`.
        module: Rc<str>,
        /// Leading dots.
        level: u32,
        /// What is imported; a name of `*` is everything.
        names: Vec<Alias>,
    },
    /// `try`; the handlers' and `finally`'s statements are kept, the exceptions' types are not.
    Try {
        /// The body.
        body: Vec<Stmt>,
        /// The statements of each handler.
        handlers: Vec<Vec<Stmt>>,
        /// After a body without exception.
        otherwise: Vec<Stmt>,
        /// Always.
        finally: Vec<Stmt>,
    },
    /// Syntax that kernels cannot use, by its name (`match`).
    Other(&'static str),
}

/// `name as asname`.
#[derive(Debug, Clone)]
pub struct Alias {
    /// Dotted name.
    pub name: Ident,
    /// New name.
    pub asname: Option<Ident>,
}

/// Parameters of a function.
#[derive(Debug, Clone, Default)]
pub struct Params {
    /// Positional ones (those before a `/` too), in order.
    pub positional: Vec<Param>,
    /// `*args`.
    pub vararg: Option<Param>,
    /// Those after `*`.
    pub keyword_only: Vec<Param>,
    /// `**kwargs`.
    pub kwarg: Option<Param>,
}

/// A parameter.
#[derive(Debug, Clone)]
pub struct Param {
    /// Its name.
    pub ident: Ident,
    /// `: annotation`.
    pub annotation: Option<Expr>,
    /// `= default`.
    pub default: Option<Expr>,
}

/// A function's definition.
#[derive(Debug, Clone)]
pub struct FunctionDef {
    /// Its name.
    pub ident: Ident,
    /// Decorators, outermost first, without `@`.
    pub decorators: Vec<Expr>,
    /// Parameters.
    pub params: Params,
    /// `-> annotation`.
    pub returns: Option<Expr>,
    /// The body.
    pub body: Vec<Stmt>,
    /// From the first decorator, or `def`, to the end.
    pub span: Span,
}

/// A class.
#[derive(Debug, Clone)]
pub struct ClassDef {
    /// Its name.
    pub ident: Ident,
    /// Decorators.
    pub decorators: Vec<Expr>,
    /// Bases.
    pub bases: Vec<Expr>,
    /// Keywords (`metaclass=…`).
    pub keywords: Vec<(Option<Ident>, Expr)>,
    /// The body.
    pub body: Vec<Stmt>,
    /// Where it stands.
    pub span: Span,
}
