//! Owns the top-k statements of made-up kernels.

use super::*;

impl Writer {
    /// The largest elements of a tile's rows or columns, perhaps merged with those of another, as a vector of the sums
    /// of values or of indices.
    pub(super) fn best(&mut self) {
        let is_tile = |v: &Var| matches!(v.ty, Ty::Tile(_, _, _, Role::Row | Role::Acc));
        let Some(Var { name: x, ty: Ty::Tile(_, rows, cols, _), .. }) = self.any(is_tile) else {
            self.assign();
            return;
        };
        let by_rows = self.dice.one_in(2);
        let (line, side, room, len) =
            if by_rows { ("row", "cols", 16, rows) } else { ("col", "rows", 8, cols) };
        let k = 1 + self.dice.below(room);
        let (mut v, mut i) = (self.fresh("p"), self.fresh("j"));
        self.out.push(Stmt::line(format!("let ({v}, {i}) = {x}.{line}_topk::<{room}>({k});")));
        let same = |var: &Var| matches!(var.ty, Ty::Tile(_, r, c, Role::Row | Role::Acc) if len == if by_rows { r } else { c });
        if self.dice.one_in(2)
            && let Some(y) = self.any(same)
        {
            let base = self.scalar(ScalarType::U32, 1);
            let (w, l) = (self.fresh("p"), self.fresh("j"));
            let (k, y) = (1 + self.dice.below(room), y.name);
            self.out
                .push(Stmt::line(format!("let ({w}, {l}) = {y}.{line}_topk_with({k}, &{v}, &{i}, {base});")));
            (v, i) = (w, l);
        }
        let ty = Ty::Vector(D::F32, len, by_rows);
        let name = self.fresh("v");
        // Indices are open where rounding decides the order, and would hide the values.
        let seen = if self.dice.one_in(3) {
            format!("{i}.to::<f32>()")
        } else {
            format!("{v}.keep_{side}({k}u32, 0.0)")
        };
        self.out.push(Stmt::Line {
            text: format!("let {name} = {seen}.{line}_sum();"),
            simpler: vec![format!("let {name}: {} = fill(1.5);", ty.text())],
        });
        self.vars.push(Var { name, ty, mutable: false });
    }
}
