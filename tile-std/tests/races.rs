//! What `TILE_CHECK=race` finds on the host device: races in shared memory and in outputs, with both sub-groups named, and
//! nothing where barriers or atomic adds order the accesses.

use std::process::Command;

use tile_std::prelude::*;

/// Each sub-group stores a tile and reads its left neighbour's, the first its own, with a barrier, a split one, or none between.
#[tile_kernel(instances(<0; subgroups = (1, 4)>, <1; subgroups = (1, 4)>, <2; subgroups = (1, 4)>))]
fn neighbours<const HOW: usize>(y: &mut gl<f32>, x: &gl<f32>) {
    let own = own_tile::<8, 16>(y, Linear);
    let mut row: st<f32, 8, 64> = shared();
    let tile: rt<f32, 8, 16> = load(x, own);
    store_shared(&mut row, &tile, [0, subgroup_col()]);
    if HOW == 1 {
        barrier();
    }
    if HOW == 2 {
        barrier_arrive();
        barrier_wait();
    }
    let there: rt<f32, 8, 16> = load_shared(&row, [0, subgroup_col().max(1) - 1]);
    store(y, &there, own);
}

/// Every sub-group stores to the tile of number `id / SHARE`.
#[tile_kernel(instances(<1; subgroups = (2, 1)>, <2; subgroups = (2, 1)>, <4; subgroups = (2, 1)>))]
unsafe fn scattered<const SHARE: usize>(y: &mut gl<f32>) {
    let own = own_tile::<8, 16>(y, Linear);
    let tile: rt<f32, 8, 16> = fill(1.0);
    // SAFETY: not safe for SHARE > 1, which is what the race check must report; the tests use one thread.
    unsafe { store_at(y, &tile, [own.row() / SHARE as u32, 0]) };
}

#[tile_kernel(instances(<16; subgroups = (2, 1)>))]
fn added<const N: usize>(y: &mut gl<f32>) {
    let own = own_tile::<8, N>(y, Linear);
    let tile: rt<f32, 8, N> = fill(1.0);
    atomic_add(y, &tile, [0, own.col()]);
}

/// Reads what nobody stored.
#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn unwritten<const N: usize>(y: &mut gl<f32>) {
    let own = own_tile::<8, N>(y, Linear);
    let v: sv<f32, 64> = shared();
    let row: rv<f32, N, PerCol> = load_vec_shared(&v, 1);
    let tile: rt<f32, 8, N> = zeros();
    store(y, &tile.add_col(&row), own);
}

const RACES: LaunchOptions<'static> =
    LaunchOptions { races: true, strict: false, force: false, progress: None, sim: None };

fn instance(kernel: &'static [tile_std::InstanceInfo], name: &str) -> &'static tile_std::InstanceInfo {
    kernel.iter().find(|i| i.name == name).unwrap_or_else(|| panic!("no instance {name}"))
}

fn neighbours_of(name: &str) -> Result<Vec<f32>, LaunchError> {
    let x = Tensor::from_fn([1, 1, 20, 100], |_, _, r, c| (r * 100 + c) as f32).expect("small");
    let mut y = Tensor::<f32>::zeros(20, 100).expect("small");
    let instance = instance(neighbours::INSTANCES, name);
    neighbours::launch_with(&Device::host(), instance, &RACES, &mut y, &x)?;
    Ok(y.to_vec())
}

#[test]
fn a_missing_barrier_is_a_race_and_a_barrier_ends_it() {
    let error = neighbours_of("<0>").expect_err("nothing orders the two");
    let LaunchError::Race { race, .. } = &error else { panic!("{error}") };
    let same_group = race.by.group == race.other.group;
    assert_eq!((race.memory, same_group, race.now, race.before), ("row", true, "reads", "wrote"), "{error}");
    assert_ne!(race.by.subgroup, race.other.subgroup);
    assert_eq!(race.element[..3], [0, 0, 0]);
    let text = error.to_string();
    assert!(text.contains("neighbours<0>") && text.contains("of `row`"), "{text}");
    let barrier = neighbours_of("<1>").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(neighbours_of("<2>").unwrap_or_else(|e| panic!("{e}")), barrier);
}

#[test]
fn stores_of_two_sub_groups_or_work_groups_to_one_element_race() {
    let run = |name: &str, rows: usize| {
        let mut y = Tensor::<f32>::zeros(rows, 16).expect("small");
        let instance = instance(scattered::INSTANCES, name);
        // SAFETY: with one thread no two sub-groups run at once; whether they race on a device is the question.
        unsafe {
            let device = Device::host_with_threads(std::num::NonZeroUsize::MIN);
            scattered::launch_with(&device, instance, &RACES, &mut y)
        }
        .map(|_| ())
    };
    run("<1>", 64).unwrap_or_else(|e| panic!("{e}"));
    let error = run("<2>", 64).expect_err("two sub-groups of one work-group");
    let LaunchError::Race { race, .. } = &error else { panic!("{error}") };
    assert_eq!((race.memory, race.element, race.now, race.before), ("y", [0; 4], "writes", "wrote"));
    let (by, other) = (race.by, race.other);
    assert_eq!((by.group, by.subgroup, other.group, other.subgroup), (0, 1, 0, 0));
    assert!(matches!(run("<4>", 64), Err(LaunchError::Race { .. })));
}

#[test]
fn atomic_adds_do_not_race_and_unwritten_memory_is_found() {
    let mut y = Tensor::<f32>::zeros(32, 16).expect("small");
    let all = instance(added::INSTANCES, "<16>");
    added::launch_with(&Device::host(), all, &RACES, &mut y).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(y.get(0, 0, 7, 15), Some(4.0));
    let all = instance(unwritten::INSTANCES, "<16>");
    let error = unwritten::launch_with(&Device::host(), all, &RACES, &mut y).expect_err("nobody stored it");
    let LaunchError::Unwritten { memory: "v", element: [0, 0, 0, 16], .. } = &error else {
        panic!("{error}")
    };
    unwritten::launch::<16>(&Device::host(), &mut y).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn the_environment_asks_for_the_check_and_other_values_are_refused() {
    if std::env::var_os("TILE_RACES_CHILD").is_some() {
        let x = Tensor::<f32>::zeros(8, 64).expect("small");
        let mut y = Tensor::<f32>::zeros(8, 64).expect("small");
        match neighbours::launch::<0>(&Device::host(), &mut y, &x) {
            Ok(_) => println!("CHILD: ran"),
            Err(error) => println!("CHILD: {error}"),
        }
        return;
    }
    let child = |value: Option<&str>| {
        let name = "the_environment_asks_for_the_check_and_other_values_are_refused";
        let mut command = Command::new(std::env::current_exe().expect("this test"));
        command.args(["--exact", name, "--nocapture"]).env("TILE_RACES_CHILD", "1").env_remove("TILE_CHECK");
        command.envs(value.map(|v| ("TILE_CHECK", v)));
        String::from_utf8_lossy(&command.output().expect("it runs").stdout).into_owned()
    };
    assert!(child(None).contains("CHILD: ran"));
    assert!(child(Some("")).contains("CHILD: ran"));
    assert!(child(Some("race")).contains("two sub-groups touch one element"));
    let refused = child(Some("races"));
    assert!(refused.contains("TILE_CHECK is `race` or unset; it is `races`"), "{refused}");
}
