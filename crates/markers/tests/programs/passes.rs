#[path = "waykeeper.rs"]
mod waykeeper;

fn main() {
    waykeeper::name(1, "control");
    for _ in 0..100 {
        let _pass = waykeeper::pass(1);
    }
    let second = std::thread::spawn(|| {
        for _ in 0..5 {
            waykeeper::begin(2);
            waykeeper::end(2);
        }
    });
    second.join().unwrap();
    println!("done");
}
