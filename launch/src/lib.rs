//! tilescope-launch
