//! The conformance suite on the simulator, with the host bodies beside.

use std::collections::BTreeMap;

use rayon::prelude::*;
use tile_cli::conform::{Count, compile_all, kernels, simulate};

#[test]
fn every_op_type_role_shape_and_coordinate_agrees() {
    let kernels = kernels();
    let compiled = compile_all(&kernels);
    let mut refused: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut runs = vec![];
    for (kernel, compiled) in kernels.iter().zip(&compiled) {
        match compiled {
            Ok(Ok(ready)) => runs.push((kernel, ready)),
            Ok(Err(why)) => {
                refused.entry(format!("{} ({})", kernel.op.name, kernel.form)).or_default().push(why.clone())
            }
            Err(finding) => {
                panic!("{}: {:?}: {}\n{}", kernel.label(), finding.kind, finding.detail, kernel.case.source())
            }
        }
    }
    let counts: Vec<Count> = runs.par_iter().map(|(kernel, ready)| simulate(kernel, ready)).collect();
    let (mut agree, mut ambiguous, mut elements) = (0, 0, [0u64; 3]);
    let mut findings = vec![];
    for count in counts {
        agree += count.agree;
        ambiguous += count.ambiguous;
        for (sum, n) in elements.iter_mut().zip(count.elements) {
            *sum += n;
        }
        findings.extend(count.findings);
    }
    println!(
        "{} kernels compiled, {} refused; {agree} launches agree, {ambiguous} branch on rounding; elements compared: {} bit by bit, \
         {} within an error, {} have no certain value",
        runs.len(),
        kernels.len() - runs.len(),
        elements[0],
        elements[1],
        elements[2]
    );
    for (op, why) in &refused {
        println!("refused {} times: {op}: {}", why.len(), why[0].lines().next().unwrap_or_default());
    }
    let first = findings
        .first()
        .map(|(label, case, f)| format!("{label}: {:?}: {}\n{}", f.kind, f.detail, case.text()));
    assert!(
        findings.is_empty(),
        "{} launches fail; the first:\n{}",
        findings.len(),
        first.unwrap_or_default()
    );
    assert!(agree >= 3000, "only {agree} launches were judged");
}
