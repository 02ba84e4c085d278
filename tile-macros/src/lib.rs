//! The attribute macro #[tile_kernel].
