//! Names in a user's scope that could capture what a kernel says.
//!
//! The attribute sees tokens and takes `load` for the op. What runs on the host must mean that too, whatever
//! `load` is where the kernel stands; the functions and methods here panic if anything ever calls them.

use super::{ones, scalar_of};
use tile_std::prelude::{Device, Tensor};

mod functions {
    use tile_std::prelude::*;

    fn zeros<T>() -> T {
        panic!("the user's function was called")
    }

    fn load<G: ?Sized, C, T>(_: &G, _: C) -> T {
        panic!("the user's function was called")
    }

    fn store<G: ?Sized, T, C>(_: &mut G, _: &T, _: C) {
        panic!("the user's function was called")
    }

    fn own_tile<const M: usize, const N: usize>(_: &gl<f32>, _: u8) -> Own<M, N> {
        panic!("the user's function was called")
    }

    #[allow(non_snake_case)]
    fn Snake(_: u32) -> u8 {
        panic!("the user's function was called")
    }

    fn subgroup_id() -> u32 {
        panic!("the user's function was called")
    }

    #[tile_kernel(instances(<; subgroups = (1, 1)>))]
    pub fn kernel(c: &mut gl<f32>, ones: &gl<f32>, s: f32) {
        let at = own_tile::<8, 16>(c, Snake(8));
        let mut tile: rt<f32, 8, 16> = zeros();
        if subgroup_id() == 0 {
            tile = load(ones, [0, 0]);
        }
        store(c, &tile.scale(s), at);
    }
}

#[test]
fn functions_named_like_ops_are_not_called() {
    let ones = ones();
    assert_eq!(scalar_of(|device, c| functions::kernel::launch(device, c, &ones, 3.0)), 3.0);
}

mod methods {
    use tile_std::prelude::*;

    /// Has the names of a kernel's methods, for every type a kernel uses.
    #[allow(dead_code)]
    trait Loud: Sized {
        fn rows(self) -> u32 {
            panic!("the user's method was called")
        }
        fn row(self) -> u32 {
            panic!("the user's method was called")
        }
        fn row_tiles(self, _: usize) -> u32 {
            panic!("the user's method was called")
        }
        fn scale(self, _: f32) -> Self {
            panic!("the user's method was called")
        }
        fn max(self, _: Self) -> Self {
            panic!("the user's method was called")
        }
        fn min(self, _: Self) -> Self {
            panic!("the user's method was called")
        }
    }

    impl Loud for &gl<f32> {}
    impl Loud for &mut gl<f32> {}
    impl<const M: usize, const N: usize> Loud for Own<M, N> {}
    impl<T, const M: usize, const N: usize, L> Loud for rt<T, M, N, L> {}
    impl<T, const M: usize, const N: usize, L> Loud for &rt<T, M, N, L> {}
    impl Loud for f32 {}

    #[tile_kernel(instances(<; subgroups = (1, 1)>))]
    pub fn kernel(c: &mut gl<f32>, ones: &gl<f32>, s: f32) {
        let at = own_tile::<8, 16>(c, Linear);
        let one: rt<f32, 8, 16> = load(ones, [at.row(), 0]);
        let rows = c.rows() + ones.rows() * ones.row_tiles(8);
        store(c, &one.scale(s.max(2.0).min(9.0) * rows as f32), at);
    }
}

#[test]
fn methods_of_traits_in_scope_are_not_called() {
    let ones = ones();
    for (s, want) in [(f32::NAN, 2.0), (1.0, 2.0), (3.0, 3.0), (f32::INFINITY, 9.0)] {
        assert_eq!(scalar_of(|device, c| methods::kernel::launch(device, c, &ones, s)), want * 16.0);
    }
}

mod constants {
    use tile_std::prelude::*;

    #[allow(dead_code)]
    const M: usize = 99;
    #[allow(dead_code, non_camel_case_types)]
    type f32 = u8;
    #[allow(dead_code, non_camel_case_types)]
    type u32 = u8;

    #[tile_kernel(instances(<8; subgroups = (1, 1)>))]
    pub fn kernel<const M: usize>(c: &mut gl<std::primitive::f32>, ones: &gl<std::primitive::f32>) {
        let at = own_tile::<M, 16>(c, Linear);
        let one: rt<std::primitive::f32, M, 16> = load(ones, [0, 0]);
        let s = M as std::primitive::u32;
        store(c, &one.scale(s as std::primitive::f32), at);
    }
}

#[test]
fn constants_and_types_of_the_same_name_are_not_meant() {
    let ones = ones();
    assert_eq!(scalar_of(|device, c| constants::kernel::launch::<8>(device, c, &ones)), 8.0);
}

mod parameters {
    use tile_std::prelude::*;

    /// Parameters and variables may have any name, also those of ops and those that generated code likes.
    #[tile_kernel(instances(<; subgroups = (1, 1)>))]
    #[allow(clippy::too_many_arguments)]
    pub fn kernel(
        device: &mut gl<f32>,
        instance: &gl<f32>,
        options: u32,
        args: f32,
        body: bool,
        cx: u32,
        zeros: f32,
        launch: f32,
        rt: f32,
        r#type: f32,
    ) {
        let own_tile = own_tile::<8, 16>(device, Linear);
        let one: rt<f32, 8, 16> = load(instance, [0, 0]);
        let mut prefetch_load = args + zeros + launch + rt + r#type;
        if body {
            prefetch_load = prefetch_load + (options + cx) as f32;
        }
        store(device, &one.scale(prefetch_load), own_tile);
    }
}

#[test]
fn parameters_may_have_any_name() {
    let ones = ones();
    let got = scalar_of(|device, c| {
        parameters::kernel::launch(device, c, &ones, 100, 1.0, true, 200, 2.0, 3.0, 4.0, 5.0)
    });
    assert_eq!(got, 315.0);
}

mod made_by_a_macro {
    use tile_std::prelude::*;

    macro_rules! kernel_of {
        ($name:ident, $ty:ty, $rows:literal, $s:expr) => {
            #[tile_kernel(instances(<$rows; subgroups = (1, 1)>))]
            pub fn $name<const M: usize>(c: &mut gl<$ty>, ones: &gl<$ty>, s: f32) {
                let at = own_tile::<M, 16>(c, Linear);
                let one: rt<$ty, M, 16> = load(ones, [ones.row_tiles($rows) - 1, 0]);
                let t = 2.0 * $s;
                store(c, &one.scale(t * s), at);
            }
        };
    }

    kernel_of!(kernel, f32, 8, 1.0 + 2.0);
}

#[test]
fn a_macro_may_make_a_kernel() {
    let ones = ones();
    let got = scalar_of(|device, c| made_by_a_macro::kernel::launch::<8>(device, c, &ones, 0.5));
    assert_eq!(got, 3.0);
}

/// Nested modules, visibility and attributes of the function do not matter.
mod nested {
    pub(crate) mod inner {
        use tile_std::prelude::{Linear, gl, load, own_tile, rt, store};

        /// Documented.
        #[tile_std::tile_kernel(crate = ::tile_std, instances(<; subgroups = (1, 1)>))]
        #[inline(never)]
        pub(in crate::scopes) fn kernel(c: &mut gl<f32>, ones: &gl<f32>) {
            let at = own_tile::<8, 16>(c, Linear);
            let one: rt<f32, 8, 16> = load(ones, [0, 0]);
            store(c, &one.scale(4.0), at);
        }
    }
}

#[test]
fn a_kernel_may_stand_in_any_module() {
    let ones = ones();
    let run = |device: &Device, c: &mut Tensor<f32>| nested::inner::kernel::launch(device, c, &ones);
    assert_eq!(scalar_of(run), 4.0);
}
