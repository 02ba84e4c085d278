//! Owns what is printed of the contests.

use benches::contest::{Clock, Measured};

use crate::run::form;

/// One contest: contestants are tile's entries, then the peers.
pub struct Row {
    /// Rows and columns.
    pub n: usize,
    /// B was given as `[N, K]`.
    pub b_transposed: bool,
    /// How many contestants are tile's.
    pub tiles: usize,
    /// The times.
    pub measured: Measured,
}

impl Row {
    fn gflops(&self, contestant: usize, clock: Clock) -> f64 {
        2.0 * (self.n as f64).powi(3) / self.measured.seconds(contestant, clock).median * 1e-9
    }

    fn peers(&self) -> impl Iterator<Item = usize> {
        self.tiles..self.measured.names().len()
    }
}

/// The speeds of all contestants, and the ratios of every entry of tile to every peer.
pub fn print_contest(row: &Row) {
    println!("{:<44} {:>12} {:>18}", "", "GFLOP/s", "per CPU-second");
    for (i, name) in row.measured.names().iter().enumerate() {
        println!("{name:<44} {:>12.1} {:>18.1}", row.gflops(i, Clock::Wall), row.gflops(i, Clock::Cpu));
    }
    for tile in 0..row.tiles {
        for peer in row.peers() {
            let names = row.measured.names();
            println!(
                "{:<44} wall {:<18} cpu {}",
                format!("{} / {}", names[tile], names[peer]),
                row.measured.speed_ratio(tile, peer, Clock::Wall),
                row.measured.speed_ratio(tile, peer, Clock::Cpu),
            );
        }
    }
}

/// Every ratio of tile, as it chooses its instance, to every peer.
pub fn print_closing(rows: &[Row]) {
    let Some(first) = rows.first() else { return };
    print!("{:<12} {:>5} {:<13}", "form", "n", "contestant");
    for peer in first.peers() {
        print!(" {:>22}", format!("/ {}", first.measured.names()[peer]));
    }
    println!("   (wall, cpu)");
    for row in rows {
        // The first two entries are the outputs, f32 and bf16, with tile's choice of instance.
        for tile in 0..row.tiles.min(2) {
            print!("{:<12} {:>5} {:<13}", form(row.b_transposed), row.n, row.measured.names()[tile]);
            for peer in row.peers() {
                let ratio = |clock| row.measured.speed_ratio(tile, peer, clock).median;
                print!(" {:>22}", format!("{:.2}, {:.2}", ratio(Clock::Wall), ratio(Clock::Cpu)));
            }
            println!();
        }
    }
}

/// Whether tile is at least level with `matrixmultiply`, the first peer, at every size with B as [K, N].
pub fn print_floor(rows: &[Row], threads: usize) {
    for clock in [Clock::Wall, Clock::Cpu] {
        let ratios: Vec<(usize, f64)> = rows
            .iter()
            .filter(|row| !row.b_transposed)
            .map(|row| (row.n, row.measured.speed_ratio(0, row.tiles, clock).median))
            .collect();
        let holds = ratios.iter().all(|(_, ratio)| *ratio >= 1.0);
        let list: Vec<String> = ratios.iter().map(|(n, ratio)| format!("{ratio:.3} at {n}")).collect();
        println!(
            "floor: tile -> f32 >= 1.0 x matrixmultiply, {threads} thread(s), {}: {} ({})",
            if clock == Clock::Wall { "wall" } else { "cpu" },
            if holds { "holds" } else { "DOES NOT HOLD" },
            list.join(", ")
        );
    }
}
