//! Exit statuses, and which of several wins.

use std::process::ExitCode;

/// How a command ended. Documented in `--help`; scripts rely on the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// 0: nothing wrong.
    Clean,
    /// 1: an error in a kernel, or an output that differs.
    Found,
    /// 3: something asked for is not supported.
    Unsupported,
    /// 2: bad usage, input or output file.
    Input,
    /// 130: stopped by Ctrl-C.
    Interrupted,
    /// 70: a bug in tilescope.
    Internal,
}

impl Status {
    /// The worse of two, in the order 2, 3, 1, 0; an interrupt or a bug beats all of them.
    pub fn and(self, other: Status) -> Status {
        let rank = |status| match status {
            Status::Clean => 0,
            Status::Found => 1,
            Status::Unsupported => 2,
            Status::Input => 3,
            Status::Interrupted => 4,
            Status::Internal => 5,
        };
        if rank(other) > rank(self) { other } else { self }
    }

    /// The status for an error about an input.
    pub fn of(error: &tilescope_diagnostics::Error) -> Status {
        match error.kind {
            tilescope_diagnostics::ErrorKind::Input => Status::Input,
            tilescope_diagnostics::ErrorKind::Unsupported => Status::Unsupported,
            tilescope_diagnostics::ErrorKind::Internal => Status::Internal,
        }
    }

    /// The number given to the system.
    pub fn number(self) -> u8 {
        match self {
            Status::Clean => 0,
            Status::Found => 1,
            Status::Input => 2,
            Status::Unsupported => 3,
            Status::Internal => 70,
            Status::Interrupted => 130,
        }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(status.number())
    }
}

#[cfg(test)]
mod tests {
    use super::Status::{Clean, Found, Input, Unsupported};

    #[test]
    fn the_worst_wins_in_the_order_2_3_1_0() {
        assert_eq!(Clean.and(Found), Found);
        assert_eq!(Unsupported.and(Found), Unsupported);
        assert_eq!(Found.and(Input).and(Unsupported), Input);
        assert_eq!(Clean.and(Clean), Clean);
    }
}
