//! Owns making a failing case smaller: fewer statements, simpler ones, smaller sizes and tensors.
//!
//! *Guarantees*: the result fails with the same kind of finding; it ends (a limit of attempts).
//! *Not here*: the order in which cases are tried (`fuzz`).

use tile_ir::scalar::Const;
use tile_ir::types::DType;

use super::eval::Plant;
use super::judge::{Finding, Verdict, judge};
use super::program::{Case, Stmt};

/// A case under the knife.
struct Shrinker {
    case: Case,
    finding: Finding,
    plant: Option<Plant>,
    left: u32,
}

/// Makes a failing case smaller; at most `attempts` cases are judged.
pub fn shrink(case: Case, finding: Finding, plant: Option<Plant>, attempts: u32) -> (Case, Finding) {
    let mut s = Shrinker { case, finding, plant, left: attempts };
    loop {
        let before = s.case.clone();
        s.runs();
        s.statements();
        s.surroundings();
        if s.case == before || s.left == 0 {
            return (s.case, s.finding);
        }
    }
}

impl Shrinker {
    /// Keeps a candidate if it still fails.
    fn keep(&mut self, candidate: Case) -> bool {
        if self.left == 0 || candidate == self.case {
            return false;
        }
        self.left -= 1;
        match judge(&candidate, self.plant) {
            Verdict::Fails(finding) if finding.is_like(&self.finding) => {
                (self.case, self.finding) = (candidate, finding);
                true
            }
            Verdict::Fails(_) | Verdict::Agrees { .. } | Verdict::Budget | Verdict::Skipped(_) => false,
        }
    }

    /// Drops runs of statements, long ones first.
    fn runs(&mut self) {
        let mut len = self.case.body.len() / 2;
        while len > 0 {
            let mut end = self.case.body.len();
            while end >= len {
                let mut candidate = self.case.clone();
                candidate.body.drain(end - len..end);
                self.keep(candidate);
                end -= len;
                end = end.min(self.case.body.len());
            }
            len /= 2;
        }
    }

    fn statements(&mut self) {
        // From the end, since later statements use earlier ones.
        let mut index = count(&self.case.body);
        while index > 0 {
            index -= 1;
            let mut kept = 0;
            loop {
                let options = variants(&self.case.body, index);
                let Some(body) = options.into_iter().nth(kept) else { break };
                let candidate = Case { body, ..self.case.clone() };
                if self.keep(candidate) {
                    // The statement is another now; it is looked at from the start, if it is still there.
                    if index >= count(&self.case.body) {
                        break;
                    }
                    kept = 0;
                } else {
                    kept += 1;
                }
            }
        }
    }

    fn surroundings(&mut self) {
        let try_with = |s: &mut Self, change: &dyn Fn(&mut Case)| {
            let mut candidate = s.case.clone();
            change(&mut candidate);
            s.keep(candidate)
        };
        for i in (0..self.case.functions.len()).rev() {
            let _ = try_with(self, &|c| drop(c.functions.remove(i)))
                || try_with(self, &|c| {
                    c.functions[i].body.clear();
                    c.functions[i].result = "x1".into();
                });
        }
        try_with(self, &|c| c.flag = false);
        try_with(self, &|c| c.subgroups = (1, 1));
        try_with(self, &|c| c.order = "Linear");
        for (i, least) in [8, 16, 16].into_iter().enumerate() {
            let _ = try_with(self, &|c| c.sizes[i] = least) || try_with(self, &|c| c.sizes[i] = 16);
        }
        for i in 0..3 {
            if i > 0 {
                try_with(self, &|c| c.types[i] = DType::F32);
            }
        }
        for i in 0..4 {
            try_with(self, &|c| (c.tensors[i].batch, c.tensors[i].depth) = (1, 1));
            try_with(self, &|c| c.tensors[i].repeated = false);
            try_with(self, &|c| c.tensors[i].odd = false);
            try_with(self, &|c| c.tensors[i].x0 = 0);
            try_with(self, &|c| c.tensors[i].extra_pitch = 0);
            for n in [1, 8, 16, 32] {
                let _ = self.case.tensors[i].rows > n && try_with(self, &|c| c.tensors[i].rows = n);
                let _ = self.case.tensors[i].cols > n && try_with(self, &|c| c.tensors[i].cols = n);
            }
        }
        for (i, simple) in
            [Const::U32(0), Const::I32(0), Const::U64(0), Const::F32(1f32.to_bits()), Const::Bool(false)]
                .into_iter()
                .enumerate()
        {
            try_with(self, &|c| c.scalars[i] = simple);
        }
    }
}

/// Number of statements, those in blocks included.
pub fn count(body: &[Stmt]) -> usize {
    body.iter()
        .map(|s| match s {
            Stmt::Line { .. } => 1,
            Stmt::Block { body, other, .. } => 1 + count(body) + other.as_deref().map_or(0, count),
        })
        .sum()
}

/// The bodies that differ in one statement, which has this index in reading order, simplest first.
fn variants(body: &[Stmt], index: usize) -> Vec<Vec<Stmt>> {
    let mut at = index;
    for (i, stmt) in body.iter().enumerate() {
        let with = |stmts: Vec<Stmt>| [&body[..i], &stmts, &body[i + 1..]].concat();
        if at == 0 {
            return match stmt {
                Stmt::Line { simpler, .. } => std::iter::once(vec![])
                    .chain(simpler.iter().enumerate().map(|(n, text)| {
                        // What is simpler than this is what comes after it.
                        vec![Stmt::Line { text: text.clone(), simpler: simpler[n + 1..].to_vec() }]
                    }))
                    .map(with)
                    .collect(),
                Stmt::Block { head, body, other } => {
                    let mut options = vec![vec![], body.clone()];
                    if let Some(other) = other {
                        options.push(other.clone());
                        options.push(vec![Stmt::Block {
                            head: head.clone(),
                            body: body.clone(),
                            other: None,
                        }]);
                    }
                    options.into_iter().map(with).collect()
                }
            };
        }
        at -= 1;
        if let Stmt::Block { head, body: inner, other } = stmt {
            let inside = count(inner);
            if at < inside {
                let block = |body| Stmt::Block { head: head.clone(), body, other: other.clone() };
                return variants(inner, at).into_iter().map(|b| with(vec![block(b)])).collect();
            }
            at -= inside;
            if let Some(otherwise) = other {
                let inside = count(otherwise);
                if at < inside {
                    let block = |b| Stmt::Block { head: head.clone(), body: inner.clone(), other: Some(b) };
                    return variants(otherwise, at).into_iter().map(|b| with(vec![block(b)])).collect();
                }
                at -= inside;
            }
        }
    }
    vec![]
}
