//! tilescope-tests
