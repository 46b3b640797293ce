//! What reports say of members.

use std::time::Duration;

use poise::core::InFlight;

use crate::support::fleet::{fleet, over};

#[tokio::test(start_paused = true)]
async fn a_rare_slow_answer_is_not_the_p99_whatever_its_period() {
    let (directory, [a]) = fleet(["a"]);
    let balancer = over(&directory).load(InFlight::new).spawn().unwrap();
    let mut wrong = Vec::new();
    for request in 1..=16_000 {
        // Fewer than one in a hundred take a hundred times as long.
        let is_slow = request % 233 == 1;
        a.answer_after(Duration::from_millis(if is_slow { 100 } else { 1 }));
        balancer.send(request).await.unwrap();
        if request % 500 == 0 {
            let p99 = balancer.report().member("a").unwrap().p99.unwrap();
            wrong.extend((p99 > Duration::from_millis(50)).then_some((request, p99)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
