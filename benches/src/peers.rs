//! Owns the other matrix multiplications: the crates `gemm`, `faer` and `matrixmultiply`, and OpenBLAS if this
//! machine has it. All multiply f32 square matrices stored row by row without gaps.
//!
//! *Assumes*: [`environment`] was set when the process started, since two of them read their number of threads
//! once. *Guarantees*: nobody is called with slices that are too short.
//!
//! # Unsafe code
//! `gemm` and `matrixmultiply` export functions of raw pointers only, and OpenBLAS is a C library that may be missing, so
//! that it is opened at run time. A safe crate around one of them (`ndarray` calls `matrixmultiply`) would add its own
//! dispatch to what is measured and cover neither of the others. The file is built with the feature `peers` alone,
//! which nothing but `gemm_host` asks for: no user of a kernel runs it.

#![allow(unsafe_code, reason = "three of the four peers have no safe interface")]

use std::ffi::{CStr, c_char, c_int};

use libloading::Library;

/// Square matrices of one product.
pub struct Operands {
    n: usize,
    a: Vec<f32>,
    b: Vec<f32>,
    b_transposed: bool,
}

impl Operands {
    /// The product of the `n` x `n` matrices `a` and `b`; with `b_transposed`, b holds the transpose of the
    /// right factor.
    ///
    /// # Panics
    /// When a slice has not n * n elements.
    pub fn new(n: usize, a: Vec<f32>, b: Vec<f32>, b_transposed: bool) -> Operands {
        assert!(a.len() == n * n && b.len() == n * n, "both factors have n * n elements");
        Operands { n, a, b, b_transposed }
    }

    /// Rows and columns.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Elements from row to row and from column to column of the right factor.
    fn b_strides(&self) -> (isize, isize) {
        let n = self.n as isize;
        if self.b_transposed { (1, n) } else { (n, 1) }
    }
}

type CblasSgemm = unsafe extern "C" fn(
    order: c_int,
    trans_a: c_int,
    trans_b: c_int,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: f32,
    a: *const f32,
    lda: c_int,
    b: *const f32,
    ldb: c_int,
    beta: f32,
    c: *mut f32,
    ldc: c_int,
);

/// OpenBLAS as this machine has it.
pub struct OpenBlas {
    library: Library,
}

impl OpenBlas {
    /// Opens the library and sets its number of threads.
    ///
    /// # Errors
    /// The loader's message.
    pub fn open(threads: usize) -> Result<OpenBlas, libloading::Error> {
        // SAFETY: the initialisers of OpenBLAS start its threads and touch nothing of ours.
        let library = unsafe { Library::new("libopenblas.so.0") }?;
        // SAFETY: the symbol has this type in OpenBLAS' `cblas.h`, and it takes any number.
        unsafe {
            let set = library.get::<unsafe extern "C" fn(c_int)>(b"openblas_set_num_threads\0")?;
            set(c_int::try_from(threads).unwrap_or(c_int::MAX));
            library.get::<CblasSgemm>(b"cblas_sgemm\0")?;
        }
        Ok(OpenBlas { library })
    }

    /// The CPU it chose its kernels for, if it tells. An old OpenBLAS on a new CPU may choose very old kernels.
    pub fn core(&self) -> Option<String> {
        // SAFETY: the symbol has this type in OpenBLAS' `cblas.h`; it returns a string that is never freed.
        let name = unsafe {
            let get = self
                .library
                .get::<unsafe extern "C" fn() -> *const c_char>(b"openblas_get_corename\0")
                .ok()?;
            let name = get();
            if name.is_null() {
                return None;
            }
            CStr::from_ptr(name)
        };
        Some(name.to_string_lossy().into_owned())
    }
}

/// Another matrix multiplication.
pub enum Peer {
    /// The crate `gemm` with its AVX-512 kernels.
    Gemm,
    /// The crate `faer`.
    Faer,
    /// The crate `matrixmultiply` with its feature `threading`.
    MatrixMultiply,
    /// OpenBLAS.
    OpenBlas(OpenBlas),
}

impl Peer {
    /// Its name in tables.
    pub fn name(&self) -> &'static str {
        match self {
            Peer::Gemm => "gemm",
            Peer::Faer => "faer",
            Peer::MatrixMultiply => "matrixmultiply",
            Peer::OpenBlas(_) => "OpenBLAS",
        }
    }

    /// Writes the product to `c`, with `threads` threads where it takes such a number per call.
    ///
    /// # Panics
    /// When `c` has not n * n elements.
    pub fn multiply(&self, c: &mut [f32], x: &Operands, threads: usize) {
        let n = x.n;
        assert!(c.len() == n * n, "the product has n * n elements");
        let (row, (b_row, b_col)) = (n as isize, x.b_strides());
        match self {
            Peer::Gemm => {
                let par =
                    if threads > 1 { gemm::Parallelism::Rayon(threads) } else { gemm::Parallelism::None };
                let (to, a, b) = (c.as_mut_ptr(), x.a.as_ptr(), x.b.as_ptr());
                // SAFETY: all three have n * n elements, asserted above and in `Operands::new`, and the strides
                // are those of n x n matrices without gaps. With `read_dst` false C is only written.
                unsafe {
                    gemm::gemm::<f32>(
                        n, n, n, to, 1, row, false, a, 1, row, b, b_col, b_row, 0.0, 1.0, false, false,
                        false, par,
                    );
                }
            }
            Peer::Faer => {
                let par = if threads > 1 { faer::Par::rayon(threads) } else { faer::Par::Seq };
                let b = faer::MatRef::from_row_major_slice(&x.b, n, n);
                faer::linalg::matmul::matmul(
                    faer::MatMut::from_row_major_slice_mut(c, n, n),
                    faer::Accum::Replace,
                    faer::MatRef::from_row_major_slice(&x.a, n, n),
                    if x.b_transposed { b.transpose() } else { b },
                    1.0,
                    par,
                );
            }
            Peer::MatrixMultiply => {
                let (to, a, b) = (c.as_mut_ptr(), x.a.as_ptr(), x.b.as_ptr());
                // SAFETY: as for `gemm`.
                unsafe { matrixmultiply::sgemm(n, n, n, 1.0, a, row, 1, b, b_row, b_col, 0.0, to, row, 1) }
            }
            Peer::OpenBlas(blas) => {
                const ROW_MAJOR: c_int = 101;
                const AS_IS: c_int = 111;
                const TRANSPOSED: c_int = 112;
                let form = if x.b_transposed { TRANSPOSED } else { AS_IS };
                let size = c_int::try_from(n).expect("two matrices of 2^31 rows do not fit in memory");
                let (to, a, b) = (c.as_mut_ptr(), x.a.as_ptr(), x.b.as_ptr());
                // SAFETY: the type is that of `cblas.h`; sizes as for `gemm`, all pitches being n.
                unsafe {
                    let sgemm = blas.library.get::<CblasSgemm>(b"cblas_sgemm\0").expect("`open` found it");
                    sgemm(ROW_MAJOR, AS_IS, form, size, size, size, 1.0, a, size, b, size, 0.0, to, size);
                }
            }
        }
    }
}

/// The environment in which every peer uses `threads` threads and the best kernels for this CPU, and none leaves
/// threads spinning that would disturb who comes next. What the user set for OpenBLAS' kernels stays.
pub fn environment(threads: usize) -> Vec<(&'static str, String)> {
    const CORE: &str = "OPENBLAS_CORETYPE";
    let mut variables = vec![
        ("MATMUL_NUM_THREADS", threads.to_string()),
        ("RAYON_NUM_THREADS", threads.to_string()),
        ("OPENBLAS_NUM_THREADS", threads.to_string()),
        // 2^4 cycles; by default OpenBLAS' idle threads spin for 2^26.
        ("OPENBLAS_THREAD_TIMEOUT", "4".to_string()),
    ];
    // OpenBLAS 0.3.21 (Debian 12) does not know CPUs from 2023 on and falls back to SSE3 kernels on them.
    if std::env::var_os(CORE).is_none() && has_avx512() {
        variables.push((CORE, "SkylakeX".to_string()));
    }
    variables
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    std::is_x86_feature_detected!("avx512f")
        && std::is_x86_feature_detected!("avx512bw")
        && std::is_x86_feature_detected!("avx512dq")
        && std::is_x86_feature_detected!("avx512vl")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx512() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_multiply_both_forms() {
        let n = 20;
        let a: Vec<f32> = (0..n * n).map(|i| (i % 7) as f32 - 3.0).collect();
        let b: Vec<f32> = (0..n * n).map(|i| (i % 5) as f32 - 2.0).collect();
        let mut peers = vec![Peer::Gemm, Peer::Faer, Peer::MatrixMultiply];
        peers.extend(OpenBlas::open(1).map(Peer::OpenBlas));
        for b_transposed in [false, true] {
            let right = |k: usize, j: usize| if b_transposed { b[j * n + k] } else { b[k * n + j] };
            let product = |i: usize, j: usize| (0..n).map(|k| a[i * n + k] * right(k, j)).sum::<f32>();
            let x = Operands::new(n, a.clone(), b.clone(), b_transposed);
            for peer in &peers {
                let mut c = vec![f32::NAN; n * n];
                peer.multiply(&mut c, &x, 1);
                for (i, c) in c.iter().enumerate() {
                    assert_eq!(*c, product(i / n, i % n), "{} {b_transposed} {i}", peer.name());
                }
            }
        }
    }
}
