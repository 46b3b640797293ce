//! Slow answers that are right by inspection: how levels divide the traffic.

/// A level: its priority, its positions, percent of the traffic, and whether it panics.
#[derive(Debug)]
pub(crate) struct Level {
    pub(crate) priority: u32,
    pub(crate) positions: Vec<usize>,
    pub(crate) load: u128,
    pub(crate) panic: bool,
}

/// Divides traffic between at most three levels of `(position, priority, weight, healthy)`.
pub(crate) fn plan(members: &[(usize, u32, u32, bool)]) -> Vec<Level> {
    let mut priorities: Vec<u32> = members.iter().map(|member| member.1).collect();
    priorities.sort_unstable();
    priorities.dedup();
    let weight = |priority: u32, healthy: bool| -> u128 {
        let of = members.iter().filter(|member| member.1 == priority && (member.3 || !healthy));
        of.map(|member| u128::from(member.2)).sum()
    };
    let parts: Vec<_> = priorities.iter().map(|of| (weight(*of, true), weight(*of, false))).collect();
    let product: u128 = parts.iter().map(|part| part.1).product();
    let sum: u128 = parts.iter().map(|(healthy, total)| 140 * healthy * (product / total)).sum();
    let covered = sum >= 100 * product;
    let panics: Vec<bool> = parts.iter().map(|(healthy, total)| !covered && 2 * healthy < *total).collect();
    let everywhere = panics.iter().all(|panic| *panic);
    let all: u128 = parts.iter().map(|part| part.1).sum();
    let health = |(healthy, total): &(u128, u128)| {
        if everywhere {
            100 * total / all
        } else {
            (140 * healthy / total).clamp(u128::from(*healthy > 0), 100)
        }
    };
    let healths: Vec<u128> = parts.iter().map(health).collect();
    let whole = if everywhere { 100 } else { healths.iter().sum::<u128>().clamp(1, 100) };
    let mut left = 100;
    let mut loads = Vec::new();
    for health in &healths {
        let load = (health * 100 / whole).min(left);
        left -= load;
        loads.push(load);
    }
    let first = if everywhere { Some(0) } else { healths.iter().position(|health| *health > 0) };
    if let Some(first) = first.filter(|_| !loads.is_empty()) {
        loads[first] += left;
    }
    let level = |((priority, load), panic): ((&u32, u128), bool)| Level {
        priority: *priority,
        positions: members.iter().filter(|member| member.1 == *priority).map(|member| member.0).collect(),
        load,
        panic,
    };
    priorities.iter().zip(loads).zip(panics).map(level).collect()
}
