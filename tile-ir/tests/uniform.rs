//! Uniformity is by type: what steers a sub-group, a condition, bound, coordinate or width, is a scalar, and a scalar is
//! the same for the whole sub-group. Each place is tried with a tile and a vector, whose elements differ by lane.

use tile_ir::error::{Code, Span};
use tile_ir::ir::{
    Access, Coord, Exit, Kernel, LoadForm, Op, OpKind, Order, Param, ParamId, ParamKind, Region, Unit,
    ValueId,
};
use tile_ir::scalar::Const;
use tile_ir::types::{Along, DType, Encoding, Role, ScalarType, TileType, Type, VectorType};
use tile_ir::verify::verify;

const U32: Type = Type::Scalar(ScalarType::U32);
const F32: Type = Type::Scalar(ScalarType::F32);
const BOOL: Type = Type::Scalar(ScalarType::Bool);
const TILE: Type = Type::Tile(TileType { dtype: DType::F32, rows: 8, cols: 16, role: Role::Row });
const VECTOR: Type =
    Type::Vector(VectorType { dtype: DType::F32, len: 8, encoding: Encoding::Line(Along::Rows) });

/// Values that a case may use: a scalar of each type, a tile and a vector.
struct Values {
    index: ValueId,
    on: ValueId,
    factor: ValueId,
    tile: ValueId,
}

struct Build {
    kernel: Kernel,
    ops: Vec<Op>,
}

impl Build {
    fn push(&mut self, kind: OpKind, types: &[Type]) -> Vec<ValueId> {
        let results: Vec<ValueId> = types.iter().map(|t| self.kernel.new_value(*t)).collect();
        self.ops.push(Op { kind, results: results.clone(), span: Span::NONE });
        results
    }
}

fn at(row: ValueId) -> Coord {
    Coord { batch: None, depth: None, row, col: row, unit: Unit::Tiles }
}

fn region(exit: Exit) -> Region {
    Region { args: vec![], ops: vec![], exit }
}

/// Verifies a kernel with one op that `steer` steers; `steer` is made of `Values`, or is the tile or vector.
fn judge(make: &dyn Fn(ValueId, &Values, &mut Build), steer: Option<Type>) -> Result<(), Vec<Code>> {
    let global = |access| ParamKind::Global { dtype: DType::F32, access };
    let params = vec![
        Param { name: "c".into(), kind: global(Access::Out) },
        Param { name: "a".into(), kind: global(Access::In) },
    ];
    let kernel = Kernel {
        name: "k".into(),
        instance: "<>".into(),
        params,
        subgroups: (1, 1),
        unowned_stores: true,
        host_only: false,
        shared: vec![],
        values: vec![],
        body: region(Exit::Return),
    };
    let mut b = Build { kernel, ops: vec![] };
    b.push(OpKind::OwnTile { global: ParamId(0), tile: (8, 16), order: Order::Linear }, &[U32; 4]);
    let index = b.push(OpKind::Const(Const::U32(0)), &[U32])[0];
    let on = b.push(OpKind::Const(Const::Bool(true)), &[BOOL])[0];
    let factor = b.push(OpKind::Const(Const::F32(0)), &[F32])[0];
    let tile = b.push(OpKind::Zeros, &[TILE])[0];
    let vector = b.push(OpKind::Zeros, &[VECTOR])[0];
    let values = Values { index, on, factor, tile };
    let steer = match steer {
        Some(Type::Tile(_)) => tile,
        Some(Type::Vector(_)) => vector,
        Some(Type::Scalar(_)) | None => ValueId(u32::MAX),
    };
    make(steer, &values, &mut b);
    b.kernel.body.ops = b.ops;
    verify(b.kernel).map(|_| ()).map_err(|all| all.iter().map(|d| d.code).collect())
}

/// A place that steers: its name, and the op with the given value there, or with a scalar where it is `None`.
type Case = (&'static str, fn(Option<ValueId>, &Values, &mut Build));

const CASES: &[Case] = &[
    ("the condition of `if`", |s, v, b| {
        let (then, otherwise) = (region(Exit::Yield(vec![])), region(Exit::Yield(vec![])));
        b.push(OpKind::If { cond: s.unwrap_or(v.on), then, otherwise }, &[]);
    }),
    ("the condition of `while`", |s, v, b| {
        let (cond, body) = (region(Exit::Yield(vec![s.unwrap_or(v.on)])), region(Exit::Yield(vec![])));
        b.push(OpKind::While { inits: vec![], cond, body }, &[]);
    }),
    ("the bounds of `for`", |s, v, b| {
        let bound = s.unwrap_or(v.index);
        let ty = b.kernel.ty(bound);
        let counter = b.kernel.new_value(ty);
        let body = Region { args: vec![counter], ..region(Exit::Yield(vec![])) };
        b.push(OpKind::For { lo: bound, hi: bound, step: 1, inits: vec![], body }, &[]);
    }),
    ("the coordinate of a load", |s, v, b| {
        let kind = OpKind::Load { global: ParamId(1), at: at(s.unwrap_or(v.index)), form: LoadForm::Plain };
        b.push(kind, &[TILE]);
    }),
    ("the coordinate of `load_vec`", |s, v, b| {
        b.push(OpKind::LoadVector { global: ParamId(1), at: at(s.unwrap_or(v.index)) }, &[VECTOR]);
    }),
    ("the coordinate of `load_scalar`", |s, v, b| {
        let at = Coord { unit: Unit::Elements, ..at(s.unwrap_or(v.index)) };
        b.push(OpKind::LoadScalar { global: ParamId(1), at }, &[F32]);
    }),
    ("the coordinate of a prefetch", |s, v, b| {
        let at = at(s.unwrap_or(v.index));
        b.push(OpKind::Prefetch { global: ParamId(1), at, tile: (8, 16), peers: None }, &[]);
    }),
    ("the coordinate of a store", |s, v, b| {
        b.push(OpKind::Store { global: ParamId(0), tile: v.tile, at: at(s.unwrap_or(v.index)) }, &[]);
    }),
    ("how many columns a mask keeps", |s, v, b| {
        let keep = s.unwrap_or(v.index);
        b.push(OpKind::KeepFirst { tile: v.tile, along: Along::Cols, keep, fill: v.factor }, &[TILE]);
    }),
    ("where a triangle starts", |s, v, b| {
        let row_start = s.unwrap_or(v.index);
        let kind =
            OpKind::Triangle { tile: v.tile, lower: true, row_start, col_start: v.index, fill: v.factor };
        b.push(kind, &[TILE]);
    }),
];

#[test]
fn what_steers_a_sub_group_is_a_scalar() {
    for (name, make) in CASES {
        let scalar = judge(&|_, v, b| make(None, v, b), None);
        assert_eq!(scalar, Ok(()), "{name}: a scalar steers");
        for ty in [TILE, VECTOR] {
            let codes = judge(&|s, v, b| make(Some(s), v, b), Some(ty)).expect_err(name);
            assert!(!codes.is_empty(), "{name}");
        }
    }
}
