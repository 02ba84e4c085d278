//! Owns the statements of made-up kernels about shared memory, barriers and element types that do not compute.
//!
//! They draw from numbers of their own, so that a seed whose kernel has none of them gives the kernel it always gave.
//! *Guarantees*: no race: each sub-group stores its own part, and a barrier stands between that and any read, and between a read and
//! the next store; every sub-group comes to every barrier. *Not here*: other statements (`write`).

use super::*;

/// The shared memory of a kernel that has some: for tiles, for vectors, and for the output.
const TILES: &str = "sh";
const VECTORS: &str = "sv1";
const OUTPUT: &str = "so";

impl Writer {
    /// The number of sub-groups in a work-group.
    fn peers(&self) -> u32 {
        self.subgroups.0 * self.subgroups.1
    }

    /// Declares what the sub-groups share.
    pub(super) fn declare_shared(&mut self) {
        if !self.cooperates {
            return;
        }
        let ([m, n, _], (down, across)) = (self.sizes, self.subgroups);
        let all = self.peers() * m;
        for text in [
            format!("let mut {TILES}: st<f32, {all}, N> = shared();"),
            format!("let mut {VECTORS}: sv<f32, {all}> = shared();"),
            format!("let mut {OUTPUT}: st<C, {}, {}> = shared();", m * down, n * across),
        ] {
            self.out.push(Stmt::line(text));
        }
    }

    /// One of the variables that fit, or a new one.
    fn some(&mut self, ty: Ty) -> Var {
        let fitting: Vec<Var> = self.vars.iter().filter(|v| v.ty == ty).cloned().collect();
        match fitting.is_empty() {
            true => self.source_variable(ty),
            false => fitting[self.extra.below(fitting.len())].clone(),
        }
    }

    fn barrier(&mut self) -> &'static str {
        self.extra.pick(&["barrier();", "barrier();", "barrier_arrive();\n    barrier_wait();"])
    }

    /// At the top level of a kernel, sometimes one of the statements of this file.
    pub(super) fn extra_statement(&mut self) {
        let tile = Ty::Tile(D::F32, "M", "N", Role::Row);
        if self.cooperates && self.extra.one_in(2) {
            self.exchange(tile);
        }
        if self.extra.one_in(8) && self.size("N").is_multiple_of(32) {
            // To bytes, which saturate, and back.
            let (var, bytes) = (self.some(tile), self.extra.pick(&["i8", "u8"]));
            let name = self.fresh("t");
            self.out.push(Stmt::Line {
                text: format!("let {name} = {}.to::<{bytes}>().to::<f32>();", var.name),
                simpler: vec![format!("let {name}: rt<f32, M, N> = fill(1.5);")],
            });
            self.vars.push(Var { name, ty: tile, mutable: false });
        }
        if self.extra.one_in(8) {
            self.multiply_tf32();
        }
    }

    /// Each sub-group stores a part and reads another's, or all read what they copied together.
    fn exchange(&mut self, tile: Ty) {
        let peers = self.peers();
        let who = match self.extra.below(3) {
            0 => format!("{}u32", self.extra.below(peers as usize)),
            _ => format!("(subgroup_id() + {}u32) % {peers}u32", self.extra.below(peers as usize)),
        };
        let (before, behind) = (self.barrier(), self.barrier());
        let vector = Ty::Vector(D::F32, "M", true);
        let (ty, store, load) = match self.extra.below(4) {
            0 => {
                let var = self.some(vector);
                let store = format!("store_vec_shared(&mut {VECTORS}, &{}, subgroup_id());", var.name);
                (vector, store, format!("load_vec_shared(&{VECTORS}, {who})"))
            }
            1 => {
                let at = self.extra.pick(&["[0u32, 0u32]", "[1u32, 0u32]", "[n, w as u32]"]);
                let store = format!("load_coop(&mut {TILES}, f, {at});");
                (tile, store, format!("load_shared(&{TILES}, [{who}, 0u32])"))
            }
            _ => {
                let var = self.some(tile);
                let store = format!("store_shared(&mut {TILES}, &{}, [subgroup_id(), 0u32]);", var.name);
                (tile, store, format!("load_shared(&{TILES}, [{who}, 0u32])"))
            }
        };
        let name = self.fresh("x");
        let head = format!("let {name}: {}", ty.text());
        // One statement: without one of its barriers it would be a race.
        self.out.push(Stmt::Line {
            text: format!("{store}\n    {before}\n    {head} = {load};\n    {behind}"),
            simpler: vec![format!("{head} = fill(1.5);")],
        });
        self.vars.push(Var { name, ty, mutable: false });
    }

    /// The store of the result by way of shared memory; `None` where the sub-groups share none.
    pub(super) fn store_together(&mut self, name: &str) -> Option<String> {
        if !self.cooperates || self.stored_at.is_some() || self.extra.one_in(2) {
            return None;
        }
        Some(format!(
            "store_shared(&mut {OUTPUT}, &{name}, [subgroup_row(), subgroup_col()]);\n    barrier();\n    store_coop(c, &{OUTPUT}, own);"
        ))
    }

    /// A multiplication of what tf32 keeps of f32.
    fn multiply_tf32(&mut self) {
        let acc = Ty::Tile(D::F32, "M", "N", Role::Acc);
        let (l, r, y) = (self.fresh("l"), self.fresh("y"), self.fresh("t"));
        let (load, role, op) =
            self.extra.pick(&[("load_transform", "Vnni", "mma_AB"), ("load_transpose", "VnniT", "mma_ABt")]);
        let (down, across) = (self.extra.below(3), self.extra.below(3));
        for text in [
            format!("let {l}: rt<tf32, M, K> = load(f, [own.row(), {across}u32]);"),
            format!("let {r}: rt<tf32, K, N, {role}> = {load}(f, [{down}u32, own.col()]);"),
            format!("let mut {y}: {} = fill(0.25);", acc.text()),
            format!("{op}(&mut {y}, &{l}, &{r});"),
        ] {
            self.out.push(Stmt::line(text));
        }
        self.vars.push(Var { name: y, ty: acc, mutable: true });
    }
}
