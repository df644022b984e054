//! Outputs of a pipeline that were not written whole, judged at its end.
//!
//! Each launch is checked alone, and finds unwritten what another launch of the pipeline writes, before it or after.
//! Here the findings about one tensor are brought together; what some launch wrote is no finding.
//!
//! Left out: where several launches leave different holes in a tensor, nobody knows here which elements all of them
//! leave, and nothing is reported.

use tilescope_diagnostics::{Check, Finding, Launched};

/// Keeps of the findings `unwritten-output` those that are true of the whole pipeline; `reaches` says whether a launch
/// is given a tensor.
pub fn settle_unwritten(launched: &mut [Launched], reaches: impl Fn(usize, &str) -> bool) {
    let mut found: Vec<(usize, Finding)> = Vec::new();
    for (index, one) in launched.iter_mut().enumerate() {
        let (unwritten, others) = std::mem::take(&mut one.findings)
            .into_iter()
            .partition(|finding| finding.check == Check::UnwrittenOutput);
        let unwritten: Vec<Finding> = unwritten;
        one.findings = others;
        found.extend(unwritten.into_iter().map(|finding| (index, finding)));
    }
    let mut names: Vec<String> = Vec::new();
    for name in found.iter().map(|(_, finding)| tensor(finding)) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_string());
        }
    }
    for name in names {
        let of_it: Vec<&(usize, Finding)> = found.iter().filter(|(_, f)| tensor(f) == name).collect();
        let given = (0..launched.len()).filter(|&index| reaches(index, &name)).count();
        // A launch that found no hole wrote all of it.
        if of_it.len() < given {
            continue;
        }
        if let Some((index, finding)) = left_by_all(&of_it)
            && let Some(one) = launched.get_mut(*index)
        {
            one.findings.push(finding.clone());
        }
    }
}

/// The finding that says what all of these launches leave unwritten, if one of them does.
fn left_by_all<'f>(findings: &[&'f (usize, Finding)]) -> Option<&'f (usize, Finding)> {
    let writers: Vec<_> = findings
        .iter()
        .copied()
        .filter(|(_, finding)| !nothing_written(finding))
        .collect();
    let Some((first, rest)) = writers.split_first() else {
        return findings.last().copied();
    };
    let same = |other: &&&(usize, Finding)| other.1.message == first.1.message;
    match rest.iter().all(|other| same(&other)) {
        true => writers.last().copied(),
        false => None,
    }
}

fn tensor(finding: &Finding) -> &str {
    finding.tensor.as_ref().map_or("", |tensor| &tensor.name)
}

fn nothing_written(finding: &Finding) -> bool {
    let shape = finding.tensor.iter().flat_map(|tensor| &tensor.shape);
    let elements: i64 = shape.fold(1, |product, size| product.saturating_mul(*size));
    u64::try_from(elements) == Ok(finding.count)
}

#[cfg(test)]
mod tests {
    use tilescope_diagnostics::TensorRef;

    use super::*;

    fn hole(count: u64, message: &str) -> Finding {
        let mut finding = Finding::new(Check::UnwrittenOutput, "k", message);
        finding.count = count;
        finding.tensor = Some(TensorRef {
            name: String::from("b"),
            dtype: String::from("f32"),
            shape: vec![8],
            strides: vec![1],
        });
        finding
    }

    /// How many findings each launch keeps, of launches that are all given the tensor.
    fn kept(launches: &[Option<Finding>]) -> Vec<usize> {
        let mut launched: Vec<Launched> = launches
            .iter()
            .map(|finding| Launched {
                launch: String::new(),
                kernel: String::new(),
                grid: [1; 3],
                programs: 1,
                elapsed_s: 0.0,
                outputs: Vec::new(),
                prints: Vec::new(),
                findings: finding.iter().cloned().collect(),
                suppressed: Vec::new(),
                findings_cut: false,
                interrupted: false,
                notes: Vec::new(),
                search: None,
            })
            .collect();
        settle_unwritten(&mut launched, |_, _| true);
        launched.iter().map(|one| one.findings.len()).collect()
    }

    #[test]
    fn what_any_launch_writes_is_no_finding() {
        let (all, tail, head) = (hole(8, "nothing"), hole(3, "the tail"), hole(5, "the head"));
        let some = |finding: &Finding| Some(finding.clone());
        // Written before it is read, or read before it is written.
        assert_eq!(kept(&[None, some(&all)]), [0, 0]);
        assert_eq!(kept(&[some(&all), None]), [0, 0]);
        // Nobody writes it: said once.
        assert_eq!(kept(&[some(&all), some(&all)]), [0, 1]);
        // The only writer leaves a hole.
        assert_eq!(kept(&[some(&all), some(&tail), some(&all)]), [0, 1, 0]);
        // Two writers: the same hole, or parts that may go together.
        assert_eq!(kept(&[some(&tail), some(&tail)]), [0, 1]);
        assert_eq!(kept(&[some(&tail), some(&head)]), [0, 0]);
    }
}
