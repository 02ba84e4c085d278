//! Front end of the kernel attribute: parse, infer, expand.
