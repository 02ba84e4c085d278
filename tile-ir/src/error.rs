//! Owns the compile-time rules: one [`Code`] per rule, diagnostics, and their collector.
//!
//! *Guarantees*: every rule has an explanation text (`cargo tile explain CODE`) and a stable code.
//! *Not here*: rendering to the user's tokens (`tile-front`), rules that rustc alone enforces.

use core::fmt;

/// An opaque position in kernel source; the front end maps it back to tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span(pub u32);

impl Span {
    /// A position nobody wrote: code the compiler made.
    pub const NONE: Span = Span(u32::MAX);
}

macro_rules! codes {
    ($( $variant:ident = $code:literal, $title:literal, $text:literal; )+) => {
        /// A compile-time rule of the kernel language.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $( #[doc = $title] $variant ),+ }

        impl Code {
            /// Every rule, in the order of its code.
            pub const ALL: &'static [Code] = &[ $( Code::$variant ),+ ];

            /// The stable code, such as `T020`.
            pub const fn as_str(self) -> &'static str {
                match self { $( Code::$variant => $code ),+ }
            }

            /// The rule in one sentence.
            pub const fn title(self) -> &'static str {
                match self { $( Code::$variant => $title ),+ }
            }

            /// The explanation that `cargo tile explain` prints.
            pub const fn explain(self) -> &'static str {
                match self { $( Code::$variant => $text ),+ }
            }
        }
    };
}

codes! {
    Item = "T001", "`#[tile_kernel]` goes on a plain function.",
        "A kernel is a free function without `async`, `const`, `extern`, receiver, return type, lifetimes or `where` \
         clauses. Put bounds on the generic parameters themselves:\n\n    pub fn scale<T: Element, const M: usize>(c: &mut gl<T>, a: &gl<T>) { .. }";
    Attribute = "T002", "The attribute lists the instances to compile.",
        "Every instance is compiled ahead of time, so the attribute must list them:\n\n    #[tile_kernel(instances(\n        <bf16, f32, 32, 64; subgroups = (8, 4)>,\n    ))]\n\n\
         The generic arguments stand in the order of the function's generic parameters; `subgroups = (rows, cols)` is the grid of \
         sub-groups that forms a work-group (at most 32 sub-groups on every supported device at 256 registers).";
    Generics = "T003", "An instance gives one fitting argument per generic parameter.",
        "Type parameters take an element type (`bf16`, `f16`, `f32`, `i8`, `u8`, `i32`) that satisfies the bound (`Element`: floats; `MmaInput`: bf16 and f16; \
         `AnyElement`: all of them), `const N: usize` takes an integer literal, \
         `const FLAG: bool` takes `true` or `false`. Derived sizes are not listed; they are declared with `derive(HALF = BM / 2)`.";
    DuplicateInstance = "T004", "Each instance is listed once.",
        "Two entries of `instances(..)` have the same generic arguments. The arguments are the key of an instance, so the second could \
         never be chosen; delete one of them or change its sizes.";
    Parameter = "T005", "A kernel parameter is `&gl<T>`, `&mut gl<T>` or a scalar.",
        "Inputs are `&gl<T>`, outputs `&mut gl<T>`, scalars one of `u32`, `i32`, `u64`, `f32`, `bool`, each with a plain name.";
    Grid = "T006", "A kernel takes its grid from exactly one `own_tile`.",
        "The launch grid follows from the output: `let at = own_tile::<BM, BN>(c, Snake(8));` says that every sub-group owns one \
         BM x BN tile of `c`. It must be called once, at the top level of the body, on a `&mut gl` parameter. Work-groups walk over the output \
         row by row (`Linear`), from its last row up (`Upward`), or in stacks of columns that share operands in cache (`Snake(8)`).";
    Construct = "T010", "Only the kernel language's constructs may stand in a kernel body.",
        "A kernel body knows `let`, assignment, `if`/`else` and `match` on scalars, `for` over ranges (with `step_by`, and `#[unroll]`), \
         `while`, `break` and `continue`, early `return`, scalar arithmetic, the ops, and calls of the device functions in `fns(..)`. The \
         message names the construct it met and the supported alternative.";
    UntypedSource = "T011", "A source of a tile or vector has a written type.",
        "Tiles and vectors originate in `zeros`, `fill` and the loads, and the compiler derives everything after them. Write the type \
         where the value is made:\n\n    let x: rt<A, BM, BK> = load(a, [at.row(), k]);\n    let bias: rv<f32, BN, PerCol> = load_vec(b, [0, at.col()]);";
    InlineSize = "T012", "Sizes in tile types are parameters, literals or derived sizes.",
        "Stable Rust rejects arithmetic on const parameters inside a type. Declare the size in the attribute and use its name:\n\n    \
         #[tile_kernel(derive(HALF = BM / 2), instances(..))]\n    fn k<const BM: usize, const HALF: usize>(..) { let x: rt<bf16, HALF, 16> = ..; }";
    FreeName = "T013", "A kernel body uses only its parameters, its own variables and literals.",
        "The attribute sees tokens, not values, so a constant or static defined elsewhere has no value it could compile in. Pass it as a \
         scalar parameter, make it a `const` generic parameter, or write the literal. Known by name are `f32::INFINITY`, \
         `f32::NEG_INFINITY`, `f32::NAN`, `f32::MAX` and `f32::MIN`.";
    UnknownOp = "T014", "A call in a kernel body is an op of the language or a listed device function.",
        "Only the ops of the language may be called, and functions with `#[tile_fn]` that the attribute lists by path: \
         `#[tile_kernel(fns(bias_relu, other::clamp), instances(..))]`, and likewise `#[tile_fn(fns(..))]` for what a device function \
         calls. The message names the nearest op.";
    Arguments = "T015", "An op is called with the arguments it takes.",
        "The message shows the op's form. Global arguments are parameters of the kernel, by name; coordinates are `[row, col]`, \
         `[batch, depth, row, col]` or the value of `own_tile`, in tiles.";
    Mismatch = "T016", "Both sides of an operation or assignment have the same type.",
        "Scalars do not convert by themselves: write `x as u32`. A variable keeps its type, and the branches of an `if` that gives a value \
         agree on it.";
    Literal = "T017", "A literal fits its type.",
        "The message shows the literal and the range of the type it is used as.";
    TileShape = "T020", "Tile rows are a multiple of 8 and columns of 16; packed operands have rows in multiples of 16; other sizes for i8, u8 and tf32.",
        "One matrix instruction works on 8 rows and 16 columns, with 16 elements of a 16-bit type, 32 of an 8-bit type or 8 of tf32 along K: so \
         tiles of i8 and u8 have columns in multiples of 32, tiles of tf32 of 8, and packed operands rows in those multiples (reference: DPAS, repeat count 8, \
         SIMD16, systolic depth 8). Any multiple is fine; the compiler picks the block messages. `own_tile` also takes the transpose of such a size, \
         for `store_transpose`.";
    RegisterBudget = "T021", "The tiles alive at one time fit the register file.",
        "A sub-group has 256 registers of 64 bytes (16,384 bytes) in its large mode. The message gives the bytes alive at the op that \
         exceeds it; use a smaller instance, or shorten the life of a tile. A part of a tile (`sub_tile`) is in the tile's registers and takes none \
         of its own. An instance for the host alone (`; host`) has no registers to fit, but \
         a stack: all its tiles take at most 133,955,584 bytes.";
    OperandRole = "T022", "A matrix multiplication takes a `Row` left and a packed right operand.",
        "Load the left operand with `load` (role `Row`), the right one with `load_transform` (role `Vnni`, for `mma_AB`) or, from an \
         [N, K] tensor, with `load_transpose` (role `VnniT`, for `mma_ABt`). The accumulator has the role `Acc`.";
    InnerDim = "T023", "In a matrix multiplication A's columns equal B's rows, and the accumulator has A's rows and B's columns.",
        "A is M x K, B is K x N, the accumulator is M x N. A tile from `load_transpose` is written K x N too.";
    OperandType = "T024", "A matrix instruction exists for the operand types.",
        "bf16 x bf16, f16 x f16 and tf32 x tf32 accumulate in f32; i8 and u8, mixed at will, accumulate in i32, which wraps. Other mixtures have no \
         instruction; convert one of them with `.to::<T>()`.";
    PrefetchCut = "T026", "A shared prefetch cuts its tile into equal parts that are legal messages.",
        "The tile is divided among the sub-groups that share it into parts up to 64 bytes wide. Its elements must divide evenly, and a part \
         must be a whole number of rows (1, 2, 4, 8, 16 or a multiple of 32). Use another tile size or grid, or `prefetch_load`.";
    UnownedStore = "T027", "A safe kernel stores only to the tile its sub-group owns.",
        "`store(c, &tile, at)` takes the value of `own_tile`, which no other sub-group has, so no two sub-groups can write one element. To \
         store elsewhere, mark the kernel `unsafe fn` and use `store_at`; its launcher is then `unsafe` too.";
    LoadFromOutput = "T028", "An output is read only at the tile the sub-group owns.",
        "Another sub-group may be writing any other element at the same time. Pass the tensor as an input of its own, or load with the value \
         of `own_tile`.";
    Conversion = "T029", "`.to::<T>()` converts `Acc` and `Row` tiles to a `Row` tile.",
        "Packed tiles cannot be converted: convert before loading, or load as `Row`.";
    StoreShape = "T030", "A stored tile has the element type of its tensor, the role `Row` (or `Acc` for f32 and i32), and the shape that was owned.",
        "Convert with `.to::<T>()` before storing, and call `own_tile` with the rows and columns of the tile.";
    LoadForm = "T031", "Each source gives the roles that it produces.",
        "`zeros` gives `Row` tiles and `Acc` tiles of f32 and i32, `fill` these and `Vnni` tiles. `load` gives `Row` (or `Acc` for f32 and \
         i32), `load_transform` gives `Vnni`, `load_transpose` gives `VnniT`, or `Row` of types that compute; the packed forms exist for operand \
         types: bf16, f16, i8, u8, tf32. The tile's element type is the tensor's; tf32 tiles come from f32 tensors.";
    ScaleType = "T032", "`.scale(s)` works on f32 tiles with an f32 factor.",
        "Scale the accumulator before converting it: `acc.scale(alpha).to::<bf16>()`. It would otherwise round twice.";
    MapOperand = "T033", "An element-wise op takes operands that belong together element by element.",
        "The right operand has the left one's type, or is a scalar (f32 beside floats, i32 beside i32), or, beside a tile, a vector of f32 \
         (i32) along its rows (`PerRow`, one element per row) or columns (`PerCol`). Packed tiles have no element-wise ops: change the elements before packing.";
    ReduceOperand = "T034", "A reduction takes a `Row` or `Acc` tile and gives a vector of its rows or columns, or takes a vector and gives a scalar.",
        "`row_max`, `row_min`, `row_sum`, `row_prod` give one element per row (`rv<f32, ROWS, PerRow>`), `col_max` and its kin one per \
         column (`rv<f32, COLS, PerCol>`); tiles of i32 give i32 vectors. A running value has the result's type. `row_argmax`, `col_argmin` \
         and their kin give indices, `rv<i32, ..>`. On a vector, `reduce_max`, `reduce_min`, `reduce_sum`, `reduce_prod` give a scalar (f32, or \
         i32 for integers), and `argmax`, `argmin` an index, i32. All elements of a tile: `x.col_sum().reduce_sum()`.";
    VectorLength = "T035", "The length of a vector is that of a tile's side, a multiple of 8 per row, of 16 per column; of a wide vector a multiple of 128.",
        "A `PerRow` or `PerCol` vector exists beside tiles: `rv<f32, M, PerRow>` beside tiles of M rows, `rv<f32, N, PerCol>` beside tiles of N columns. \
         `rv<f32, LEN, Wide>` stands by itself, in units of 128 elements: 8 in each of 16 lanes.";
    LoopExit = "T036", "`break` and `continue` stand in a loop.",
        "They leave, or go on with, the innermost `for` or `while` around them.";
    Closure = "T037", "A closure over elements is one expression of element-wise ops.",
        "`x.map(|v| v * s + 1.0)` computes every element of a tile or vector from itself, `x.zip(&y, |a, b| a.max(b))` from two of one shape. \
         An element is f32, or i32 in tiles of i32; the result has the type of `x` and is rounded to it once. The body is one expression of the \
         parameters, scalars of the kernel and numbers: + - * /, unary -, `if x > y { .. } else { .. }` with comparisons, `&&`, `||`, `!`, and the \
         methods of an element (min, max, mul_add, abs, exp2, exp, log2, ln, sqrt, rsqrt, recip, sigmoid, tanh, relu, silu, gelu). It has no \
         statements, tiles, conversions or closures in it.";
    ElementOp = "T040", "An op exists for the element type it is used on.",
        "Floats (`bf16`, `f16`, `f32`) have every element-wise op and compute in f32. `i8` and `u8` are loaded, stored, converted and \
         multiplied. `i32` has `add`, `sub`, `mul`, `min`, `max`, `neg`, \
         `abs`, reductions and masks, which wrap. For anything else convert first: `x.to::<f32>()`.";
    ElementBound = "T041", "An op on elements of a type parameter needs the parameter's bound to promise it.",
        "The body of a kernel must be right for every type its bounds admit. `T: AnyElement` admits integers and promises that elements can be \
         moved: `load`, `store`, `zeros`, `.to::<U>()`. `T: Element` admits floats and promises arithmetic in f32, `T: MmaInput` also matrix \
         multiplication.";
    OperandOnly = "T042", "Tiles of tf32 are loaded from f32 tensors and multiplied; nothing else exists for them.",
        "tf32 is what a matrix instruction reads of an f32: 10 fraction bits. `let x: rt<tf32, M, K> = load(a, at);` rounds a tile of a `gl<f32>` \
         to nearest even; `load_transform` and `load_transpose` make the right operand; the accumulator is f32. Load the tensor as `f32` for other \
         work. Columns of the left operand, and rows of the right one, are a multiple of 8.";
    SharedCapacity = "T045", "The shared memory of a work-group fits 131,072 bytes.",
        "Every Xe device gives a work-group 128 KiB of shared memory (SLM). All `st` and `sv` of a kernel count, whether or not they are in \
         use at the same time; the message lists them with their bytes.";
    SharedPlacement = "T046", "Shared memory is made by `shared()` in a `let` with a written type, at the top level of a kernel.",
        "It is there for the whole kernel and for every sub-group of the work-group:\n\n    let mut s: st<bf16, 64, 64> = shared();\n    let mut v: sv<f32, 64> = shared();\n\n\
         A branch, a loop or a device function cannot make it.";
    SharedAccess = "T047", "What moves to or from shared memory has its element type, a role that exists there, and lies inside.",
        "`store_shared` takes `Row` tiles (and `Acc` for f32 and i32); `load_shared` gives them; `load_transform_shared` gives `Vnni`, \
         `load_transpose_shared` the transpose as `Row` or `VnniT`. Positions count tiles of the size that is moved and are never outside: a \
         constant one is refused here, any other ends the launch with an error on the host and on the simulator.";
    BarrierDivergence = "T048", "A barrier or cooperative copy is reached by every sub-group of a work-group or by none.",
        "A sub-group that never comes makes the others wait for ever. So no barrier stands under a condition, in a loop whose number of runs, or \
         behind a `return`, `break` or `continue` whose condition differs between sub-groups: what depends on `subgroup_id` and its \
         kin, on the row or column of `own_tile` (`at.outside()` too), or on elements of tiles. Sub-groups outside the tensor go along: \
         their loads give 0 and their stores are dropped. Inside one sub-group every condition and coordinate is the same for all lanes by type.";
    BarrierPairing = "T049", "Each `barrier_arrive` is followed by one `barrier_wait`.",
        "The two are halves of one barrier. Every way through the kernel that comes to one comes to the other, with no other barrier and no exit in between.";
    CoopCoordinate = "T050", "The coordinate of `load_coop` is the same in every sub-group of a work-group.",
        "All sub-groups copy parts of one tile. `at.group_row()` and `at.group_col()` give the work-group's place, in blocks of \
         the tiles that its sub-groups own.";
    SharedShape = "T051", "A shared tile has rows in multiples of 8 and columns in multiples of 16, a shared vector elements in multiples of 8.",
        "Shared memory is moved in pieces of 8 x 16 elements, as registers are.";
    Mask = "T052", "A mask comes from a comparison and goes to `and`, `or`, `xor`, `not`, `any` and `select`.",
        "`x.lt(&y)` and its kin compare tiles or vectors and give a mask of their shape, `rt<bool, M, N>` or `rv<bool, N, E>`. A mask has no \
         numbers, so it is not stored, converted, reduced or multiplied; it chooses elements:\n\n    let positive = x.gt(0.0);\n    \
         let y = positive.and(&x.lt(6.0)).select(&x, 0.0);\n\n`mask.any()` is a `bool` for `if`.";
    Select = "T053", "`mask.select(&a, &b)` takes operands of the mask's shape and of one type.",
        "`a` is a `Row` or `Acc` tile, or a vector, of the mask's shape. `b` has a's type, or is a scalar, which is rounded to a's element type.";
    Iota = "T054", "`iota`, `iota_rows` and `iota_cols` count in f32 or i32 from a scalar of that type.",
        "`let i: rv<f32, N, PerCol> = iota(0.0);` makes a vector of positions, `iota_rows` and `iota_cols` make tiles whose elements are \
         `start` plus their row or column. 16-bit floats do not hold every position; convert what is computed from them.";
    TopKShape = "T055", "Top-k keeps 1 to 32 elements of each row or column of a `Row` or `Acc` tile, in tiles with room for them.",
        "`x.row_topk::<P>(k)` gives two tiles of P columns: the k largest elements of every row, largest first, and their indices. `k` is a \
         literal, a `const` parameter or a derived size, at most 32, at most P, and without a running value at most the columns of `x`. P is 16 \
         or 32. `x.col_topk::<P>(k)` does the same to columns and gives tiles of P rows, 8, 16, 24 or 32.\n\n    \
         let (values, indices) = x.row_topk::<16>(8);";
    TopKRunning = "T056", "A top-k goes on from the values and indices of one of the same kind.",
        "`x.row_topk_with(k, &values, &indices, base)` takes two tiles as `row_topk` gives them, of one shape, values of f32 (of i32 beside \
         tiles of i32) and indices of i32, with the rows of `x` (its columns for `col_topk_with`). `base` is the index of the tile's first \
         column (row), `u32`. To begin with no elements, fill the indices with -1:\n\n    \
         let mut values: rt<f32, M, 16> = fill(f32::NEG_INFINITY);\n    let mut indices: rt<i32, M, 16> = fill(-1);";
    TransposeShape = "T057", "`.transpose()` works on `Row` and `Acc` tiles whose rows and columns are multiples of 16.",
        "The transpose is a `Row` tile, made of square blocks of 16 x 16 elements: a lane per row becomes a lane per column. A packed tile \
         has no transpose in registers; load its tensor with the other load (`load_transform` or `load_transpose`). A tile that is \
         only needed transposed costs less as `let x: rt<T, N, M> = load_transpose(a, [m, n]);`.";
    SubTile = "T058", "A part of a tile lies in the tile, at a place known at compile time.",
        "`x.sub_tile::<R, C>(i, j)` is the part of R rows and C columns that begins at row `i * R` and column `j * C`; `i` and `j` are \
         literals, `const` parameters, derived sizes, or what is computed from the counters of loops with `#[unroll]`. A part obeys the rule of tile sizes (T020), has the element type and role of its tile, \
         and costs nothing: it is a name for some of the tile's registers.";
    AtomicType = "T059", "An atomic add adds f32 to an f32 output, or i32 to an i32 output.",
        "`atomic_add(c, &tile, [row, col])` adds `Row` and `Acc` tiles, `atomic_add_vec(c, &v, [row, i])` vectors, of f32 to a \
         `&mut gl<f32>` or of i32 to a `&mut gl<i32>`. Convert what is added with `.to::<T>()`; write the output's type, since no bound \
         of a type parameter promises atomic adds.";
    AtomicMix = "T060", "An output takes either atomic adds or plain stores and loads, in one kernel.",
        "An atomic add goes to any element, so a plain store or load of the same output could meet it from another sub-group. Use a \
         second output, or a second kernel. The output's elements before the launch are what the sums start from: fill it with zeros first.";
    Unroll = "T061", "An unrolled loop has bounds known at compile time and leaves a kernel of bounded size.",
        "`#[unroll] for i in 0..4u32 { .. }` writes the body out once per value of the counter, which is then a constant. The bounds are \
         literals, sizes (`BM as u32`), counters of unrolled loops around it, and what is computed from them; the step is a constant as \
         in every loop. All runs together make at most 16,384 ops. `break` and `continue` are decided by such constants too, since a \
         body that is written out cannot be left at run time: use a plain `for` for that.";
    Recursion = "T062", "A device function does not call itself, directly or through others.",
        "Device functions are inlined, so a cycle of calls would never end. Write the repetition as a loop: a `while` or `for` carries \
         tiles, vectors and scalars. The message names the cycle.";
    Inlining = "T063", "A kernel stays of bounded size and depth once its device functions are inlined.",
        "Device functions are inlined at every call, so functions that call others several times multiply. A kernel has at most 65,536 \
         ops, and its expressions nest at most 128 deep, each call counting as 4. Call in a loop, or bind parts with `let`.";
    StoreVector = "T070", "A vector is stored to an output of its element type.",
        "`store_vec(c, &v, at)` stores a vector of f32 to a `&mut gl<f32>`, and so on. Convert it with `.to::<T>()`. A tile goes with `store`.";
    StoreWays = "T071", "An output takes tiles, or `PerCol` vectors, or `PerRow` vectors.",
        "At the value `at` of `own_tile::<M, N>(..)`, `store_vec` stores a `PerCol` vector of N elements to row `at.row()` of an output, as the \
         `at.col()`-th vector of that row, and a `PerRow` vector of M elements to row `at.col()`, as the `at.row()`-th. No two sub-groups have \
         one of these places; but a place of one kind meets places of the other kind, and tiles, that other sub-groups own. So each output takes \
         one kind. `Wide` vectors have the places of `PerCol` vectors. `load_vec` reads a vector back at `[at.row(), at.col()]`, or `[at.col(), at.row()]`.";
    Encoding = "T072", "`to_per_row` and `to_per_col` turn a vector of the other encoding.",
        "`PerRow` vectors have one element per row of a tile, `PerCol` vectors one per column. `v.to_per_col()` takes a `PerRow` vector whose length is \
         a multiple of 16, `v.to_per_row()` a `PerCol` vector; the elements stay in order.";
    Wide = "T073", "A wide vector is loaded, computed with element by element, reduced and stored.",
        "`rv<T, LEN, Wide>` holds 8 neighbouring elements in a lane, so that a lane moves 16 bytes at a time: for rows that are normalised, rotated \
         or multiplied by a matrix. LEN is a multiple of 128. It has the element-wise ops, comparisons and `select`, `reduce_sum` and its kin, \
         `argmax`, `.to::<T>()`, `load_vec` and `store_vec`, which puts it where it puts `PerCol` vectors. It does not meet tiles, shared memory or \
         atomic adds, and has no other encoding: load the elements again as `PerRow` or `PerCol`.";
    Structure = "T090", "The compiler's own representation is well formed.",
        "This is a defect of the compiler, not of your kernel. Please report the message with the kernel's source.";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One broken rule: what was required, what was found, and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The rule.
    pub code: Code,
    /// Where the user wrote what breaks it.
    pub span: Span,
    /// The rule with the two facts.
    pub message: String,
    /// The fix, as code where possible; empty when the message already says it.
    pub help: String,
}

impl Diagnostic {
    /// Makes a diagnostic.
    pub fn new(code: Code, span: Span, message: impl Into<String>, help: impl Into<String>) -> Diagnostic {
        Diagnostic { code, span, message: message.into(), help: help.into() }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.message, self.code)?;
        if !self.help.is_empty() {
            write!(f, "\n  help: {}", self.help)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}
