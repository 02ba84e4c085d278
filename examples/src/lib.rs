//! One program per task.
