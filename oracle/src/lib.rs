//! tilescope-oracle
