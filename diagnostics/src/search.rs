//! What a search over many cases of a launch gave, as reports have it: how much was judged, and the case that failed.

/// A search.
#[derive(Debug, Clone, PartialEq)]
pub struct Searched {
    /// Cases that were run, those not counted that made a failing one small.
    pub cases: u32,
    /// The seed they were drawn with.
    pub seed: u64,
    /// True if nothing varied but the data.
    pub fixed: bool,
    /// How many of them were drawn larger and made to fit.
    pub fitted: u32,
    /// That many elements of all tensors together.
    pub most_elements: u64,
    /// How many could not be launched, and why the first could not.
    pub not_launched: (u32, Option<String>),
    /// How the bounds of each output fared, by its name.
    pub bounds: Vec<Bounds>,
    /// The case that failed.
    pub case: Option<FailedCase>,
}

/// How the bounds of one output fared, over all cases in which nothing differed.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// The output.
    pub output: String,
    /// Elements compared by a bound.
    pub judged: u64,
    /// Elements of which the bound says nothing.
    pub unknown: u64,
    /// The largest share of its bound that a difference took: 1 is all of it.
    pub largest: f64,
}

/// A case in which something is wrong; the findings of the launch are those of its smallest form.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedCase {
    /// The smallest that still fails, and the one it was first seen in, in words; none: the launch as its file says it.
    pub words: Option<(String, String)>,
    /// Cases run to make it small.
    pub shrinking: u32,
    /// The launch file of the smallest, where one was written.
    pub launch_file: Option<String>,
    /// The command that runs it again, and says where it goes wrong.
    pub replay: String,
    /// True if that was looked for already.
    pub bisected: bool,
    /// Where an output differs: lines, the last dimension across, all others down; `#` where all elements do, `+` where
    /// some do, `.` where none does.
    pub map: Option<String>,
}
