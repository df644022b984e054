//! The renderers never panic and never pass an escape character on, whatever texts and places hold.

use std::sync::Arc;

use proptest::prelude::{ProptestConfig, any, prop_assert, proptest};
use tilescope_diagnostics::render::{Paint, Sources, text};
use tilescope_diagnostics::{Check, Error, Finding, Frame, Location, Source};

const ESCAPE: char = '\u{1b}';

struct Same(Arc<Source>);

impl Sources for Same {
    fn text(&self, file: &str) -> Option<Arc<Source>> {
        (file != "gone").then(|| self.0.clone())
    }
}

fn location(file: &str, line: u32, column: u32) -> Option<Location> {
    let frame = Frame {
        file: file.to_string(),
        line,
        column,
        function: None,
    };
    Some(Location {
        frame,
        inlined_at: Vec::new(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn errors(
        source in "[a-c(\\[é\u{1b}\t\r\n漢\u{200d}]{0,60}",
        message in "\\PC{0,10}",
        labels in proptest::collection::vec((0_usize..80, 0_usize..80, "[a\n\u{1b}]{0,4}"), 0..4),
    ) {
        let source = Source::new("a\u{1b}", source);
        let mut error = Error::input(message);
        for (start, end, label) in labels {
            error = error.at(&source, start..end, label);
        }
        prop_assert!(!text::error(&error, Paint::Plain).contains(ESCAPE));
        text::error(&error, Paint::Color);
    }

    #[test]
    fn findings(
        source in "[a-c(\\[é\u{1b}\t\r\n漢]{0,60}",
        message in any::<String>(),
        places in proptest::collection::vec(("[ab\u{1b}]|gone", 0_u32..9, 0_u32..20), 4),
    ) {
        let place = |i: usize| location(&places[i].0, places[i].1, places[i].2);
        let finding = Finding {
            location: place(0),
            born: place(1),
            used: place(2),
            other: place(3),
            ..Finding::new(Check::RaceReadWrite, "k", message)
        };
        let sources = Same(Source::new("a", source));
        prop_assert!(!text::finding(&finding, &sources, Paint::Plain).contains(ESCAPE));
    }
}
